package cli

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestRunHelp checks that the help fits two screens of 40 lines.
func TestRunHelp(t *testing.T) {
	t.Parallel()
	code, help, _ := command("run", "--help")
	if lines := strings.Split(strings.TrimRight(help, "\n"), "\n"); code != 0 || len(lines) > 80 {
		t.Errorf("got code %d and %d lines, want 0 and at most 80", code, len(lines))
	}
	shown := 0
	for _, g := range runGroups() {
		shown += len(g.flags)
		for _, name := range g.flags {
			if !strings.Contains(help, " --"+name) {
				t.Errorf("--%s: not in the help", name)
			}
		}
	}
	if shown > 27 {
		t.Errorf("got %d flags, want about 25", shown)
	}
	for line := range strings.Lines(help) {
		if len(line) > helpWidth+1 {
			t.Errorf("got %d characters, want at most %d: %s", len(line), helpWidth, line)
		}
	}
}

// sample returns a value for a setting that differs from its default.
func sample(t *testing.T, s setting) string {
	t.Helper()
	if s.Name == "agentgw-limit" {
		return "openai=rpm:5"
	}
	switch kind := newConfig().Flags().Lookup(s.Name).Value.Type(); kind {
	case "bool":
		return strconv.FormatBool(s.Default != "true")
	case "duration":
		return "1m30s"
	case "int", "int32", "int64":
		return "70000"
	case "float", "float64":
		return "0.5"
	case "stringSlice", "stringArray":
		return `one,"two, three"`
	case "interval|always":
		return "always"
	case "NAME=address":
		return `desk=grpc://localhost:1;shop=stdio+SHOP_KEY:["node","shop.js"]`
	case "string":
		return `it's "x" # y: z`
	default:
		t.Fatalf("--%s: no sample of kind %s", s.Name, kind)
		return ""
	}
}

// configSettings returns the settings that toolsandbox config prints.
func configSettings(t *testing.T, args ...string) (settings []setting) {
	t.Helper()
	code, stdout, stderr := command(append([]string{"config", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(stdout), &settings); code != 0 || err != nil {
		t.Fatalf("config --json %v: got code %d, %s and %v", args, code, stderr, err)
	}
	return settings
}

// TestConfigRoundTrip sets every setting on the command line. The output of config is a settings
// file with the same values.
func TestConfigRoundTrip(t *testing.T) {
	t.Chdir(t.TempDir())
	var args []string
	for _, s := range configSettings(t) {
		if s.Name != "json" {
			args = append(args, "--"+s.Name+"="+sample(t, s))
		}
	}
	want := make(map[string]string)
	for _, s := range configSettings(t, args...) {
		if s.Source != "command line" || s.Group == "" || s.Description == "" || s.Value == s.Default {
			t.Errorf("got %+v, want all fields set, from the command line", s)
		}
		want[s.Name] = s.Value
	}
	code, text, _ := command(append([]string{"config"}, args...)...)
	if err := os.WriteFile("all.yaml", []byte(text), 0o600); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	for _, s := range configSettings(t, "--config", "all.yaml") {
		if s.Value != want[s.Name] || !strings.HasPrefix(s.Source, "all.yaml:") && s.Name != "json" {
			t.Errorf("%s: got %q from %s, want %q from the file", s.Name, s.Value, s.Source, want[s.Name])
		}
	}
	_, text, _ = command("config")
	if err := os.WriteFile("none.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range configSettings(t, "--config", "none.yaml") {
		if s.Source != "default" && s.Name != "json" {
			t.Errorf("%s: got %q from %s, want the default", s.Name, s.Value, s.Source)
		}
	}
}

// TestConfigKeepsSecrets checks that config prints neither an address's password nor a key, as YAML
// or JSON.
func TestConfigKeepsSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("OPENAI_API_KEY", "key-of-the-test")
	for _, form := range []string{"--json", "--json=false"} {
		code, text, stderr := command("config", form, "--base-url", "http://me:hunter22@localhost/v1?sig=abc123",
			"--remote", "--orchestrator-addr", "http://a:tr0ub4dor@host,key-of-the-test:1", "--agent", "openai:key-of-the-test")
		if code != 0 || !strings.Contains(text, "http://[redacted]@localhost/v1?[redacted]") {
			t.Errorf("%s: got code %d, %s and %s, want a redacted address", form, code, text, stderr)
		}
		for _, secret := range []string{"hunter22", "abc123", "tr0ub4dor", "key-of-the-test"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: got %s in the output", form, secret)
			}
		}
	}
}
