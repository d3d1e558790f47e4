package play

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/filelimit"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// CheckSockets fails before the start if the models of a run in this process need more connections
// than the limit. An http:// server speaks HTTP/1.1 with one connection per request; an https://
// server shares one over HTTP/2 if it can.
func CheckSockets(installation standalone.Config, spec sweep.Spec) error {
	if installation.Network.Remote || spec.Recording != nil {
		return nil
	}
	for _, player := range slices.Concat(spec.Agents, spec.Users) {
		if !strings.HasPrefix(player.GetModel().GetBaseUrl(), "http://") {
			continue
		}
		// A rollout asks one player at a time.
		rollouts := min(spec.Parallel, spec.Rollouts())
		if err := filelimit.Check(min(rollouts, installation.AgentGateway.ModelConnections)); err != nil {
			return process.UsageErrorf("--parallel %d: %w; or lower --parallel, or give an HTTP/2 server without TLS as --base-url h2c://HOST", spec.Parallel, err)
		}
	}
	return nil
}
