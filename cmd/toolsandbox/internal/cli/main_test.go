package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// asProgram makes the test's binary the program itself.
const asProgram = "TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// inProcess runs the program in a process of its own, with more variables in its environment.
func inProcess(t *testing.T, environment []string, args ...string) (code int, stderr string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(append(os.Environ(), asProgram+"=1"), environment...)
	var errs bytes.Buffer
	command.Stderr = &errs
	err := command.Run()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), errs.String()
}
