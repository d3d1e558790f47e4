package worker

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// answer says a text to whoever did not ask.
func answer(req *agentgwv1.RespondRequest, text string) *agentgwv1.RespondResponse {
	recipient := user
	if req.GetRole() == user {
		recipient = agent
	}
	return &agentgwv1.RespondResponse{Messages: []*worldv1.Message{{Index: req.GetIndex(), Sender: req.GetRole(), Recipient: recipient, Body: &worldv1.Message_Text{Text: text}}}}
}

// enqueueLimited queues four rollouts with a limit on their bytes, and returns their ids.
func (s *stage) enqueueLimited(t *testing.T, maxBytes int64) (ids []string) {
	t.Helper()
	var jobs []*busv1.Job
	for i := range 4 {
		r := s.rollout("s." + strconv.Itoa(i))
		r.MaxBytes = maxBytes
		jobs, ids = append(jobs, &busv1.Job{Rollout: r}), append(ids, r.GetId())
	}
	if err := s.Enqueue(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestByteLimitEndsRollouts plays rollouts whose agent never ends, several at once. There is room
// for one long conversation at a time: never are two agents asked to go on with one, and all come
// to their end.
func TestByteLimitEndsRollouts(t *testing.T) {
	s := newStage(t)
	text := strings.Repeat("x", minLongBytes/2+1)
	var long, most atomic.Int32
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		if req.GetTurn() > 1 {
			for now := long.Add(1); now > most.Load(); {
				most.Store(now)
			}
			defer long.Add(-1)
		}
		return answer(req, text), nil
	}
	ids := s.enqueueLimited(t, 3*minLongBytes)
	run(t.Context(), t, s.worker(t, func(cfg *Config) { cfg.ConversationMemory = 4 * minLongBytes }, nil))
	for id, state := range s.ended(t, ids...) {
		end := state.End()
		if end.GetReason() != busv1.EndReason_END_REASON_MODEL_FAILURE || end.GetExceptionType() != rollout.TooLarge {
			t.Errorf("end of %s: got %v, want %s as a failure of the model", id, end, rollout.TooLarge)
		}
		if got := state.Bytes(); got <= 3*minLongBytes || got > 4*minLongBytes {
			t.Errorf("bytes of %s: got %d, want the limit and one message at most", id, got)
		}
	}
	if got := most.Load(); got != 1 {
		t.Errorf("long conversations at once: got %d, want 1", got)
	}
}

// TestMemoryLimit acquires more than there is, which takes all. Waiting ends with ctx.
func TestMemoryLimit(t *testing.T) {
	r := newMemoryLimit(10)
	leave, err := r.acquire(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.acquire(ctx, 1); err == nil {
		t.Error("acquire with nothing free: got nil, want the end of ctx")
	}
	leave()
	if _, err := r.acquire(t.Context(), 10); err != nil {
		t.Errorf("acquire with all free: got %v, want nil", err)
	}
}

// TestConversationsWaitWithoutTheirMessages plays more rollouts than there is room for: all
// reach the length where they need more room than they have. None keeps the others waiting for
// ever, and none loses or repeats a message.
func TestConversationsWaitWithoutTheirMessages(t *testing.T) {
	s := newStage(t)
	text := strings.Repeat("x", minLongBytes)
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		return answer(req, text), nil
	}
	ids := s.enqueueLimited(t, 2*usualLongBytes)
	run(t.Context(), t, s.worker(t, func(cfg *Config) { cfg.ConversationMemory = 2 * usualLongBytes }, nil))
	for id, state := range s.ended(t, ids...) {
		if end := state.End(); end.GetExceptionType() != rollout.TooLarge || state.Claims() != 1 || len(state.Messages()) != 9 {
			t.Errorf("%s: got %v, %d claims and %d messages, want %s, 1 and 9", id, end, state.Claims(), len(state.Messages()), rollout.TooLarge)
		}
	}
}

// TestStopWithoutMessages stops a worker while a conversation waits without its messages.
func TestStopWithoutMessages(t *testing.T) {
	s := newStage(t)
	text := strings.Repeat("x", minLongBytes)
	w := s.worker(t, func(cfg *Config) { cfg.ConversationMemory = usualLongBytes }, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	taken := make(chan error, 1)
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		if req.GetIndex() == 3 { // the conversation holds all memory
			go func() {
				_, err := w.memory.acquire(t.Context(), usualLongBytes) // it has none and waits for more
				taken <- err
				stop()
			}()
		}
		return answer(req, text), nil
	}
	r := s.rollout("s.0")
	r.MaxBytes = 2 * usualLongBytes
	if err := s.Enqueue(t.Context(), []*busv1.Job{{Rollout: r}}); err != nil {
		t.Fatal(err)
	}
	run(ctx, t, w)
	if err := <-taken; err != nil {
		t.Error(err)
	}
}
