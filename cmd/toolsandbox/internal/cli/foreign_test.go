package cli

import (
	"strings"
	"testing"
)

// TestForeignCommandLines runs what users of other programs write. The error names what to write
// instead.
func TestForeignCommandLines(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"run --model gpt-4o":           "--model; here it is --agent PROVIDER:MODEL",
		"run --num_trials 3":           "; here it is --trials",
		"run --epochs 3":               "; here it is --trials",
		"run --limit=3":                "; here it is --scenarios PATTERN",
		"run --category SINGLE":        "; here it is --scenarios PATTERN",
		"run --processes 4":            "; here it is --parallel",
		"--model gpt-4o":               "; here it is --agent PROVIDER:MODEL",
		"session list --model x":       "unknown flag: --model: see --help",
		"run --agent oracle -out x":    "-out given; did you mean --out?",
		"run -agent=oracle":            "-agent=oracle given; did you mean --agent=oracle?",
		"list":                         `unknown command "list"; did you mean toolsandbox scenario list or toolsandbox session list or toolsandbox sweep list?`,
		"prove":                        "did you mean toolsandbox pack prove",
		"run --agent oracle -- -out x": `"-out"`,
	} {
		var stdout, stderr strings.Builder
		code := Main(strings.Fields(args), &stdout, &stderr)
		if code == 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: got %d and %q, want a failure with %q", args, code, stderr.String(), want)
		}
	}
}
