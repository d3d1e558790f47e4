package process_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// someFlags has a flag of each kind.
func someFlags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Int("trials", 1, "")
	flags.IntP("parallel", "p", 64, "")
	flags.Int64("seed", 0, "")
	flags.Float64("ratio", 0, "")
	flags.Duration("grace", 2*time.Second, "")
	flags.Duration("pause", 0, "")
	flags.Bool("resume", false, "")
	flags.BoolP("test-mode", "t", false, "")
	flags.StringSliceP("scenarios", "s", nil, "")
	flags.String("agent", "", "")
	return flags
}

// TestFlagError gives values that cannot be read and flags that are not there: one line names the
// flag and what was expected, without the parser's words.
func TestFlagError(t *testing.T) {
	for line, want := range map[string]string{
		"--trials many":                 `--trials: "many" given, expected a whole number, e.g. 3`,
		"--trials 1.5":                  `--trials: "1.5" given, expected a whole number, e.g. 3`,
		"--trials=":                     `--trials: "" given, expected a whole number, e.g. 3`,
		"--trials 99999999999999999999": `--trials: "99999999999999999999" given, which is out of range: expected a whole number, e.g. 3`,
		"--trials 010":                  `--trials: "010" given, expected a whole number, e.g. 3`,
		"--seed -08":                    `--seed: "-08" given, expected a whole number, e.g. 3`,
		"-p x":                          `--parallel: "x" given, expected a whole number, e.g. 64`,
		"--seed -":                      `--seed: "-" given, expected a whole number, e.g. 3`,
		"--ratio half":                  `--ratio: "half" given, expected a number, e.g. 0.5`,
		"--grace 5":                     `--grace: "5" given, expected a number with its unit, e.g. 5s`,
		"--grace 1.5":                   `--grace: "1.5" given, expected a number with its unit, e.g. 1.5s`,
		"--grace 5sec":                  `--grace: "5sec" given, expected a number with its unit, e.g. 2s`,
		"--pause soon":                  `--pause: "soon" given, expected a number with its unit, e.g. 30s`,
		"--resume=maybe":                `--resume: "maybe" given, expected true or false`,
		`--scenarios a"b`:               `--scenarios: "a\"b" given, expected values separated by commas, e.g. a,b; one that has a comma or a quotation mark is quoted as "a,b"`,
		"--agent":                       `--agent: no value given: see --help`,
		"-p":                            `--parallel: no value given: see --help`,
		"--trails 3":                    `unknown flag: --trails; did you mean --trials?`,
		"--agnet=x":                     `unknown flag: --agnet; did you mean --agent?`,
		"--something-else":              `unknown flag: --something-else: see --help`,
		"-z":                            `unknown shorthand flag: 'z' in -z: see --help`,
		"--=x":                          `bad flag syntax: --=x: see --help`,
	} {
		flags := someFlags()
		process.RejectLeadingZeros(flags)
		err := process.FlagError(flags, flags.Parse(strings.Fields(line)))
		if !errors.Is(err, process.ErrUsage) || err.Error() != want {
			t.Errorf("%s: got\n%v\nwant\n%s", line, err, want)
		}
	}
}

// TestCheckMissingValues finds flags whose value is the next flag.
func TestCheckMissingValues(t *testing.T) {
	for line, want := range map[string]string{
		"--agent --resume":        "--agent: no value given before --resume",
		"--scenarios --agent x":   "--scenarios: no value given before --agent",
		"-s -t":                   "--scenarios: no value given before -t",
		"-s a,--resume":           "--scenarios: no value given before --resume",
		"--agent --nothing":       "",
		"--agent -x":              "",
		"--agent - --trials -1":   "",
		"--agent -- --resume":     "",
		"--scenarios a --agent x": "",
	} {
		flags := someFlags()
		if err := flags.Parse(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := process.CheckMissingValues(flags); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

// TestWarnUnknownVariables warns of variables that look like flags' and are none.
func TestWarnUnknownVariables(t *testing.T) {
	environment := []string{
		"TOOLSANDBOX_TRAILS=3", "TOOLSANDBOX_TRIALS=3", "TOOLSANDBOX_NATS_URL=x", "TOOLSANDBOX_trials=", "TOOLSANDBOX_=1", "TOOLSANDBOX_WHATEVER_IT_IS=x=y",
		"TOOLSANDBOX_VECTORS=x", "TOOLSANDBOXES=1", "PATH=/bin",
		// What Kubernetes sets for services that are called toolsandbox-…
		"TOOLSANDBOX_NATS_SERVICE_HOST=10.0.0.1", "TOOLSANDBOX_NATS_SERVICE_PORT=4222", "TOOLSANDBOX_NATS_SERVICE_PORT_CLIENT=4222", "TOOLSANDBOX_NATS_PORT=tcp://10.0.0.1:4222",
		"TOOLSANDBOX_NATS_PORT_4222_TCP=tcp://10.0.0.1:4222", "TOOLSANDBOX_NATS_PORT_4222_TCP_ADDR=10.0.0.1", "TOOLSANDBOX_PORT=tcp://10.0.0.1:1",
	}
	want := []string{
		"environment variable TOOLSANDBOX_: no flag has this name",
		"environment variable TOOLSANDBOX_TRAILS: no flag has this name; did you mean TOOLSANDBOX_TRIALS?",
		"environment variable TOOLSANDBOX_WHATEVER_IT_IS: no flag has this name",
		"environment variable TOOLSANDBOX_trials: no flag has this name; did you mean TOOLSANDBOX_TRIALS?",
	}
	if diff := cmp.Diff(want, process.UnknownVariables(environment, []string{"trials", "nats-url", "agent"}, "TOOLSANDBOX_VECTORS")); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
