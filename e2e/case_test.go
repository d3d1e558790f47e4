package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
)

// TestLongCases runs the programs of shared/cases, each of which shows one fault that users of such
// programs report.
func TestLongCases(t *testing.T) {
	t.Parallel()
	programs, err := filepath.Glob(filepath.Join(vectortest.Dir(t, ".."), "cases", "*.py"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("no programs in shared/cases: %v", err)
	}
	for _, program := range programs {
		t.Run(strings.TrimSuffix(filepath.Base(program), ".py"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "python3", program)
			cmd.Env = append(os.Environ(), "TS="+filepath.Join(bin, "toolsandbox"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
