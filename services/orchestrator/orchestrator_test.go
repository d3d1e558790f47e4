package orchestrator

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// talker lets agent and user talk with each other.
type talker struct {
	agentgwv1.UnimplementedAgentGatewayServiceServer
}

func (talker) Respond(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	other := worldv1.Role_ROLE_USER + worldv1.Role_ROLE_AGENT - req.GetRole()
	return &agentgwv1.RespondResponse{Messages: []*worldv1.Message{
		{Index: req.GetIndex(), Sender: req.GetRole(), Recipient: other, Body: &worldv1.Message_Text{Text: req.GetPlayer().GetName()}},
	}}, nil
}

// judge gives a rollout that has ended a result.
func (i *installation) judge(id string, _ uint64, entry *busv1.LogEntry) error {
	if entry.GetEnd() == nil {
		return nil
	}
	_, err := i.Bus().PublishResult(i.ctx, &busv1.Result{Rollout: &busv1.Rollout{Id: id}, End: entry.GetEnd()})
	return err
}

// TestRun plays a sweep over real connections, with a judge that gives every rollout that has ended
// a result.
func TestRun(t *testing.T) {
	i := install(t)
	i.serve(t, rpc.AgentGateway, func(r grpc.ServiceRegistrar) { agentgwv1.RegisterAgentGatewayServiceServer(r, talker{}) })
	i.tasks.Go(func() {
		if err := Run(i.ctx, DefaultConfig(), i.Node, i.Node.Bus().Orchestrator()); err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
	})
	for shard := range i.Bus().Shards() {
		i.tasks.Go(func() {
			if err := i.Bus().FollowLog(i.ctx, shard, i.judge); err != nil {
				t.Errorf("judge: got %v, want nil", err)
			}
		})
	}
	sweep := asking(spec("one", "two"))
	sweep.Trials = 2
	i.create(t, "s", sweep)
	next := i.watch(t)
	seen := make(map[string]bool)
	for event := next(); event != ""; event = next() {
		seen[event] = true
	}
	for _, want := range []string{"s.0", "s.1", "s.2", "s.3", "end, cancelled false"} {
		if !seen[want] {
			t.Errorf("events: got %v, want %q among them", seen, want)
		}
	}
	trajectory, err := i.client.GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.3"})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, m := range trajectory.GetMessages() {
		said = append(said, messagetext.Content(m))
	}
	if got := fmt.Sprint(said, trajectory.GetEnd().GetReason()); got != "[hello a u] END_REASON_MESSAGE_LIMIT" {
		t.Errorf("trajectory: got %s, want [hello a u] END_REASON_MESSAGE_LIMIT", got)
	}
}

// asking returns a sweep whose players are plug-ins, so that the gateway is asked for each turn.
func asking(s *orchestratorv1.SweepSpec) *orchestratorv1.SweepSpec {
	for _, player := range append(s.GetAgents(), s.GetUsers()...) {
		player.Kind = &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{Address: "localhost:1"}}
	}
	return s
}

// silent lets no player answer, and says which rollout asks.
type silent struct {
	talker
	asked chan string
}

func (s silent) Respond(ctx context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	s.asked <- req.GetRolloutId()
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestParallelTakesEffect lets a sweep go on with more rollouts at once while the same process
// runs, and all of them are in the queue with the first number.
func TestParallelTakesEffect(t *testing.T) {
	i := install(t)
	gateway := silent{asked: make(chan string, 5)}
	i.serve(t, rpc.AgentGateway, func(r grpc.ServiceRegistrar) { agentgwv1.RegisterAgentGatewayServiceServer(r, gateway) })
	i.tasks.Go(func() {
		if err := Run(i.ctx, DefaultConfig(), i.Node, i.Node.Bus().Orchestrator()); err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
	})
	playing := 0
	for round, parallel := range []int{1, 3} {
		sweep := asking(spec("one", "two", "three", "four", "five"))
		sweep.Parallel = int32(parallel)
		if _, err := i.client.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{SweepId: "s", Spec: sweep, Round: int32(round)}); err != nil {
			t.Fatal(err)
		}
		for ctx := within(t); playing < parallel; playing++ {
			select {
			case <-gateway.asked:
			case <-ctx.Done():
				t.Fatalf("%d at once: got %d that play, want as many", parallel, playing)
			}
		}
	}
	if more := len(gateway.asked); more > 0 {
		t.Errorf("3 at once: got %d more that play, want none", more)
	}
}

// TestRunWithoutWorkers queues a sweep on an orchestrator that plays nothing: it answers, and the
// jobs stay for whoever plays.
func TestRunWithoutWorkers(t *testing.T) {
	i := install(t)
	cfg := DefaultConfig()
	cfg.Parallel = 0
	i.tasks.Go(func() {
		if err := Run(i.ctx, cfg, i.Node, i.Node.Bus().Orchestrator()); err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
	})
	if created := i.create(t, "s", spec("one")); created.GetTotal() != 1 || created.GetDone() != 0 {
		t.Errorf("CreateSweep: got %v, want 1 rollout of which none is done", created)
	}
	queue, err := i.Bus().OpenQueue(within(t), "s", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	deliveries, err := queue.Fetch(within(t), 1, patience)
	if err != nil {
		t.Fatal(err)
	}
	if len(deliveries) != 1 || deliveries[0].Rollout.GetId() != "s.0" || deliveries[0].Attempt != 1 {
		t.Errorf("queue: got %+v, want s.0, delivered for the first time", deliveries)
	}
}

func TestConfigValidate(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Errorf("Validate of the default: got %v, want nil", err)
	}
	tests := []struct {
		flag   string
		change func(*Config)
	}{
		{"--orchestrator-parallel", func(c *Config) { c.Parallel = -1 }},
		{"--orchestrator-parallel", func(c *Config) { c.Parallel = 100001 }},
		{"--orchestrator-lease", func(c *Config) { c.Lease = time.Millisecond }},
		{"--orchestrator-respond-timeout", func(c *Config) { c.RespondTimeout = 0 }},
		{"--orchestrator-execute-timeout", func(c *Config) { c.ExecuteTimeout = -1 }},
		{"--orchestrator-attempts", func(c *Config) { c.Attempts = 0 }},
	}
	for _, test := range tests {
		cfg := DefaultConfig()
		test.change(&cfg)
		if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), test.flag+": ") {
			t.Errorf("Validate(%+v): got %v, want an error about %s", cfg, err, test.flag)
		}
		if err := Run(t.Context(), cfg, nil, bus.Orchestrator{}); err == nil {
			t.Errorf("Run(%+v): got nil, want an error", cfg)
		}
	}
}
