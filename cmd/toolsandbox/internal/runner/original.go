package runner

import "strings"

// originalPlayer takes the original's name for the kind of its players off the name of one.
func originalPlayer(name string) string { return strings.TrimPrefix(name, "RoleImplType.") }
