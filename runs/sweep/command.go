package sweep

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/runs/report"
)

// Command returns the command line of an action on a sweep, with the flags of its installation.
func Command(network rpc.Config, verb, id string) string {
	words := []string{"toolsandbox sweep", verb, id, "--remote"}
	for _, flag := range []struct{ name, value, usual string }{
		{"--orchestrator-addr", strings.Join(network.Orchestrators, ","), strings.Join(rpc.DefaultConfig().Orchestrators, ",")},
		{"--tls-cert", network.TLSCert, ""},
		{"--tls-key", network.TLSKey, ""},
		{"--tls-ca", network.TLSCA, ""},
		{"--token-file", network.TokenFile, ""},
	} {
		if flag.value != flag.usual {
			words = append(words, flag.name, report.ShellWord(flag.value))
		}
	}
	return strings.Join(words, " ")
}
