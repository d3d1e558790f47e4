package cli

import (
	"runtime/debug"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/version"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestProgramOf names builds of all kinds by the version of the source.
func TestProgramOf(t *testing.T) {
	for name, test := range map[string]struct {
		info debug.BuildInfo
		want results.Program
	}{
		"without a repository": {
			debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, results.Program{},
		},
		"in a changed repository": {
			debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261128103000-0123456789ab+dirty"}, Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}, {Key: "vcs.modified", Value: "true"},
			}},
			results.Program{Commit: "0123456789abcdef0123456789abcdef01234567", Modified: true},
		},
		"by go install of a release": {
			debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}}, results.Program{},
		},
		"by go install of a commit": {
			debug.BuildInfo{Main: debug.Module{Version: "v0.1.1-0.20261128103000-0123456789ab"}}, results.Program{Commit: "0123456789ab"},
		},
	} {
		test.info.GoVersion, test.want.Go, test.want.Version = "go1.26", "go1.26", version.Version
		if got := programOf(&test.info); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}
