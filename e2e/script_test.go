package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// TestScripts runs testdata/script, which covers the command line with all services in its process.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "*.txtar", nil)
}

// TestLongScripts runs the scripts of several seconds each.
func TestLongScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, filepath.Join("long", "*.txtar"), nil)
}

// TestLongScriptsOverFourProcesses runs the scripts that replay or resume rollouts, as a client of
// four services.
func TestLongScriptsOverFourProcesses(t *testing.T) {
	t.Parallel()
	services := start(t)
	runScripts(t, "run*.txtar", []string{
		"TOOLSANDBOX_REMOTE=true",
		"TOOLSANDBOX_ORCHESTRATOR_ADDR=" + services.Address(cluster.Orchestrator),
		"TOOLSANDBOX_EVALUATOR_ADDR=" + services.Address(cluster.Evaluator),
	})
}

func runScripts(t *testing.T, pattern string, environment []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "script", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts that match %s: got %d and %v, want some", pattern, len(files), err)
	}
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("GOGC", collect)
			for _, variable := range environment {
				name, value, _ := strings.Cut(variable, "=")
				env.Setenv(name, value)
			}
			return nil
		},
	})
}
