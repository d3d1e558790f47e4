package worker

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// play lets a worker play rollouts together and checks that they finish.
func (s *stage) play(t *testing.T, ids ...string) {
	t.Helper()
	s.enqueue(t, 0, ids...)
	for id, state := range s.ended(t, ids...) {
		if got := state.End(); got.GetReason() != busv1.EndReason_END_REASON_FINISHED {
			t.Errorf("end of %s: got %v, want it finished", id, got)
		}
	}
}

// TestTurnLimit shows how long the gateway is given for a turn: as the worker is configured, and
// more for players that may take longer.
func TestTurnLimit(t *testing.T) {
	model := func(timeout time.Duration) *agentgwv1.Player {
		return &agentgwv1.Player{Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{TimeoutMs: timeout.Milliseconds()}}}
	}
	plugin := func(timeout time.Duration) *agentgwv1.Player {
		return &agentgwv1.Player{Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{TimeoutMs: timeout.Milliseconds()}}}
	}
	for name, test := range map[string]struct {
		player *agentgwv1.Player
		want   time.Duration
	}{
		"no model":                      {&agentgwv1.Player{}, 2 * time.Minute},
		"a model without a time":        {model(0), 2 * time.Minute},
		"a model that has to be fast":   {model(30 * time.Second), 2 * time.Minute},
		"the gateway's own time, given": {model(100 * time.Second), 160 * time.Second},
		"a slow model":                  {model(10 * time.Minute), 12 * time.Minute},
		"the slowest model":             {model(time.Hour), 72 * time.Minute},
		"a person":                      {plugin(time.Hour), 72 * time.Minute},
		"a plug-in without a time":      {plugin(0), 2 * time.Minute},
	} {
		if got := (Config{RespondTimeout: 2 * time.Minute}).turnLimit(test.player); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
	if got := (Config{RespondTimeout: time.Hour}).turnLimit(model(10 * time.Minute)); got != time.Hour {
		t.Errorf("a slow model where all may take long: got %s, want %s", got, time.Hour)
	}
}

// TestSlowModel asks a model that may take longer than the worker lets turns take: the gateway has
// that time.
func TestSlowModel(t *testing.T) {
	s := newStage(t)
	var mu sync.Mutex
	least := make(map[worldv1.Role]time.Duration)
	s.gateway.respond = func(ctx context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		deadline, _ := ctx.Deadline()
		mu.Lock()
		defer mu.Unlock()
		if left := time.Until(deadline); least[req.GetRole()] == 0 || left < least[req.GetRole()] {
			least[req.GetRole()] = left
		}
		return nil, nil
	}
	slow := s.rollout("s.0")
	slow.Agent.Kind = &agentgwv1.Player_Model{Model: &agentgwv1.Model{TimeoutMs: time.Hour.Milliseconds()}}
	if err := s.Enqueue(t.Context(), []*busv1.Job{{Rollout: slow}}); err != nil {
		t.Fatal(err)
	}
	run(t.Context(), t, s.worker(t, nil, nil))
	s.ended(t, "s.0")
	mu.Lock()
	defer mu.Unlock()
	if got := least[agent]; got < time.Hour {
		t.Errorf("time for a turn of a model that may take an hour: got %s", got)
	}
	if got := least[user]; got > patience {
		t.Errorf("time for a turn of another player: got %s, want at most %s", got, patience)
	}
}

// TestToolsOfTheSession plays rollouts on a tool host that is replaced by one with other tools:
// each request names its setup, and each agent has the tools that its session has.
func TestToolsOfTheSession(t *testing.T) {
	s := newStage(t)
	var mu sync.Mutex
	version := "v1"
	var asked []string
	s.host.create = func(req *toolhostv1.CreateSessionRequest) (*toolhostv1.CreateSessionResponse, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, fmt.Sprintf("%s whole %t named %t", req.GetSessionId(), req.GetSetup() != nil, req.GetSetupDigest() == s.rollout("s.0").GetSetupDigest()))
		return &toolhostv1.CreateSessionResponse{
			Versions: setting(0), ToolsDigest: version, AgentTools: []*worldv1.Tool{{Name: version, ExecutionName: "tool", ParametersJson: "{}"}},
		}, nil
	}
	seen := make(map[string]string) // the tools of each rollout's agent
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		mu.Lock()
		defer mu.Unlock()
		if req.GetRole() == agent {
			set, err := s.Tools(t.Context(), req.GetToolSetDigest())
			if err != nil || len(req.GetTools()) > 0 {
				return nil, err
			}
			seen[req.GetRolloutId()] = set.GetTools()[0].GetName()
		}
		return nil, nil
	}
	run(t.Context(), t, s.worker(t, nil, nil))
	s.play(t, "s.0")
	s.play(t, "s.1")
	mu.Lock()
	version = "v2"
	mu.Unlock()
	s.play(t, "s.2")
	mu.Lock()
	defer mu.Unlock()
	want := []string{"s.0 whole false named true", "s.1 whole false named true", "s.2 whole false named true"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests for sessions (-want +got):\n%s", diff)
	}
	tools := map[string]string{"s.0": "v1", "s.1": "v1", "s.2": "v2"}
	if diff := cmp.Diff(tools, seen); diff != "" {
		t.Errorf("agents' tools (-want +got):\n%s", diff)
	}
}

// TestDocumentsAreLost lets the tool host and the gateway miss what the bus should have: it is
// there when they are asked again.
func TestDocumentsAreLost(t *testing.T) {
	s := newStage(t)
	stream, err := s.js.Stream(t.Context(), "SETUP")
	if err != nil {
		t.Fatal(err)
	}
	// miss loses the documents once, and then reports whether one is there.
	var mu sync.Mutex
	lost := make(map[string]bool)
	miss := func(prefix, digest string) error {
		mu.Lock()
		defer mu.Unlock()
		if digest != "" && !lost[prefix] {
			lost[prefix] = true
			if err := stream.Purge(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if _, err := stream.GetLastMsgForSubject(t.Context(), prefix+digest); digest != "" && err != nil {
			return status.Error(codes.NotFound, err.Error())
		}
		return nil
	}
	s.host.create = func(req *toolhostv1.CreateSessionRequest) (*toolhostv1.CreateSessionResponse, error) {
		return nil, miss("setup.", req.GetSetupDigest())
	}
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		return nil, miss("tools.", req.GetToolSetDigest())
	}
	run(t.Context(), t, s.worker(t, nil, nil))
	s.play(t, "s.0")
	if !lost["setup."] || !lost["tools."] {
		t.Errorf("lost: got %v, want setups and tools", lost)
	}
}
