package worker

import (
	"context"
	"strconv"
	"sync"
	"testing"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// TestDrain stops a worker with one turn in flight, and with jobs that wait. Another worker gets
// the waiting jobs at once, and the rollout after its turn. No turn is asked for twice.
func TestDrain(t *testing.T) {
	s := newStage(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	times := make(map[string]int)
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		turn := req.GetRolloutId() + " " + strconv.Itoa(int(req.GetIndex()))
		mu.Lock()
		times[turn]++
		first := turn == "s.0 1" && times[turn] == 1
		mu.Unlock()
		if first {
			close(asked)
			<-answer
		}
		return nil, nil
	}
	one := s.worker(t, func(c *Config) { c.Parallel = 1 }, nil)
	one.peers.Drain = func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithCancel(context.WithoutCancel(ctx)) // an endless grace
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s.enqueue(t, 0, "s.0", "s.1", "s.2")
	go func() { ended <- one.Run(ctx) }()
	<-asked
	until(t, "a job waits for the slot", func() bool { _, ahead := one.scheduler.counts("s"); return ahead > 0 })
	stop()
	run(t.Context(), t, s.worker(t, nil, nil))
	s.ended(t, "s.1", "s.2")
	if n := len(s.state(t, "s.0").Messages()); n != 1 {
		t.Errorf("messages while the turn is in flight: got %d, want 1", n)
	}
	close(answer)
	if err := <-ended; err != nil {
		t.Errorf("Run: got %v, want nil", err)
	}
	s.ended(t, "s.0")
	mu.Lock()
	defer mu.Unlock()
	for turn, n := range times {
		if n > 1 {
			t.Errorf("turn %s: asked for %d times, want once", turn, n)
		}
	}
}
