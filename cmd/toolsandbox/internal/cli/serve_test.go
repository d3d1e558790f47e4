package cli

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// TestServeRefusesSettings gives services settings that they cannot have. They say so at once,
// while there is no NATS.
func TestServeRefusesSettings(t *testing.T) {
	nats := "nats://" + porttest.Address(t)
	for line, want := range map[string]string{
		"serve orchestrator --orchestrator-parallel=-1": "--orchestrator-parallel: -1 given",
		"serve toolhost --toolhost-max-calls 65":        "--toolhost-max-calls: 65 given",
		"serve agentgw --agent-ca missing.pem":          "--agent-ca: open missing.pem",
		"serve evaluator --evaluator-scorers 0":         "--evaluator-scorers: 0 given",
		"serve evaluator --nats-cert tls.crt":           "--nats-cert and --nats-key: one given",
		"bus init --nats-cert tls.crt":                  "--nats-cert and --nats-key: one given",
		"bus init --nats-user ann":                      "--nats-user: given without --nats-password-file",
	} {
		code, _, stderr := command(append(strings.Fields(line), "--nats-url", nats)...)
		if code != process.ExitUsage || !strings.HasPrefix(stderr, "toolsandbox: "+want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: got code %d and %q, want %d and one line with %q", line, code, stderr, process.ExitUsage, want)
		}
	}
}
