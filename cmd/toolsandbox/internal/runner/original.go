package runner

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// originalPlayer takes the original's name for the kind of its players off the name of one.
func originalPlayer(name string) string { return strings.TrimPrefix(name, "RoleImplType.") }

// checkBackend refuses a set of tools that is not there. There is one.
func checkBackend(name string) error {
	if !strings.EqualFold(strings.TrimPrefix(name, "ToolBackend."), "DEFAULT") {
		return process.Usage("--preferred-tool-backend: %q given, expected DEFAULT", name)
	}
	return nil
}
