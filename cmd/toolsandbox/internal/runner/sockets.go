package runner

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/standalone"
	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/sweep"
	"github.com/toolsandbox/toolsandbox/internal/descriptor"
	"github.com/toolsandbox/toolsandbox/internal/process"
)

// CheckSockets says, before anything begins, that the models of a run in this process need more
// connections than it may have. One at http:// speaks HTTP/1.1, where each request has a connection
// for itself; at https:// many share one wherever the server speaks HTTP/2.
func CheckSockets(engine standalone.Config, spec sweep.Spec) error {
	if engine.Network.Remote || spec.Recording != nil {
		return nil
	}
	for _, player := range slices.Concat(spec.Agents, spec.Users) {
		if !strings.HasPrefix(player.GetModel().GetBaseUrl(), "http://") {
			continue
		}
		// A rollout asks one player at a time.
		rollouts := min(spec.Parallel, len(spec.Scenarios)*spec.Trials)
		if err := descriptor.Check(min(rollouts, engine.AgentGateway.ModelConnections)); err != nil {
			return process.Usage("--parallel %d: %w: raise it, lower --parallel, or give a server that speaks HTTP/2 without TLS as --base-url h2c://HOST", spec.Parallel, err)
		}
	}
	return nil
}
