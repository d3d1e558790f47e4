package cli

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// TestRemoteSessionFlags checks that remote session commands reject flags that name a local
// directory. A settings file may contain run's --out.
func TestRemoteSessionFlags(t *testing.T) {
	writeSettings(t, "remote: true\nout: out\n")
	const does = " given, but --remote ignores it: sessions are at --toolhost-addr\n"
	for line, want := range map[string]string{
		"session list --remote --out out":                       "toolsandbox: --out:" + does,
		"session show x --remote --data-dir data":               "toolsandbox: --data-dir:" + does,
		"session list --config mine.yaml --data-dir data":       "toolsandbox: --data-dir:" + does,
		"session list --config mine.yaml --toolhost-addr a,b,,": "toolsandbox: ",
	} {
		code, _, stderr := command(append(strings.Fields(line), "--max-message-bytes", "65536", "--tls-ca", "missing.pem", "--tls-cert", "c", "--tls-key", "k")...)
		if code == process.ExitOK || !strings.HasPrefix(stderr, want) || want == "toolsandbox: " && strings.Contains(stderr, does) {
			t.Errorf("%s: got code %d and %q, want %q", line, code, stderr, want)
		}
	}
}
