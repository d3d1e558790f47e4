package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// importOff imports the original's scenario off, which has no scripts, and returns its pack.
func importOff(t *testing.T) (pack string) {
	t.Helper()
	pack = filepath.Join(t.TempDir(), "original")
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"scenario", "import", filepath.Join("testdata", "off.json"), "--out", pack}, &stdout, &stderr); code != 0 {
		t.Fatalf("import: got code %d and %s", code, &stderr)
	}
	return pack
}

// TestScripts runs scenarios with their own scripts if none, one or all of them have scripts.
func TestScripts(t *testing.T) {
	off := importOff(t)
	turns := filepath.Join(t.TempDir(), "turns.yaml")
	if err := os.WriteFile(turns, []byte("- say: Thank you.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const (
		noSolution = "toolsandbox: --agent oracle: none of the scenarios (1) has a solution: name another one, e.g. --agent grpc://localhost:9000"
		noScript   = "--user scripted: none of the scenarios (1) has a script for the user: name another one, e.g. --user openai:gpt-4o"
		someLack   = "toolsandbox: --agent oracle: 1 of 2 scenarios have no solution, off among them: their agent does nothing\n" +
			"toolsandbox: --user scripted: 1 of 2 scenarios have no script for the user, off among them: their user ends the conversation after the agent's first answer\n"
	)
	for name, test := range map[string]struct {
		args string
		code int
		want string
	}{
		"no solution":      {"--pack " + off + " --variants plain --agent oracle --user scripted:" + turns, 2, noSolution + "\n"},
		"no script":        {"--pack " + off + " --variants plain --agent unhelpful --user scripted", 2, "toolsandbox: " + noScript + "\n"},
		"neither":          {"--pack " + off + " --variants plain --agent oracle --user scripted", 2, noSolution + "; " + noScript + "\n"},
		"one of two":       {"--pack " + off + " --builtin --agent oracle -s off turn_off_wifi", 0, someLack},
		"all have scripts": {"--agent oracle turn_off_wifi", 0, ""},
		"other players":    {"--pack " + off + " --variants plain --agent unhelpful --user scripted:" + turns, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			var stdout, stderr bytes.Buffer
			code := Main(append([]string{"run", "--out", out}, strings.Fields(test.args)...), &stdout, &stderr)
			output, _, _ := strings.Cut(stderr.String(), "1/") // progress follows
			if code != test.code || output != test.want {
				t.Errorf("got code %d and\n%s\nwant %d and\n%s", code, output, test.code, test.want)
			}
			if _, err := os.Stat(out); (err == nil) != (code == 0) {
				t.Errorf("directory: got %v, want one only if something was played", err)
			}
		})
	}
}
