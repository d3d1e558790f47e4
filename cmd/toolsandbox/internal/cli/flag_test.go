package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlagsOutOfRange checks that an invalid value ends the command immediately with a line that
// names the flag.
func TestFlagsOutOfRange(t *testing.T) {
	model := []string{"--agent", "openai:m", "--user", "google:m"}
	for _, test := range []struct {
		flag, value, want string
	}{
		{"temperature", "NaN", "--temperature: NaN given, expected 0 to 2"},
		{"temperature", "Inf", "--temperature: +Inf given, expected 0 to 2"},
		{"temperature", "-0.1", "--temperature: -0.1 given, expected 0 to 2"},
		{"max-tokens", "0", "--max-tokens: 0 given, expected 1 or more"},
		{"max-tokens", "-1", "--max-tokens: -1 given, expected 1 or more"},
		{"thinking-budget", "0", "--thinking-budget: 0 given, expected 1 or more tokens"},
		{"thinking-budget", "-1", "--thinking-budget: -1 given, expected 1 or more tokens"},
		{"user-thinking-budget", "0", "--user-thinking-budget: 0 given, expected 1 or more tokens"},
		{"user-thinking-budget", "-1", "--user-thinking-budget: -1 given, expected 1 or more tokens"},
		{"model-timeout", "-1ns", "--model-timeout: -1ns given, expected 1s to 1h0m0s"},
		{"spend-tokens", "0", "--spend-tokens: 0 given, expected 1 or more"},
		{"spend-usd", "NaN", "--spend-usd: NaN given, expected dollars, more than 0 and up to 1e+09"},
		{"trials", "0", "--trials: 0 given, expected 1 to 100000"},
		{"parallel", "-1", "--parallel: -1 given, expected 1 to 100000"},
		{"sweep-id", "a b", `--sweep-id: "a b" given, expected 1 to 100 characters of [A-Za-z0-9_-]`},
		{"sweep-id", "nightly.17", `--sweep-id: "nightly.17" given, expected 1 to 100 characters of [A-Za-z0-9_-]`},
		{"sweep-id", "é", `--sweep-id: "é" given, expected 1 to 100 characters of [A-Za-z0-9_-]`},
		{"sweep-id", "\xff", `--sweep-id: "\xff" given, expected 1 to 100 characters of [A-Za-z0-9_-]`},
		{"sweep-id", strings.Repeat("a", 101), `a" given, expected 1 to 100 characters of [A-Za-z0-9_-]`},
	} {
		out := filepath.Join(t.TempDir(), "out")
		args := append([]string{"run", "--out", out}, model...)
		check := func(how string, args []string) {
			t.Helper()
			var stdout, stderr bytes.Buffer
			code := Main(args, &stdout, &stderr)
			if _, err := os.Stat(out); code != 2 || !strings.HasSuffix(stderr.String(), test.want+"\n") || strings.Count(stderr.String(), "\n") != 1 || err == nil {
				t.Errorf("--%s %q %s: got code %d, %q and directory %v, want 2, %q and none", test.flag, test.value, how, code, &stderr, err == nil, test.want)
			}
		}
		check("as a flag", append(args, "--"+test.flag, test.value))
		t.Run(test.flag, func(t *testing.T) {
			t.Setenv("TOOLSANDBOX_"+strings.ToUpper(strings.ReplaceAll(test.flag, "-", "_")), test.value)
			check("in the environment", args)
		})
	}
}

// TestUnknownVariables sets variables of no flag, of other commands and of services. The command
// warns about the first only, and the run continues.
func TestUnknownVariables(t *testing.T) {
	t.Setenv("TOOLSANDBOX_TRAILS", "3")
	for _, name := range []string{"NATS_URL", "LISTEN", "TOOLHOST_DIR", "AGENTGW_ADDR", "EVALUATOR_SCORERS", "ORCHESTRATOR_NAME", "BUS_SHARDS", "NATS_PORT", "ROLLOUTS", "VECTORS"} {
		t.Setenv("TOOLSANDBOX_"+name, "7")
	}
	var stdout, stderr bytes.Buffer
	code := Main([]string{"run", "--agent", "oracle", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi"}, &stdout, &stderr)
	const want = "toolsandbox: environment variable TOOLSANDBOX_TRAILS: no flag has this name; did you mean TOOLSANDBOX_TRIALS?\n"
	if code != 0 || !strings.HasPrefix(stderr.String(), want+"1/1 rollouts") {
		t.Errorf("got code %d and\n%s\nwant 0 and\n%s", code, &stderr, want)
	}
}

// TestInvalidFlags gives values of the wrong type. The command prints one line without the parser's
// text, and no run starts.
func TestInvalidFlags(t *testing.T) {
	for _, test := range []struct {
		flag, value, want string
	}{
		{"trials", "many", `"many" given, expected a whole number, e.g. 3`},
		{"model-timeout", "5", `"5" given, expected a number with its unit, e.g. 5s`},
		{"wait", "5 minutes", `"5 minutes" given, expected a number with its unit, e.g. 3s`},
		{"temperature", "warm", `"warm" given, expected a number, e.g. 0.5`},
		{"max-tokens", "9999999999", `"9999999999" given, which is out of range: expected a whole number, e.g. 3`},
		{"spend-tokens", "1e6", `"1e6" given, expected a whole number, e.g. 3`},
		{"resume", "maybe", `"maybe" given, expected true or false`},
		{"agentgw-limit", "openai=often", `limit of openai: "often" given, expected `},
	} {
		args := []string{"run", "--agent", "oracle", "--out", filepath.Join(t.TempDir(), "out")}
		check := func(where string, args []string) {
			t.Helper()
			var stdout, stderr bytes.Buffer
			code := Main(args, &stdout, &stderr)
			if got := stderr.String(); code != 2 || !strings.HasPrefix(got, "toolsandbox: "+where+": "+test.want) || strings.Count(got, "\n") != 1 {
				t.Errorf("got code %d and\n%s\nwant 2, %s and %s", code, got, where, test.want)
			}
		}
		check("--"+test.flag, append(args, "--"+test.flag+"="+test.value))
		t.Run(test.flag, func(t *testing.T) {
			name := "TOOLSANDBOX_" + strings.ToUpper(strings.ReplaceAll(test.flag, "-", "_"))
			t.Setenv(name, test.value)
			check("environment variable "+name, args)
		})
	}
}
