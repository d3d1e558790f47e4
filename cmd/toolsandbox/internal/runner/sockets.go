package runner

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/sweep"
	"github.com/toolsandbox/toolsandbox/internal/descriptor"
	"github.com/toolsandbox/toolsandbox/internal/process"
)

// checkSockets says, before anything begins, that the models of a run in this process need more
// connections than it may have. One at http:// speaks HTTP/1.1, where each request has a connection
// for itself; at https:// many share one wherever the server speaks HTTP/2.
func (o *Options) checkSockets(spec sweep.Spec) error {
	if o.engine.Network.Remote || spec.Recording != nil {
		return nil
	}
	for _, player := range slices.Concat(spec.Agents, spec.Users) {
		if !strings.HasPrefix(player.GetModel().GetBaseUrl(), "http://") {
			continue
		}
		// A rollout asks one player at a time.
		rollouts := min(o.parallel, len(spec.Scenarios)*spec.Trials)
		if err := descriptor.Check(min(rollouts, o.engine.AgentGateway.ModelConnections)); err != nil {
			return process.Usage("--parallel %d: %w: raise it, lower --parallel, or give a server that speaks HTTP/2 without TLS as --base-url h2c://HOST", o.parallel, err)
		}
	}
	return nil
}
