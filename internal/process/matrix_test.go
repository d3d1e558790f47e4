package process_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// matrixOf reads a file whose settings agent, seed, ratio and scenarios may vary.
func matrixOf(t *testing.T, text string, args ...string) (*pflag.FlagSet, process.Matrix, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("m.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := varyingFlags()
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	matrix, err := process.SetFromFile(flags, someFlags(), "m.yaml")
	return flags, matrix, err
}

func varyingFlags() *pflag.FlagSet {
	flags := someFlags()
	process.MarkVarying(flags, "agent", "seed", "ratio", "scenarios", "no such flag")
	return flags
}

// cellsOf returns the set flags of each cell, by its name.
func cellsOf(t *testing.T, flags *pflag.FlagSet, matrix process.Matrix) map[string]string {
	t.Helper()
	got := make(map[string]string)
	for _, cell := range matrix.Cells() {
		own := varyingFlags()
		if err := errors.Join(process.CopyFlags(own, flags), cell.Set(own)); err != nil {
			t.Fatal(err)
		}
		var set []string
		own.VisitAll(func(flag *pflag.Flag) {
			if process.IsSet(flag) {
				set = append(set, flag.Name+"="+flag.Value.String()+" by "+process.FlagSource(flag))
			}
		})
		got[cell.Name] = strings.Join(set, "; ")
	}
	return got
}

// TestMatrix reads alternatives. Each cell has its own flags, and those that all cells share.
func TestMatrix(t *testing.T) {
	const text = `trials: 3
agent:
  - oracle
  - {name: cool, agent: "openai:m", ratio: 0.5, scenarios: [a, b]}
  - agent: openai:m/x
seed: [1]
ratio: 0.25
`
	flags, matrix, err := matrixOf(t, text)
	if err != nil {
		t.Fatal(err)
	}
	const shared = "; seed=1 by m.yaml:6:8; trials=3 by m.yaml:1:1"
	want := map[string]string{
		"agent=oracle,seed=1":     "agent=oracle by m.yaml:3:5; ratio=0.25 by m.yaml:7:1" + shared,
		"agent=cool,seed=1":       "agent=openai:m by m.yaml:4:18; ratio=0.5 by m.yaml:4:37; scenarios=[a,b] by m.yaml:4:49" + shared,
		"agent=openai-m-x,seed=1": "agent=openai:m/x by m.yaml:5:5; ratio=0.25 by m.yaml:7:1" + shared,
	}
	if diff := cmp.Diff(want, cellsOf(t, flags, matrix)); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	printed, err := json.Marshal(matrix[0].Forms(strings.ToLower))
	const form = `[{"agent":"oracle","name":"oracle"},{"agent":"openai:m","name":"cool","ratio":"0.5","scenarios":["a","b"]},{"agent":"openai:m/x","name":"openai-m-x"}]`
	if err != nil || string(printed) != form {
		t.Errorf("as JSON: got %s, %v, want\n%s", printed, err, form)
	}
	flags, again, err := matrixOf(t, "agent: "+form+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := cellsOf(t, flags, again); len(got) != 3 || !strings.Contains(got["agent=cool"], "ratio=0.5") {
		t.Errorf("JSON read again: got %v, want the same cells", got)
	}
}

// TestMatrixUnderCommandLine gives flags that the file lists alternatives of: they hold in all
// cells.
func TestMatrixUnderCommandLine(t *testing.T) {
	const text = "agent: [a, {agent: b, ratio: 0.5}]\nseed: [1, 2]\n"
	for args, want := range map[string]map[string]string{
		"--agent=c --seed=7": {"": "agent=c by command line; seed=7 by command line"},
		"--ratio=1 --seed=7": {
			"agent=a": "agent=a by m.yaml:1:9; ratio=1 by command line; seed=7 by command line",
			"agent=b": "agent=b by m.yaml:1:13; ratio=1 by command line; seed=7 by command line",
		},
	} {
		flags, matrix, err := matrixOf(t, text, strings.Fields(args)...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, cellsOf(t, flags, matrix)); diff != "" {
			t.Errorf("%s: cells (-want +got):\n%s", args, diff)
		}
	}
}

// TestMatrixErrors lists alternatives that cannot be meant.
func TestMatrixErrors(t *testing.T) {
	for text, want := range map[string]string{
		"agent: []\n":                                    "m.yaml:1:1: agent: an empty list given, expected a value, or a list of alternatives",
		"trials: [1, 2]\n":                               "m.yaml:1:1: trials: a list given, expected a whole number, e.g. 3",
		"agent: [a, {ratio: 1}]\n":                       "m.yaml:1:12: agent: a mapping without agent given, expected {agent: …, temperature: 0}",
		"agent: [a, [b]]\n":                              `m.yaml:1:12: agent: "[b]" given, expected a value, or a mapping of settings, as {agent: …, temperature: 0}`,
		"agent: [a, null]\n":                             "m.yaml:1:12: agent: nothing given, expected a value, or a mapping",
		"agent: [{agent: a, ratoi: 1}]\n":                "m.yaml:1:20: ratoi: no setting has this name; did you mean ratio?",
		"agent: [{agent: a, trials: 1}]\n":               "m.yaml:1:20: trials: one value holds for all alternatives: set it at the top of the file",
		"agent: [{agent: [a, b]}]\n":                     "m.yaml:1:10: agent: a list given, expected a value",
		"agent: [{agent: a, ratio: [1]}]\n":              "m.yaml:1:20: ratio: a list given, expected a number, e.g. 0.5",
		"agent: [{agent: a, ratio: {a: 1}}]\n":           `m.yaml:1:20: ratio: "{a: 1}" given, expected a value`,
		"agent: [{agent: a, name: a/b}]\n":               `m.yaml:1:20: name: "a/b" given, expected 1 to 60 letters, digits, '.', '_' and '-'`,
		"agent: ['']\n":                                  `m.yaml:1:9: agent: "" names no directory: give it a name, as {name: none, agent: ""}`,
		"agent: [a:b, a/b]\n":                            "m.yaml:1:14: agent: another alternative is called a-b: give this one a name, as {name: other, agent: a/b}",
		"agent: [{agent: a, seed: 1}]\nseed: [1, 2]\n":   "m.yaml:2:8: seed: alternatives of agent set it, too",
		"seed: [" + strings.Repeat("1, ", 1001) + "1]\n": "m.yaml:1:11: seed: another alternative is called 1",
	} {
		if _, _, err := matrixOf(t, text); !errors.Is(err, process.ErrUsage) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got\n%v\nwant\n%s", text, err, want)
		}
	}
	flags, matrix, err := matrixOf(t, "seed: [1, many]\n")
	if err != nil {
		t.Fatal(err)
	}
	own := varyingFlags()
	err = errors.Join(process.CopyFlags(own, flags), matrix.Cells()[1].Set(own))
	if want := `m.yaml:1:11: seed: "many" given, expected a whole number, e.g. 3`; !errors.Is(err, process.ErrUsage) || err.Error() != want {
		t.Errorf("a value that is no number: got %v, want %s", err, want)
	}
}
