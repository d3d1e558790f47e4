package interp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

var (
	programs  = flag.Int("programs", 300, "random programs that TestDiffer runs")
	seed      = flag.Uint64("seed", 1, "seed of the first one")
	reference = flag.String("python", "python3.9", "the Python that TestDiffer compares with")
)

// TestDiffer runs random programs here and, where it is installed, in Python 3.9, and compares what
// they print and raise.
func TestDiffer(t *testing.T) {
	t.Parallel()
	sources := make([]string, *programs)
	var input bytes.Buffer
	encoder := json.NewEncoder(&input)
	for i := range sources {
		sources[i] = randomProgram(*seed + uint64(i))
		if err := encoder.Encode(sources[i]); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), *reference, "-W", "ignore", "testdata/run.py")
	command.Stdin = &input
	output, err := command.Output()
	if err != nil {
		t.Logf("%s: %v: the programs run without comparison", *reference, err)
		output = nil
	}
	results := json.NewDecoder(bytes.NewReader(output))
	differ, limited, raised, ordered := 0, 0, 0, 0
	for _, source := range sources {
		got := answer(source)
		if strings.Contains(got, "SystemError") {
			t.Errorf("%s\ngot %s", source, got)
		}
		if output == nil {
			continue
		}
		var want struct{ Output, Exception string }
		if err := results.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if want.Exception != "" {
			raised++
		}
		switch {
		case got == want.Output+want.Exception:
		case exceeds(got):
			limited++
		case letters(got) == letters(want.Output+want.Exception): // sets go over their items in another order
			ordered++
		default:
			differ++
			t.Errorf("%s\ngot  %q\nwant %q", source, got, want.Output+want.Exception)
		}
	}
	t.Logf("%d programs: %d differ, %d differ in an order, %d exceed a limit, %d raise", len(sources), differ, ordered, limited, raised)
}

// letters returns the letters of a text in alphabetical order.
func letters(s string) string {
	all := []rune(s)
	slices.Sort(all)
	return string(all)
}

// exceeds says whether a program did what only Python does: a limit was exceeded, or a complex
// number asked for.
func exceeds(got string) bool {
	for _, text := range []string{"bytes are needed", "bytes were printed", "steps are needed", "the number is too large", "complex numbers"} {
		if strings.Contains(got, text) {
			return true
		}
	}
	return false
}
