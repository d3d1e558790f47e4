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
		"run --num-tasks=3":            "; here it is --limit N",
		"run --categories SINGLE":      "; here it is --category",
		"run --processes 4":            "; here it is --parallel",
		"--model gpt-4o":               "; here it is --agent PROVIDER:MODEL",
		"run --max-turns 5":            "; here it is max_messages of each scenario",
		"run --results x":              "; the directory is --out",
		"run --agents oracle":          "did you mean --agent?",
		"run --api_key x":              "; here it is OPENAI_API_KEY",
		"run -n 4":                     "unknown shorthand flag: 'n' in -n; here it is --trials",
		"run -m gpt-4o":                "; here it is --agent PROVIDER:MODEL",
		"run -j4":                      "; here it is --parallel",
		"run --verbose":                "; here it is --log-level debug",
		"run --overwrite":              "; here it is another --out",
		"run --list":                   "; here it is toolsandbox scenario list",
		"run --dataset x":              "; here it is --pack",
		"config --num-trials 3":        "; here it is --trials",
		"eval":                         `unknown command "eval"; here it is toolsandbox run`,
		"ls":                           "; here it is toolsandbox scenario list",
		"resume out":                   "; here it is toolsandbox run --resume",
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
