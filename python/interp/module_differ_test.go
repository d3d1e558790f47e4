package interp

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// clockHost is a host with a clock.
type clockHost struct{ testHost }

func (*clockHost) Now() float64 { return 1717243200.25 }

func (*clockHost) Zone() *time.Location {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	return zone
}

// fileOf prepares a file and returns its last function.
func fileOf(tb testing.TB, source string) (*Program, *syntax.Def) {
	tb.Helper()
	file, err := syntax.ParseFile(source)
	if err != nil {
		tb.Fatalf("%s: %v", source, err)
	}
	def, ok := file.Body[len(file.Body)-1].(*syntax.Def)
	if !ok {
		tb.Fatalf("%s: the last statement is no function", source)
	}
	return NewLibrary(Names{}).Prepare(file), def
}

// callFile calls the last function of a file and returns what it prints, and its exception.
func callFile(tb testing.TB, source string) (output, exception string) {
	tb.Helper()
	program, def := fileOf(tb, source)
	_, outcome := program.Call(tb.Context(), def, nil, &clockHost{})
	if outcome.Err != nil {
		return outcome.Output, outcome.Err.Error()
	}
	return outcome.Output, ""
}

// moduleHead imports what the expressions of testdata/modules.txt use.
const moduleHead = `import datetime as dt
import enum, json, math, re
from datetime import date, datetime, timedelta, timezone
from enum import Enum, IntEnum, StrEnum, auto
class C(Enum):
    R = 'r'
    G = 1
class S(str, Enum):
    R = 'r'
    LONG = 'long text'
class I(int, Enum):
    A = 1
class N(IntEnum):
    A = 1
    B = 5
    ALSO = 5
class T(StrEnum):
    A = 'a'
    B = auto()
class A(Enum):
    X = auto()
    Y = auto()
    Z = 7
    W = auto()
`

// moduleProgram returns a file that prints the value of each expression, or the type of its
// exception.
func moduleProgram(expressions []string) string {
	var out strings.Builder
	out.WriteString(moduleHead + "def run():\n")
	for _, x := range expressions {
		out.WriteString("    try:\n        print(repr(" + x + "))\n    except Exception as e:\n        print(type(e).__name__)\n")
	}
	return out.String()
}

// TestModulesDiffer compares the expressions of testdata/modules.txt with Python 3.11.
func TestModulesDiffer(t *testing.T) {
	t.Parallel()
	const reference = "python3.11"
	if err := exec.CommandContext(t.Context(), reference, "--version").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s: %v, CI needs it", reference, err)
		}
		t.Skipf("%s: %v", reference, err)
	}
	data, err := os.ReadFile("testdata/modules.txt")
	if err != nil {
		t.Fatal(err)
	}
	var expressions []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			expressions = append(expressions, line)
		}
	}
	var input bytes.Buffer
	encoder := json.NewEncoder(&input)
	for _, x := range expressions {
		if err := encoder.Encode(moduleProgram([]string{x}) + "run()\n"); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), reference, "-W", "ignore", "testdata/run.py")
	command.Stdin = &input
	command.Env = append(os.Environ(), "TZ=America/New_York")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", reference, err)
	}
	results := json.NewDecoder(bytes.NewReader(output))
	for _, x := range expressions {
		var want struct{ Output, Exception string }
		if err := results.Decode(&want); err != nil {
			t.Fatal(err)
		}
		printed, exception := callFile(t, moduleProgram([]string{x}))
		if got := printed + exception; got != want.Output+want.Exception {
			t.Errorf("%s: got %q, want %q", x, got, want.Output+want.Exception)
		}
	}
}
