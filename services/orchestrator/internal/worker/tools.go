package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// maxKnown bounds how many tool sets are remembered as known to the gateway, and how many
	// setups as held by a tool host.
	maxKnown = 10000
	// maxTools bounds how many pairs of tool lists are remembered. One takes some 20 KB.
	maxTools = 1000
)

// sendingWait is how long a session waits while another one's setup, which is its own too, is on
// its way. A host that hangs must not hold up the sessions of others.
const sendingWait = time.Second

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

// toolSet is a list of tools with its digest.
type toolSet struct {
	digest string
	tools  []*worldv1.Tool
}

func newToolSet(tools []*worldv1.Tool) toolSet {
	if len(tools) == 0 {
		return toolSet{}
	}
	h := sha256.New()
	for _, tool := range tools {
		for _, text := range []string{tool.GetName(), tool.GetExecutionName(), tool.GetDescription(), tool.GetParametersJson()} {
			_, _ = h.Write([]byte(text))
			_, _ = h.Write([]byte{0})
		}
	}
	return toolSet{digest: hex.EncodeToString(h.Sum(nil)), tools: tools}
}

// toolSets remembers which tool sets the gateway has seen, so that most requests need not carry
// them.
type toolSets struct {
	mu    sync.Mutex
	known map[string]bool
}

// respond sends a request about a view, with the tools and with what of the view the gateway may
// not know. It returns what the gateway was shown.
func (t *toolSets) respond(
	ctx context.Context, w *Worker, set toolSet, before shown, view []*worldv1.Message, request *agentgwv1.RespondRequest,
) (*agentgwv1.RespondResponse, shown, error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.turnLimit(request.GetPlayer()))
	defer cancel()
	now, err := before.show(request, view)
	if err != nil {
		return nil, shown{}, err
	}
	request.ToolSetDigest = set.digest
	if set.digest != "" && !t.knows(set.digest) {
		request.Tools = set.tools
	}
	response, err := w.peers.Agents.Respond(ctx, request)
	if status.Code(err) == codes.FailedPrecondition && (request.Tools == nil || request.GetEarlierViewDigest() != "") {
		if request.GetEarlierViewDigest() != "" {
			now = now.missed(request)
		}
		request.Tools, request.Fresh = set.tools, false
		response, err = w.peers.Agents.Respond(ctx, request)
	}
	if err != nil {
		return nil, shown{misses: now.misses}, err
	}
	t.learn(set.digest)
	now.kept = response.GetViewKept()
	return response, now, nil
}

func (t *toolSets) knows(digest string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[digest]
}

func (t *toolSets) learn(digest string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxKnown {
		t.known = make(map[string]bool)
	}
	t.known[digest] = true
}

// roleTools are the tools of a session. They are shared: do not change them.
type roleTools map[worldv1.Role]toolSet

// heldSetups remembers which setups some tool host holds, so that most sessions can be made by
// naming theirs. Which of several hosts it is need not be remembered: another one says that it does
// not hold the setup, and gets it.
type heldSetups struct {
	mu      sync.Mutex
	digests map[string]string        // that of the tools, by that of the setup
	tools   map[string]roleTools     // by their digest
	sending map[string]chan struct{} // closed when somebody has sent the setup, by its digest
}

// create makes a session of a request that carries no setup yet: the setup goes with it if the host
// may not hold it. Rollouts of one scenario begin together: the first of them sends the setup, the
// others wait for that.
func (h *heldSetups) create(
	ctx context.Context, host toolhostv1.ToolHostServiceClient, request *toolhostv1.CreateSessionRequest, digest string, setup *setupv1.Setup,
) (*toolhostv1.CreateSessionResponse, roleTools, error) {
	sending, first := h.send(digest)
	if first {
		defer h.sent(digest, sending)
	} else if sending != nil {
		await(ctx, sending, sendingWait)
	}
	known, tools := h.get(digest)
	if request.SetupDigest, request.ToolsDigest = digest, known; known == "" {
		request.SetupDigest, request.Setup = "", setup
	}
	response, err := host.CreateSession(ctx, request)
	if status.Code(err) == codes.NotFound && request.Setup == nil {
		request.SetupDigest, request.Setup = "", setup
		response, err = host.CreateSession(ctx, request)
	}
	if err != nil {
		return nil, nil, err
	}
	if known == "" || response.GetToolsDigest() != known {
		tools = h.learn(digest, response)
	}
	return response, tools, nil
}

// send says who sends a setup that no host is known to hold: the caller, who then calls sent, or
// somebody who will have done so when the channel is closed. Of a setup that is known there is no
// channel.
func (h *heldSetups) send(digest string) (sending chan struct{}, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.digests[digest] != "" {
		return nil, false
	}
	if sending, ok := h.sending[digest]; ok {
		return sending, false
	}
	if h.sending == nil {
		h.sending = make(map[string]chan struct{})
	}
	h.sending[digest] = make(chan struct{})
	return h.sending[digest], true
}

// sent ends what send began, whatever came of it.
func (h *heldSetups) sent(digest string, sending chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sending, digest)
	close(sending)
}

// get returns the tools that follow from a setup and their digest, which is empty if no host is
// known to hold the setup.
func (h *heldSetups) get(digest string) (string, roleTools) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.digests[digest]
	return known, h.tools[known]
}

// learn remembers that a host holds a setup, and its tools: those that are known already if they
// are the same.
func (h *heldSetups) learn(setup string, response *toolhostv1.CreateSessionResponse) roleTools {
	digest := response.GetToolsDigest()
	h.mu.Lock()
	tools, ok := h.tools[digest]
	h.mu.Unlock()
	if !ok {
		tools = roleTools{
			worldv1.Role_ROLE_AGENT: newToolSet(response.GetAgentTools()),
			worldv1.Role_ROLE_USER:  newToolSet(response.GetUserTools()),
		}
	}
	if digest == "" { // a host that does not know setups by name
		return tools
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.digests == nil || len(h.digests) >= maxKnown || len(h.tools) >= maxTools {
		h.digests, h.tools = make(map[string]string), make(map[string]roleTools)
	}
	h.digests[setup], h.tools[digest] = digest, tools
	return tools
}

// await waits until a channel is closed, but not for longer than the limit.
func await(ctx context.Context, closed <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	case <-ctx.Done():
	}
}
