package interp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

var (
	programs = flag.Int("programs", 500, "random programs that TestDiffer runs")
	seed     = flag.Uint64("seed", 1, "seed of the first one")
)

// mostDiffer is the share of programs that may do something else than Python 3.11.
const mostDiffer = 0.005

// TestDiffer runs random programs here and in Python, and compares what they print and raise: with
// Python 3.11 values and types of exceptions; with Python 3.9, whose texts of errors are ours, the
// texts too. Python 3.11 has to be installed in CI.
func TestDiffer(t *testing.T) {
	t.Parallel()
	for _, reference := range []struct {
		program string
		texts   bool // compare the texts of exceptions
	}{{"python3.11", false}, {"python3.9", true}} {
		t.Run(reference.program, func(t *testing.T) {
			t.Parallel()
			if err := exec.CommandContext(t.Context(), reference.program, "--version").Run(); err != nil {
				if os.Getenv("CI") != "" && !reference.texts {
					t.Fatalf("%s: %v, it has to be installed in CI", reference.program, err)
				}
				t.Skipf("%s: %v", reference.program, err)
			}
			differ(t, reference.program, reference.texts)
		})
	}
}

func differ(t *testing.T, program string, texts bool) {
	t.Helper()
	sources := make([]string, *programs)
	var input bytes.Buffer
	encoder := json.NewEncoder(&input)
	for i := range sources {
		sources[i] = randomProgram(*seed+uint64(i), texts)
		if err := encoder.Encode(sources[i]); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), program, "-W", "ignore", "testdata/run.py")
	command.Stdin = &input
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	results := json.NewDecoder(bytes.NewReader(output))
	differ, exceeding, raised, ordered := 0, 0, 0, 0
	for _, source := range sources {
		var want struct{ Output, Exception string }
		if err := results.Decode(&want); err != nil {
			t.Fatal(err)
		}
		printed, exception := play(source)
		limited := exceeds(printed + exception)
		if !texts {
			exception, _, _ = strings.Cut(exception, ":")
			want.Exception, _, _ = strings.Cut(want.Exception, ":")
		}
		got := printed + exception
		if want.Exception != "" {
			raised++
		}
		switch {
		case strings.Contains(got, "SystemError"):
			t.Errorf("%s\ngot %s", source, got)
		case got == want.Output+want.Exception:
		case limited:
			exceeding++
		case letters(got) == letters(want.Output+want.Exception): // sets go over their items in another order
			ordered++
		default:
			differ++
			t.Logf("%s\ngot  %q\nwant %q", source, got, want.Output+want.Exception)
		}
	}
	t.Logf("%d programs: %d differ, %d differ in an order, %d exceed a limit, %d raise", len(sources), differ, ordered, exceeding, raised)
	if float64(differ+ordered) > max(2, mostDiffer*float64(len(sources))) {
		t.Errorf("got %d programs that differ, want at most %v of %d", differ+ordered, mostDiffer, len(sources))
	}
}

// letters returns the letters of a text in alphabetical order.
func letters(s string) string {
	all := []rune(s)
	slices.Sort(all)
	return string(all)
}

// exceeds reports whether a program did what only Python does: a limit was exceeded, or a complex
// number asked for.
func exceeds(got string) bool {
	for _, text := range []string{"bytes are needed", "bytes were printed", "steps are needed", "number is too large", "complex numbers"} {
		if strings.Contains(got, text) {
			return true
		}
	}
	return false
}
