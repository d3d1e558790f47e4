package play

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// TestSetSecrets reads tokens from a file and the environment. Only attached agents have a secret.
func TestSetSecrets(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const inFile, inVariable = "token-of-the-file-0", "token-of-the-variable-0"
	file, empty := write("token", inFile+"\n"), write("empty", "")
	for name, test := range map[string]struct {
		agent, file, variable string
		token, reason         string
	}{
		"none":               {agent: "attached:mine"},
		"blank variable":     {agent: "attached:mine", variable: " "},
		"variable":           {agent: "attached:mine", variable: inVariable, token: inVariable},
		"file":               {agent: "attached:mine", file: file, token: inFile},
		"file over variable": {agent: "attached:mine", file: file, variable: inVariable, token: inFile},
		"empty file":         {agent: "attached:mine", file: empty, reason: "the file is empty"},
		"missing file":       {agent: "attached:mine", file: filepath.Join(dir, "no"), reason: "no such file"},
		"short":              {agent: "attached:mine", variable: "short", reason: "secret of attached:mine: token of 5 characters, expected 16 to 512"},
		"nobody attaches":    {agent: "oracle", variable: "short", file: empty},
		"dialled":            {agent: "grpc://localhost:1", variable: "short"},
		"a person":           {agent: "cli", variable: "short"},
	} {
		t.Setenv(AttachTokenVariable, test.variable)
		p, err := player.Parse(worldv1.Role_ROLE_AGENT, test.agent)
		if err != nil {
			t.Fatal(err)
		}
		o := New(results.Program{})
		o.tokenFile = test.file
		err = o.setSecrets(p)
		if test.reason != "" {
			if err == nil || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("%s: got %v, want %q", name, err, test.reason)
			}
			continue
		}
		want := ""
		if test.token != "" {
			if want, err = player.SecretDigest("mine", test.token); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.GetPlugin().GetSecretDigest(); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}

// TestSpecificationHasNoSecret records a specification with a secret.
func TestSpecificationHasNoSecret(t *testing.T) {
	p, err := player.Parse(worldv1.Role_ROLE_AGENT, "attached:mine")
	if err == nil {
		err = player.SetSecret(p, "a-token-of-some-length")
	}
	if err != nil {
		t.Fatal(err)
	}
	d := &directory{path: t.TempDir()}
	if _, err := d.specify(sweep.Spec{Agents: []*agentgwv1.Player{p}, Users: []*agentgwv1.Player{p}}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(d.recordings(), specificationFile))
	if err != nil || strings.Contains(string(raw), p.GetPlugin().GetSecretDigest()) || !strings.Contains(string(raw), "mine") {
		t.Errorf("specification: got %q, %v, want the name and no digest", raw, err)
	}
}
