package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/certtest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// TestIneffectiveRunFlags gives flags that no player and nothing else of a run heeds. Each is
// refused, and nothing is written.
func TestIneffectiveRunFlags(t *testing.T) {
	t.Parallel()
	prompt := filepath.Join(t.TempDir(), "prompt.txt")
	if err := os.WriteFile(prompt, []byte("Think first.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, _ := certtest.SelfSigned(t)
	for args, want := range map[string]string{
		"--agent grpc://localhost:1 --agent-ca " + cert:                                   "--agent-ca: given, but nobody plays as grpcs://HOST:PORT",
		"--agent oracle --user-prompt goal":                                               "--user-prompt: given, but --user scripted reads no prompt and no conversation",
		"--agent openai:m --user-sees calls":                                              "--user-sees: given, but --user scripted reads no prompt and no conversation",
		"--agent random --agent-prompt " + prompt:                                         "--agent-prompt: given, but --agent random reads no prompt and no conversation",
		"--agent oracle --user openai:m --agent-prompt-after " + prompt:                   "--agent-prompt-after: given, but --agent oracle reads no prompt and no conversation",
		"--agent openai:m --user openai:m --pack euroeval --user-sees calls":              "--user-sees: given, but records of EuroEval have no user",
		"--agent oracle --services offline --toolhost-service-url http://localhost:1":     "--toolhost-service-url: given, but only --services live and record ask hosted services",
		"--agent oracle --toolhost-tool-server-timeout 3s":                                "--toolhost-tool-server-timeout: given, but no selected scenario has tools of a server",
		"--agent oracle --json --otlp-endpoint localhost:1 --trace-ui http://localhost:1": "--trace-ui: given, but --json prints no links",
		"--agent oracle --allow-no-tools":                                                 "--allow-no-tools: given, but neither --agent nor --user is a model",
		"--agent oracle --attach-listen localhost:1":                                      "--attach-listen: given, but nobody plays as attached:NAME",
		"--agent unhelpful --against random --until-decided --agent-prompt " + prompt:     "--agent-prompt: given, but --agent unhelpful reads no prompt and no conversation",
	} {
		out := filepath.Join(t.TempDir(), "out")
		code, _, stderr := command(append([]string{"run", "--limit", "1", "--wait", "0s", "--out", out}, strings.Fields(args)...)...)
		if _, err := os.Stat(out); code != 2 || !strings.Contains(stderr, want) || !os.IsNotExist(err) {
			t.Errorf("run %s: got code %d, %s and %v, want 2, %q and no directory", args, code, stderr, err, want)
		}
	}
}

// TestIneffectiveFlags gives flags that a command does not heed.
func TestIneffectiveFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"scenario prove add_plumber --user-sees calls":          "unknown flag: --user-sees",
		"scenario list add_plumber --agent-prompt nowhere":      "unknown flag: --agent-prompt",
		"bench --scenarios add_plumber --user-prompt goal":      "unknown flag: --user-prompt",
		"view nowhere --export nowhere --listen 127.0.0.1:8080": "--listen: given with --export, which serves no pages",
	} {
		if code, _, stderr := command(strings.Fields(args)...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: got code %d and %s, want 2 and %q", args, code, stderr, want)
		}
	}
}

// TestEffectivePlayerFlags gives flags that one of the compared agents heeds, or whose values are
// the defaults.
func TestEffectivePlayerFlags(t *testing.T) {
	t.Parallel()
	prompt := filepath.Join(t.TempDir(), "prompt.txt")
	if err := os.WriteFile(prompt, []byte("Think first.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "--agent", "oracle", "--user-prompt", "all", "--user-sees", "texts", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi")
	// All flags are checked before the model is looked for, which nobody serves.
	code, _, stderr := command("run", "--agent", "unhelpful", "--against", "cohere:m", "--until-decided", "--agent-prompt", prompt, "--spend-tokens", "9",
		"--wait", "10ms", "--temperature", "0", "--model-seed", "1", "--model-timeout", "9s", "--base-url", "http://"+porttest.Address(t),
		"--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi")
	if code == 2 || !strings.Contains(stderr, "cohere:m: cannot be reached at ") {
		t.Errorf("got code %d and %s, want 1, because nobody serves cohere:m", code, stderr)
	}
}
