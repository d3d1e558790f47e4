package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed bounds how many names a message lists.
const maxListed = 12

// suggest returns the end of a message about an unknown name: the nearest known one, or all of them if they are few.
func suggest(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(known) == 0 || len(known) > maxListed {
		return ""
	}
	return "; expected one of " + strings.Join(known, ", ")
}

// nearest returns the known name with the fewest edits, or "" if none is near. Of equals the first in byte order wins.
func nearest(name string, known []string) string {
	if len(name) > 200 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(known))
	best, bestEdits := "", 1+max(1, len(name)/3)
	for _, candidate := range sorted {
		if edits := distance(strings.ToLower(name), strings.ToLower(candidate)); edits < bestEdits {
			best, bestEdits = candidate, edits
		}
	}
	return best
}

// distance returns the Levenshtein distance of two texts, by byte.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
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
