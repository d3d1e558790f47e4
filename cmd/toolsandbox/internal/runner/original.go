package runner

import "strings"

// originalPlayer removes the original's prefix from a player's name.
func originalPlayer(name string) string { return strings.TrimPrefix(name, "RoleImplType.") }
