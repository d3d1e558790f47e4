package scenario

import (
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
)

// maxListed bounds how many names a message lists.
const maxListed = 12

// hint returns the end of a message about an unknown name: the nearest known one, or all of them if
// they are few.
func hint(name string, known []string) string {
	if near := didYouMean(name, known); near != "" {
		return near
	}
	if len(known) == 0 || len(known) > maxListed {
		return ""
	}
	return "; expected one of " + strings.Join(known, ", ")
}

// didYouMean returns the end of a message about an unknown name that is near a known one; nothing
// if it is near none.
func didYouMean(name string, known []string) string {
	if near := spelling.Nearest(name, known, 1); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
