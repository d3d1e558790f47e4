package worker

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// maxTools bounds the cache of pairs of tool lists. One takes about 20 KB.
const maxTools = 1000

// minTurnSlack is the minimal time of a turn beyond the player's timeout. The gateway uses it to
// wait for the budget of the player's provider, and to retry what fails at once. It does not retry
// what fails slowly within the turn.
const minTurnSlack = time.Minute

// turnLimit returns the timeout of a player's turn: the configured one, extended so that an answer
// within the player's own timeout fits.
func (c Config) turnLimit(player *agentgwv1.Player) time.Duration {
	timeout := time.Duration(max(player.GetModel().GetTimeoutMs(), player.GetPlugin().GetTimeoutMs())) * time.Millisecond
	if timeout == 0 {
		return c.RespondTimeout
	}
	return max(c.RespondTimeout, timeout+max(minTurnSlack, timeout/5))
}

// toolSet is a list of tools that is stored on the bus under its digest. The zero value has no
// tools.
type toolSet struct {
	digest string
	tools  []*worldv1.Tool
	index  *turn.Tools
}

// turnTools returns the tools of a role's turn. Without any, every name counts as a tool.
func (s toolSet) turnTools() *turn.Tools {
	if s.index == nil {
		return turn.AnyTools()
	}
	return s.index
}

// roleTools are the tools of a session. Rollouts share them, so they must not be changed.
type roleTools map[worldv1.Role]toolSet

// useTools sets the tools of the rollout's session. The first rollout in a round of its sweep
// stores them, so that they are retained as long as its setup.
func (r *runner) useTools(ctx context.Context, session *toolhostv1.CreateSessionResponse) error {
	key := fmt.Sprintf("%s.%d.%s", r.rollout.GetSweepId(), r.delivery.Round, session.GetToolsDigest())
	if tools, ok := r.storedTools.Get(key); ok {
		r.tools = tools
		return nil
	}
	// Rollouts of one scenario begin together: one of them stores the tools.
	tools, err, _ := r.storingTools.Do(key, func() (any, error) { return r.storeTools(ctx, session) })
	if err != nil {
		return err
	}
	r.tools, _ = tools.(roleTools) // its only type
	r.storedTools.Add(key, r.tools)
	return nil
}

// storeTools stores the tools of a session on the bus.
func (r *runner) storeTools(ctx context.Context, session *toolhostv1.CreateSessionResponse) (roleTools, error) {
	stored := make(roleTools, 2)
	for role, tools := range map[worldv1.Role][]*worldv1.Tool{
		worldv1.Role_ROLE_AGENT: session.GetAgentTools(), worldv1.Role_ROLE_USER: session.GetUserTools(),
	} {
		if len(tools) == 0 {
			continue
		}
		digest, err := r.peers.Bus.PutTools(ctx, &agentgwv1.ToolSet{Tools: tools})
		if err != nil {
			return nil, err
		}
		stored[role] = toolSet{digest: digest, tools: tools, index: turn.NewTools(tools)}
	}
	return stored, nil
}

// retryWithDocuments makes a call whose peer reads documents of the rollout from the bus. It stores
// lost documents again from this process's cache.
func (r *runner) retryWithDocuments(ctx context.Context, call func() error) error {
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
