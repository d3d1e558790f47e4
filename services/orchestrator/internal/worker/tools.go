package worker

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// maxTools bounds how many pairs of tool lists rollouts share. One takes some 20 KB.
const maxTools = 1000

// leastSlack is what a turn gets at least beyond the time that its player may take for an answer.
// In it the gateway waits for the budget of the player's provider, which takes from the time for
// the answer only what is missing of a minute, and asks again after what failed at once. What fails
// slowly is not asked again in the turn: it costs one request that takes its whole time.
const leastSlack = time.Minute

// turnLimit is how long a turn of a player may take: as long as any, and so long that an answer
// fits into it that takes all the time that the player itself was given.
func (c Config) turnLimit(player *agentgwv1.Player) time.Duration {
	asked := time.Duration(max(player.GetModel().GetTimeoutMs(), player.GetPlugin().GetTimeoutMs())) * time.Millisecond
	if asked == 0 {
		return c.RespondTimeout
	}
	return max(c.RespondTimeout, asked+max(leastSlack, asked/5))
}

// toolSet is a list of tools that is stored on the bus under its digest. Without tools there is
// none.
type toolSet struct {
	digest string
	tools  []*worldv1.Tool
}

// roleTools are the tools of a session. Rollouts share them: do not change them.
type roleTools map[worldv1.Role]toolSet

// useTools gives the rollout the tools of its session. The first rollout that has them in a round
// of its sweep stores them, so that they are kept as long as its setup.
func (r *runner) useTools(ctx context.Context, session *toolhostv1.CreateSessionResponse) error {
	key := fmt.Sprintf("%s.%d.%s", r.rollout.GetSweepId(), r.delivery.Round, session.GetToolsDigest())
	if tools, ok := r.stored.Get(key); ok && session.GetToolsDigest() != "" {
		r.tools = tools
		return nil
	}
	r.tools = make(roleTools, 2)
	for role, tools := range map[worldv1.Role][]*worldv1.Tool{
		worldv1.Role_ROLE_AGENT: session.GetAgentTools(), worldv1.Role_ROLE_USER: session.GetUserTools(),
	} {
		if len(tools) == 0 {
			continue
		}
		digest, err := r.peers.Bus.PutTools(ctx, &agentgwv1.ToolSet{Tools: tools})
		if err != nil {
			return err
		}
		r.tools[role] = toolSet{digest: digest, tools: tools}
	}
	r.stored.Add(key, r.tools)
	return nil
}

// withDocuments makes a call that needs documents of the rollout which its peer reads from the bus.
// Those that the bus has lost are stored again from what this process remembers.
func (r *runner) withDocuments(ctx context.Context, call func() error) error {
	err := call()
	if status.Code(err) != codes.NotFound {
		return err
	}
	if _, err := r.peers.Bus.PutSetup(ctx, r.setup); err != nil {
		return err
	}
	for _, set := range r.tools {
		if _, err := r.peers.Bus.PutTools(ctx, &agentgwv1.ToolSet{Tools: set.tools}); err != nil {
			return err
		}
	}
	return call()
}
