package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// runAsProgram is the variable that makes the test binary run the program.
const runAsProgram = "TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(runAsProgram) != "" {
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// runProcess runs the program in its own process with additional environment variables.
func runProcess(t *testing.T, environment []string, args ...string) (code int, stderr string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(append(os.Environ(), runAsProgram+"=1"), environment...)
	var errs bytes.Buffer
	command.Stderr = &errs
	err := command.Run()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), errs.String()
}
