package scenario

import (
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
)

// maxListed is the maximum number of names in a message.
const maxListed = 12

// hint returns the suffix of a message about an unknown name: the nearest known name, or a short
// list of all.
func hint(name string, known []string) string {
	if nearest := didYouMean(name, known); nearest != "" {
		return nearest
	}
	if len(known) == 0 || len(known) > maxListed {
		return ""
	}
	return "; expected one of " + strings.Join(known, ", ")
}

// didYouMean returns the suffix of a message about an unknown name: the nearest known name, empty
// if none is near.
func didYouMean(name string, known []string) string {
	if nearest := spelling.Nearest(name, known, 1); nearest != "" {
		return fmt.Sprintf("; did you mean %q?", nearest)
	}
	return ""
}

// truncate shortens a text for a message.
func truncate(text string) string {
	const maxLength = 60
	if runes := []rune(strings.TrimSpace(text)); len(runes) > maxLength {
		return string(runes[:maxLength]) + "…"
	}
	return strings.TrimSpace(text)
}
