package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// maxKnown bounds how many tool sets are remembered as known to the gateway.
const maxKnown = 10000

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

// toolSets remembers which tool sets the gateway has seen, so that most requests need not carry them.
type toolSets struct {
	mu    sync.Mutex
	known map[string]bool
}

// respond sends a request, with the tools if the gateway may not know them.
func (t *toolSets) respond(ctx context.Context, w *Worker, set toolSet, request *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.RespondTimeout)
	defer cancel()
	request.ToolSetDigest = set.digest
	if set.digest != "" && !t.knows(set.digest) {
		request.Tools = set.tools
	}
	response, err := w.peers.Agents.Respond(ctx, request)
	if status.Code(err) == codes.FailedPrecondition && request.Tools == nil {
		request.Tools, request.Fresh = set.tools, false
		response, err = w.peers.Agents.Respond(ctx, request)
	}
	if err == nil {
		t.learn(set.digest)
	}
	return response, err
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
