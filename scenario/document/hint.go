package document

import (
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
)

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
	if nearest := spelling.Nearest(name, known, 1); nearest != "" {
		return fmt.Sprintf("; did you mean %q?", nearest)
	}
	return ""
}

// Truncate shortens a text for a message.
func Truncate(text string) string {
	const maxLength = 60
	if runes := []rune(strings.TrimSpace(text)); len(runes) > maxLength {
		return string(runes[:maxLength]) + "…"
	}
	return strings.TrimSpace(text)
}
