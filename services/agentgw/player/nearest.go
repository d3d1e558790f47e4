package player

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
)

// nearest returns the known name with the smallest edit distance, "" if none is close. The text
// after a known prefix does not count.
func nearest(text string, known []string) string {
	best := spelling.Nearest(text, known, 2)
	if head, _, found := strings.Cut(text, ":"); best == "" && found && len(head) > 0 {
		for _, name := range known {
			fixed, _, open := strings.Cut(name, ":")
			if edits := spelling.Distance(strings.ToLower(head), fixed); open && edits <= 2 {
				return name
			}
		}
	}
	return best
}
