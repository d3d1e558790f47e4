package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func line(index int32, sender, recipient worldv1.Role, content string, active bool) *worldv1.Message {
	return &worldv1.Message{Index: index, Sender: sender, Recipient: recipient, Body: &worldv1.Message_Text{Text: content}, ConversationActive: proto.Bool(active)}
}

func setting(index int32) []*worldv1.TableVersion {
	return []*worldv1.TableVersion{{Name: world.Setting, Index: index}}
}

func TestRollout(t *testing.T) {
	s := newStage(t)
	var services atomic.Int32
	s.host.create = func(req *toolhostv1.CreateSessionRequest) (*toolhostv1.CreateSessionResponse, error) {
		services.Store(int32(req.GetHostedServices()))
		return nil, nil
	}
	s.enqueue(t, 0, "s.0")
	w := s.worker(t, nil, nil)
	run(t.Context(), t, w)
	s.ended(t, "s.0")
	want := []*busv1.LogEntry{
		{
			Start: &busv1.Start{Rollout: s.rollout("s.0"), Messages: []*worldv1.Message{line(0, user, agent, "hello", true)}, Versions: setting(0), MaxMessages: 30},
			Claim: &busv1.Claim{Worker: "w"},
		},
		{
			Turns: []*busv1.Turn{
				{Messages: []*worldv1.Message{line(1, agent, env, "line 1", true), line(2, agent, env, "line 2", true)}},
				{Messages: []*worldv1.Message{line(3, env, agent, "answer to line 1", true), line(4, env, agent, "answer to line 2", true)}, Versions: setting(3)},
			},
		},
		{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{line(5, agent, user, "line 5", true)}}}},
		{
			Turns: []*busv1.Turn{
				{Messages: []*worldv1.Message{line(6, user, env, "line 6", true)}},
				{Messages: []*worldv1.Message{line(7, env, user, "answer to line 6", false)}, Versions: setting(7), EndedAtIndex: proto.Int32(6)},
			},
			End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED},
		},
	}
	if diff := cmp.Diff(want, s.entries(t, "s.0"), protocmp.Transform(), protocmp.IgnoreFields(&busv1.LogEntry{}, "number", "previous", "digest"), protocmp.IgnoreFields(&busv1.Claim{}, "started")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if got, want := toolhostv1.HostedServices(services.Load()), s.rollout("s.0").GetHostedServices(); got != want {
		t.Errorf("hosted services of the session: got %v, want %v", got, want)
	}
	if got := len(w.heldDeliveries()); got != 1 {
		t.Errorf("jobs held before the result: got %d, want 1", got)
	}
	s.score(t, "s.0")
	s.empty(t)
}

func TestRequests(t *testing.T) {
	s := newStage(t)
	var mu sync.Mutex
	var got []*agentgwv1.RespondRequest
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, req)
		return nil, nil
	}
	s.enqueue(t, 0, "s.0")
	run(t.Context(), t, s.worker(t, nil, nil))
	s.ended(t, "s.0")
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 3 {
		t.Fatalf("requests to the gateway: got %d, want 3", len(got))
	}
	for i, want := range []struct {
		index, turn int32
		role        worldv1.Role
		player      string
		view        int
		tools       bool
	}{{1, 0, agent, "a", 1, true}, {5, 1, agent, "a", 5, true}, {6, 0, user, "u", 2, false}} {
		req := got[i]
		if req.GetRolloutId() != "s.0" || req.GetIndex() != want.index || req.GetTurn() != want.turn || req.GetRole() != want.role ||
			req.GetPlayer().GetName() != want.player || len(req.GetView()) != want.view || len(req.GetTools()) > 0 ||
			(req.GetToolSetDigest() != "") != want.tools {
			t.Errorf("request %d: got %v, want %+v", i, req, want)
		}
	}
}

// end plays one rollout and returns how it ended.
func (s *stage) end(t *testing.T, attempts int) *busv1.End {
	t.Helper()
	s.enqueue(t, 0, "s.0")
	run(t.Context(), t, s.worker(t, func(cfg *Config) { cfg.Attempts = attempts }, nil))
	return s.ended(t, "s.0")["s.0"].End()
}

type (
	respondFunc = func(context.Context, *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error)
	createFunc  = func(*toolhostv1.CreateSessionRequest) (*toolhostv1.CreateSessionResponse, error)
	executeFunc = func(*toolhostv1.ExecuteRequest) (*toolhostv1.ExecuteResponse, error)
)

func answers(response *agentgwv1.RespondResponse, err error) respondFunc {
	return func(context.Context, *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		return response, err
	}
}

func TestEnds(t *testing.T) {
	const (
		model          = busv1.EndReason_END_REASON_MODEL_FAILURE
		infrastructure = busv1.EndReason_END_REASON_INFRASTRUCTURE
	)
	says := func(messages ...*worldv1.Message) respondFunc {
		return answers(&agentgwv1.RespondResponse{Messages: messages}, nil)
	}
	fails := func(class agentgwv1.FailureClass) respondFunc {
		return answers(&agentgwv1.RespondResponse{Failure: &agentgwv1.Failure{Class: class, ExceptionType: "KeyError", Detail: "'x'"}}, nil)
	}
	executes := func(response *toolhostv1.ExecuteResponse, err error) executeFunc {
		return func(*toolhostv1.ExecuteRequest) (*toolhostv1.ExecuteResponse, error) { return response, err }
	}
	refuses := func(code codes.Code) createFunc {
		return func(*toolhostv1.CreateSessionRequest) (*toolhostv1.CreateSessionResponse, error) {
			return nil, status.Error(code, "no session")
		}
	}
	const internal = agentgwv1.FailureClass_FAILURE_CLASS_INTERNAL
	unreachable, err := status.New(codes.Aborted, "no route").WithDetails(&agentgwv1.Failure{Class: agentgwv1.FailureClass_FAILURE_CLASS_NETWORK})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		attempts int
		respond  respondFunc
		create   createFunc
		execute  executeFunc
		want     *busv1.End
		entries  int
	}{
		{"model failure", 5, fails(agentgwv1.FailureClass_FAILURE_CLASS_MODEL), nil, nil, &busv1.End{Reason: model, FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_MODEL, ExceptionType: "KeyError", Detail: "'x'"}, 2},
		{"provider failure", 5, fails(agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER), nil, nil, &busv1.End{Reason: infrastructure, FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER, ExceptionType: "KeyError", Detail: "'x'"}, 2},
		{"environment failure", 5, nil, nil, executes(&toolhostv1.ExecuteResponse{Exception: "ValueError: no: such"}, nil), &busv1.End{Reason: model, FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_MODEL, ExceptionType: "ValueError", Detail: "ValueError: no: such"}, 2},
		{"environment failure without text", 5, nil, nil, executes(&toolhostv1.ExecuteResponse{Exception: "KeyError"}, nil), &busv1.End{Reason: model, FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_MODEL, ExceptionType: "KeyError", Detail: "KeyError"}, 2},
		{"budget", 5, answers(nil, status.Error(codes.ResourceExhausted, "no budget")), nil, nil, &busv1.End{Reason: infrastructure, FailureClass: internal, Detail: "respond as AGENT: no budget"}, 2},
		{"quota", 5, nil, nil, executes(nil, status.Error(codes.ResourceExhausted, "too many calls")), &busv1.End{Reason: model, FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_MODEL, ExceptionType: "SessionQuotaExceeded", Detail: "too many calls"}, 2},
		{"last attempt", 1, answers(nil, status.Error(codes.Unavailable, "down")), nil, nil, &busv1.End{Reason: infrastructure, FailureClass: internal, Detail: "respond as AGENT: down"}, 2},
		{"network", 1, answers(nil, unreachable.Err()), nil, nil, &busv1.End{Reason: infrastructure, FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_NETWORK, Detail: "respond as AGENT: no route"}, 2},
		{"setup refused", 5, nil, refuses(codes.InvalidArgument), nil, &busv1.End{Reason: infrastructure, FailureClass: internal, Detail: "create session: no session"}, 1},
		{"tool host down at the last attempt", 1, nil, refuses(codes.Unavailable), nil, &busv1.End{Reason: infrastructure, FailureClass: internal, Detail: "create session: no session"}, 1},
		{"nothing said", 1, says(), nil, nil, &busv1.End{Reason: infrastructure, FailureClass: internal, Detail: "respond as AGENT: no message in the answer"}, 2},
		{"wrong index", 1, says(line(5, agent, user, "", true)), nil, nil, &busv1.End{Reason: infrastructure, FailureClass: internal, Detail: "rollout s.0: broken rollout log: message index 5, expected 1"}, 2},
		{"wrong index of an answer", 1, nil, nil, executes(&toolhostv1.ExecuteResponse{Answers: []*worldv1.Message{line(9, env, agent, "", true)}}, nil), &busv1.End{Reason: infrastructure, FailureClass: internal, Detail: "rollout s.0: broken rollout log: message index 9, expected 3"}, 2},
		{"to somebody whom nobody plays", 5, says(line(1, agent, worldv1.Role_ROLE_SYSTEM, "", true)), nil, nil, &busv1.End{Reason: infrastructure, FailureClass: internal, Detail: "nobody can answer as SYSTEM"}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			s.gateway.respond, s.host.create, s.host.execute = test.respond, test.create, test.execute
			if diff := cmp.Diff(test.want, s.end(t, test.attempts), protocmp.Transform()); diff != "" {
				t.Errorf("end (-want +got):\n%s", diff)
			}
			if got := len(s.entries(t, "s.0")); got != test.entries {
				t.Errorf("entries: got %d, want %d", got, test.entries)
			}
		})
	}
}

func TestUnavailableForAWhile(t *testing.T) {
	s := newStage(t)
	want := s.calm(t)
	var asked, created atomic.Int32
	s.gateway.respond = func(context.Context, *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		if asked.Add(1) == 2 {
			return nil, status.Error(codes.Unavailable, "restarting")
		}
		return nil, nil
	}
	s.host.create = func(*toolhostv1.CreateSessionRequest) (*toolhostv1.CreateSessionResponse, error) {
		created.Add(1)
		return nil, nil
	}
	s.enqueue(t, 0, "s.0")
	run(t.Context(), t, s.worker(t, nil, nil))
	checkMessages(t, s.ended(t, "s.0")["s.0"], want, 2)
	if got := asked.Load(); got != 4 {
		t.Errorf("requests to the gateway: got %d, want 4: three turns and one that failed", got)
	}
}

// A failure that stays is tried as often as the configuration says.
func TestAttempts(t *testing.T) {
	s := newStage(t)
	var asked atomic.Int32
	s.gateway.respond = func(context.Context, *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		asked.Add(1)
		return nil, errors.New("broken")
	}
	end := s.end(t, 2)
	if end.GetReason() != busv1.EndReason_END_REASON_INFRASTRUCTURE {
		t.Errorf("end: got %v, want %v", end, busv1.EndReason_END_REASON_INFRASTRUCTURE)
	}
	if got := asked.Load(); got != 2 {
		t.Errorf("requests to the gateway: got %d, want 2", got)
	}
}

func TestCancellation(t *testing.T) {
	s := newStage(t)
	var w *Worker
	s.host.execute = func(req *toolhostv1.ExecuteRequest) (*toolhostv1.ExecuteResponse, error) {
		if req.GetSessionId() != "s.0" {
			return nil, nil
		}
		if err := s.CancelSweep(context.Background(), "s", 0); err != nil {
			return nil, err
		}
		until(t, "the worker knows", func() bool { return bus.Cancelled(w.control("s"), 0) })
		return nil, nil
	}
	s.enqueue(t, 0, "s.0", "other.0")
	w = s.worker(t, nil, nil)
	stop := run(t.Context(), t, w)
	states := s.ended(t, "s.0", "other.0")
	if got := states["s.0"].End().GetReason(); got != busv1.EndReason_END_REASON_CANCELLED {
		t.Errorf("end of the cancelled sweep's rollout: got %v, want %v", got, busv1.EndReason_END_REASON_CANCELLED)
	}
	if got := len(states["s.0"].Messages()); got != 5 {
		t.Errorf("messages: got %d, want 5: the running turn ends, no other begins", got)
	}
	if got := states["other.0"].End().GetReason(); got != busv1.EndReason_END_REASON_FINISHED {
		t.Errorf("end of the other sweep's rollout: got %v, want %v", got, busv1.EndReason_END_REASON_FINISHED)
	}
	stop()
}

// What has not begun when its sweep is cancelled ends without a turn.
func TestCancellationBeforeTheStart(t *testing.T) {
	s := newStage(t)
	if err := s.CancelSweep(t.Context(), "s", 0); err != nil {
		t.Fatal(err)
	}
	w := s.worker(t, nil, nil)
	run(t.Context(), t, w)
	until(t, "the worker knows", func() bool { return bus.Cancelled(w.control("s"), 0) })
	s.enqueue(t, 0, "s.0")
	state := s.ended(t, "s.0")["s.0"]
	if got := state.End().GetReason(); got != busv1.EndReason_END_REASON_CANCELLED || len(state.Messages()) != 1 {
		t.Errorf("end: got %v after %d messages, want %v after 1", got, len(state.Messages()), busv1.EndReason_END_REASON_CANCELLED)
	}
}

func TestParallelLimitOfASweep(t *testing.T) {
	s := newStage(t)
	var mu sync.Mutex
	inside, most := make(map[string]int), make(map[string]int)
	gate := make(chan struct{})
	s.gateway.respond = func(ctx context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		sweep := req.GetRolloutId()[:1]
		mu.Lock()
		inside[sweep]++
		most[sweep] = max(most[sweep], inside[sweep])
		mu.Unlock()
		defer func() {
			mu.Lock()
			inside[sweep]--
			mu.Unlock()
		}()
		select {
		case <-gate:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	count := func(sweep string) int {
		mu.Lock()
		defer mu.Unlock()
		return inside[sweep]
	}
	s.enqueue(t, 2, "a.0", "a.1", "a.2", "a.3", "a.4")
	s.enqueue(t, 0, "b.0", "b.1", "b.2", "b.3")
	run(t.Context(), t, s.worker(t, func(cfg *Config) { cfg.Parallel = 16 }, nil))
	// The queue is in order: when all of b are inside, the worker has got all of a.
	until(t, "two of a and four of b play", func() bool { return count("a") == 2 && count("b") == 4 })
	close(gate)
	s.ended(t, "a.0", "a.1", "a.2", "a.3", "a.4", "b.0", "b.1", "b.2", "b.3")
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(map[string]int{"a": 2, "b": 4}, most); diff != "" {
		t.Errorf("rollouts at once (-want +got):\n%s", diff)
	}
}
