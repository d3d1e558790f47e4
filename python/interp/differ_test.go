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

// maxDifferShare is the largest share of programs whose result may differ from Python 3.11.
const maxDifferShare = 0.005

// TestDiffer compares random programs with Python. With Python 3.11 it compares output and types of
// exceptions. With Python 3.9, whose error texts the interpreter uses, it compares the texts too.
// CI needs Python 3.11.
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
					t.Fatalf("%s: %v, CI needs it", reference.program, err)
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
		printed, exception := runSource(source)
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
		case sortedLetters(got) == sortedLetters(want.Output+want.Exception): // only the order of sets differs
			ordered++
		default:
			differ++
			t.Logf("%s\ngot  %q\nwant %q", source, got, want.Output+want.Exception)
		}
	}
	t.Logf("%d programs: %d differ, %d differ in an order, %d exceed a limit, %d raise", len(sources), differ, ordered, exceeding, raised)
	if float64(differ+ordered) > max(2, maxDifferShare*float64(len(sources))) {
		t.Errorf("got %d programs that differ, want at most %v of %d", differ+ordered, maxDifferShare, len(sources))
	}
}

// sortedLetters returns the letters of a text in alphabetical order.
func sortedLetters(s string) string {
	all := []rune(s)
	slices.Sort(all)
	return string(all)
}

// exceeds reports whether a program exceeded a limit or needed complex numbers.
func exceeds(got string) bool {
	for _, text := range []string{"bytes are needed", "bytes were printed", "steps are needed", "number is too large", "complex numbers"} {
		if strings.Contains(got, text) {
			return true
		}
	}
	return false
}
