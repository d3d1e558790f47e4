package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// configured sets flags from a command line, then the environment, then a file with this text.
func configured(t *testing.T, text string, env variables, args ...string) (*pflag.FlagSet, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("settings.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := someFlags()
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := process.SetFromEnvironment(flags, env.lookup); err != nil {
		t.Fatal(err)
	}
	others := pflag.NewFlagSet("", pflag.ContinueOnError)
	others.String("listen", "", "another command's")
	others.Int("shards", 1, "another command's")
	_, err := process.SetFromFile(flags, others, "settings.yaml")
	return flags, err
}

// TestSetFromFile reads settings of all kinds. The environment wins over the file, the command line
// over both, and each flag knows who set it.
func TestSetFromFile(t *testing.T) {
	const text = `# settings
trials: 3
parallel: 0x10
ratio: 0.25
grace: 1m30s
resume: true
agent: openai:gpt-4o   # a comment
scenarios: [wifi_*, "a,b"]
seed: 7
pause: 2s
listen: nowhere   # another command's
`
	flags, err := configured(t, text, variables{"TOOLSANDBOX_SEED": "8", "TOOLSANDBOX_PAUSE": "3s"}, "--pause=4s", "-t")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	flags.VisitAll(func(flag *pflag.Flag) { got[flag.Name] = flag.Value.String() + " by " + process.FlagSource(flag) })
	want := map[string]string{
		"trials": "3 by settings.yaml:2:1", "parallel": "16 by settings.yaml:3:1", "ratio": "0.25 by settings.yaml:4:1", "grace": "1m30s by settings.yaml:5:1",
		"resume": "true by settings.yaml:6:1", "agent": "openai:gpt-4o by settings.yaml:7:1", "scenarios": `[wifi_*,"a,b"] by settings.yaml:8:1`,
		"seed": "8 by environment variable TOOLSANDBOX_SEED", "pause": "4s by command line", "test-mode": "true by command line",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if flags.Changed("trials") {
		t.Error("trials: got Changed, which is for the command line")
	}
}

// TestSetFromFileErrors reads files that cannot be meant: an error names file, line, key and what
// was expected.
func TestSetFromFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"trails: 3\n":                         "settings.yaml:1:1: trails: no setting has this name; did you mean trials?",
		"\nwhatever_it_is: 3\n":               "settings.yaml:2:1: whatever_it_is: no setting has this name",
		"test_mode: true\n":                   "settings.yaml:1:1: test_mode: no setting has this name; did you mean test-mode?",
		"agent: x\ntrials: many\n":            `settings.yaml:2:1: trials: "many" given, expected a whole number, e.g. 3`,
		"trials: many\nseed: x\n":             "settings.yaml:1:1: trials: \"many\" given, expected a whole number, e.g. 3\nsettings.yaml:2:1: seed: \"x\" given, expected a whole number, e.g. 3",
		"grace: 5\n":                          `settings.yaml:1:1: grace: "5" given, expected a number with its unit, e.g. 5s`,
		"resume: perhaps\n":                   `settings.yaml:1:1: resume: "perhaps" given, expected true or false`,
		"trials: [1, 2]\n":                    "settings.yaml:1:1: trials: a list given, expected a whole number, e.g. 3",
		"shards: many\n":                      `settings.yaml:1:1: shards: "many" given, expected a whole number, e.g. 3`,
		"shard: 1\n":                          "settings.yaml:1:1: shard: no setting has this name; did you mean shards?",
		"trials:\n":                           "settings.yaml:1:1: trials: nothing given, expected a whole number, e.g. 3",
		"agent: {openai: x}\n":                `settings.yaml:1:1: agent: "{openai: x}" given, expected a value`,
		"seed: 1\nagent: x\nseed: 2\n":        `settings.yaml:3:1: mapping key "seed" already defined at [1:1]`,
		"seed: 1\n---\nseed: 2\n":             "settings.yaml:3:1: seed: repeats settings.yaml:1:1",
		"- seed\n":                            "settings.yaml:1:1: expected settings, as trials: 3",
		"seed: [1\n":                          "settings.yaml:",
		"seed: 99999999999999999999999999\n":  `settings.yaml:1:1: seed: "99999999999999999999999999" given, which is out of range: expected a whole number, e.g. 3`,
		"trials: 3\n---\nscenarios: {a: b}\n": `settings.yaml:3:1: scenarios: `,
		"scenarios: [a, *_wifi]\n":            "settings.yaml:1:1: scenarios: an alias (a text that begins with * needs quotes) given, expected values separated by commas",
		"scenarios: *wifi*\n":                 "settings.yaml:1:1: scenarios: an alias (a text that begins with * needs quotes) given, expected ",
		"agent: &a oracle\n":                  "settings.yaml:1:1: agent: an anchor (a text that begins with & needs quotes) given, expected a value",
		"scenarios: &a [b]\n":                 "settings.yaml:1:1: scenarios: an anchor (a text that begins with & needs quotes) given, expected ",
		"agent: !!str oracle\n":               "settings.yaml:1:1: agent: a tag (a text that begins with ! needs quotes) given, expected a value",
	} {
		_, err := configured(t, text, nil)
		if !errors.Is(err, process.ErrUsage) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got\n%v\nwant\n%s", text, err, want)
		}
	}
	for _, text := range []string{"", "# nothing\n", "---\n"} {
		if _, err := configured(t, text, nil); err != nil {
			t.Errorf("%q: got %v, want nil", text, err)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	if _, err := process.SetFromFile(someFlags(), someFlags(), missing); !errors.Is(err, process.ErrUsage) || !strings.HasPrefix(err.Error(), "--config: open "+missing) {
		t.Errorf("a file that is not there: got %v, want a usage error that names it", err)
	}
}

// TestErrorSource says where a value comes from that is out of range.
func TestErrorSource(t *testing.T) {
	flags, err := configured(t, "trials: 0\n", variables{"TOOLSANDBOX_SEED": "8"}, "--parallel=0")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"--trials: 0 given":   "settings.yaml:1:1: --trials: 0 given",
		"--seed, --x: given":  "environment variable TOOLSANDBOX_SEED: --seed, --x: given",
		"--parallel: 0 given": "--parallel: 0 given",
		"--agent: missing":    "--agent: missing",
		"trials":              "trials",
	} {
		if got := process.ErrorSource(flags, process.UsageErrorf("%s", text)); !errors.Is(got, process.ErrUsage) || got.Error() != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	if got := process.ErrorSource(flags, nil); got != nil {
		t.Errorf("nil: got %v, want nil", got)
	}
}

// FuzzSetFromFile reads any text as settings: it is an error that names the file, or sets what a
// flag takes.
func FuzzSetFromFile(f *testing.F) {
	for _, text := range []string{"trials: 3\n", "scenarios: [a, b]\n", "a: &x 1\nb: *x\n", "? [a]\n: b\n", "<<: {trials: 3}\n", "agent: |\n  x\n", "agent: !!str 3\n", "'seed': -1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "settings.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := process.SetFromFile(someFlags(), someFlags(), path)
		if err != nil && (!errors.Is(err, process.ErrUsage) || !strings.HasPrefix(err.Error(), path+":")) {
			t.Errorf("%q: got %v, want a usage error that begins with the file", text, err)
		}
	})
}
