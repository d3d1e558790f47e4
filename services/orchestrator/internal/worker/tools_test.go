package worker

import (
	"context"
	"fmt"
	"strconv"
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

// keeper is a tool host that keeps setups. Its tool is named after its version.
type keeper struct {
	mu      sync.Mutex
	version string
	digest  string // of the one setup that there is, once the host holds it
	asked   []string
}

// create answers as a tool host does, and notes what it was sent.
func (k *keeper) create(req *toolhostv1.CreateSessionRequest) (*toolhostv1.CreateSessionResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, fmt.Sprintf("%s whole %t named %t tools %q", req.GetSessionId(), req.GetSetup() != nil, req.GetSetupDigest() != "", req.GetToolsDigest()))
	switch {
	case req.GetSetup() != nil && req.GetSetupDigest() != "":
		return nil, status.Error(codes.InvalidArgument, "both")
	case req.GetSetup() != nil:
		k.digest = "held"
	case k.digest == "":
		return nil, status.Error(codes.NotFound, "no such setup")
	}
	response := &toolhostv1.CreateSessionResponse{Versions: setting(0), ToolsDigest: k.version}
	if req.GetToolsDigest() != k.version {
		response.AgentTools = []*worldv1.Tool{{Name: k.version, ExecutionName: "tool", ParametersJson: "{}"}}
	}
	return response, nil
}

// restart replaces the host by one of a version that holds nothing, or what the old one held.
func (k *keeper) restart(version string, keeps bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.version = version; !keeps {
		k.digest = ""
	}
}

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

// TestSetupIsNamed plays rollouts of one scenario one after the other, on a tool host that is
// replaced meanwhile.
func TestSetupIsNamed(t *testing.T) {
	s := newStage(t)
	host := &keeper{version: "v1"}
	s.host.create = host.create
	var mu sync.Mutex
	tools := make(map[string]string) // that the gateway was last sent, by tool set
	seen := make(map[string]string)  // those of each rollout's agent
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		mu.Lock()
		defer mu.Unlock()
		if digest := req.GetToolSetDigest(); req.GetRole() == agent {
			if len(req.GetTools()) > 0 {
				tools[digest] = req.GetTools()[0].GetName()
			}
			seen[req.GetRolloutId()] = tools[digest]
		}
		return nil, nil
	}
	run(t.Context(), t, s.worker(t, nil, nil))
	s.play(t, "s.0")
	s.play(t, "s.1")
	host.restart("v1", false)
	s.play(t, "s.2")
	s.play(t, "s.3")
	host.restart("v2", true)
	s.play(t, "s.4")
	s.play(t, "s.5")
	host.restart("v1", false)
	s.play(t, "s.6")
	want := []string{
		`s.0 whole true named false tools ""`,
		`s.1 whole false named true tools "v1"`,
		`s.2 whole false named true tools "v1"`, // refused
		`s.2 whole true named false tools "v1"`,
		`s.3 whole false named true tools "v1"`,
		`s.4 whole false named true tools "v1"`, // gets the new ones
		`s.5 whole false named true tools "v2"`,
		`s.6 whole false named true tools "v2"`, // refused
		`s.6 whole true named false tools "v2"`,
	}
	host.mu.Lock()
	defer host.mu.Unlock()
	if diff := cmp.Diff(want, host.asked); diff != "" {
		t.Errorf("requests for sessions (-want +got):\n%s", diff)
	}
	wantTools := map[string]string{"s.0": "v1", "s.1": "v1", "s.2": "v1", "s.3": "v1", "s.4": "v2", "s.5": "v2", "s.6": "v1"}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(wantTools, seen); diff != "" {
		t.Errorf("agents' tools (-want +got):\n%s", diff)
	}
}

// TestSetupIsSentByTheFirst plays rollouts of one scenario at once.
func TestSetupIsSentByTheFirst(t *testing.T) {
	s := newStage(t)
	host := &keeper{version: "v1"}
	s.host.create = host.create
	s.enqueue(t, 0, "s.0", "s.1", "s.2", "s.3", "s.4", "s.5")
	run(t.Context(), t, s.worker(t, func(cfg *Config) { cfg.Parallel = 32 }, nil))
	s.ended(t, "s.0", "s.1", "s.2", "s.3", "s.4", "s.5")
	host.mu.Lock()
	defer host.mu.Unlock()
	whole := 0
	for _, asked := range host.asked {
		var id string
		var sent bool
		if _, err := fmt.Sscanf(asked, "%s whole %t", &id, &sent); err != nil {
			t.Fatal(err)
		}
		if sent {
			whole++
		}
	}
	if whole != 1 || len(host.asked) != 6 {
		t.Errorf("requests for sessions: got %d with the setup of %q, want 1 of 6", whole, host.asked)
	}
}

// TestSetupDoesNotArrive lets the host of the first rollout hang: the second one does not wait for
// it for long.
func TestSetupDoesNotArrive(t *testing.T) {
	s := newStage(t)
	came := make(chan string, 2)
	gate := make(chan struct{})
	release := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(release)
	s.host.create = func(req *toolhostv1.CreateSessionRequest) (*toolhostv1.CreateSessionResponse, error) {
		if req.GetSetup() == nil {
			return nil, status.Error(codes.InvalidArgument, "named")
		}
		came <- req.GetSessionId()
		if req.GetSessionId() == "s.0" {
			<-gate
		}
		return nil, nil // without a digest of the tools, as hosts of before answer
	}
	run(t.Context(), t, s.worker(t, func(cfg *Config) { cfg.Parallel = 32 }, nil))
	s.enqueue(t, 0, "s.0")
	if got := <-came; got != "s.0" {
		t.Fatalf("first session: got %s, want s.0", got)
	}
	s.play(t, "s.1")
	release()
	s.ended(t, "s.0")
}

// TestRememberedToolsAreBounded learns more than may be remembered.
func TestRememberedToolsAreBounded(t *testing.T) {
	var setups heldSetups
	for i := range maxTools + 1 {
		setups.learn("setup "+strconv.Itoa(i), &toolhostv1.CreateSessionResponse{ToolsDigest: "tools " + strconv.Itoa(i)})
	}
	for i := range maxKnown + 1 {
		setups.learn("other "+strconv.Itoa(i), &toolhostv1.CreateSessionResponse{ToolsDigest: "same"})
	}
	if len(setups.digests) > maxKnown || len(setups.tools) > maxTools {
		t.Errorf("remembered: got %d setups with %d tools, want at most %d with %d", len(setups.digests), len(setups.tools), maxKnown, maxTools)
	}
	for setup := range setups.digests {
		if known, tools := setups.get(setup); known == "" || tools == nil {
			t.Errorf("tools of %s: got %q, %v, want those that were learned", setup, known, tools)
		}
	}
}
