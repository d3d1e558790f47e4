package player

import "strings"

// nearest returns the known name that takes the fewest edits to reach, or "" if none is near. What follows a known
// prefix is the user's choice and does not count.
func nearest(text string, known []string) string {
	best, bestEdits := "", 1+max(2, len(text)/3)
	for _, name := range known {
		if edits := distance(strings.ToLower(text), name); edits < bestEdits {
			best, bestEdits = name, edits
		}
	}
	if head, _, found := strings.Cut(text, ":"); best == "" && found && len(head) > 0 {
		for _, name := range known {
			fixed, _, open := strings.Cut(name, ":")
			if edits := distance(strings.ToLower(head), fixed); open && edits <= 2 {
				return name
			}
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
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
