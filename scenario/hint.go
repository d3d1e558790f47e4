package scenario

import "github.com/toolsandbox/toolsandbox/internal/spelling"

// hint returns the suffix of a message about an unknown name.
func hint(name string, known []string) string { return spelling.Hint(name, known) }
