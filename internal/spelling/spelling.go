// Package spelling names what an author or a user wrote in messages: it suggests known names for
// misspelled ones, and shortens long texts.
package spelling

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLength bounds the names that are compared.
const maxLength = 200

// maxListed is the maximum number of names in a message.
const maxListed = 12

// Hint returns the suffix of a message about an unknown name: the nearest known name, or a short
// list of all.
func Hint(name string, known []string) string {
	if nearest := DidYouMean(name, known); nearest != "" {
		return nearest
	}
	if len(known) == 0 || len(known) > maxListed {
		return ""
	}
	return "; expected one of " + strings.Join(known, ", ")
}

// DidYouMean returns the suffix of a message about an unknown name: the nearest known name, empty
// if none is near.
func DidYouMean(name string, known []string) string {
	if nearest := Nearest(name, known, 1); nearest != "" {
		return fmt.Sprintf("; did you mean %q?", nearest)
	}
	return ""
}

// Truncate shortens a text for a message.
func Truncate(text string) string {
	const maxRunes = 60
	if runes := []rune(strings.TrimSpace(text)); len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "…"
	}
	return strings.TrimSpace(text)
}

// Shorten returns a text of at most limit bytes as it is, and of a longer one the beginning with an
// ellipsis.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Beginning(text, limit) + "…"
}

// Beginning returns at most limit bytes of a text, whole characters.
func Beginning(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// Nearest returns the known name with the smallest edit distance, "" if none is close. Close means
// at most maxDistance edits, or a third of the name. It ignores case. Among equals the first in
// byte order wins.
func Nearest(name string, known []string, maxDistance int) string {
	if len(name) > maxLength {
		return ""
	}
	best, bestEdits := "", 1+max(maxDistance, len(name)/3)
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		if edits := Distance(strings.ToLower(name), strings.ToLower(candidate)); edits < bestEdits {
			best, bestEdits = candidate, edits
		}
	}
	return best
}

// Distance returns the Levenshtein distance of two texts, by character.
func Distance(from, to string) int {
	a, b := []rune(from), []rune(to)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
