package orchestrator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// TestWatchReceivesProgress watches a sweep without results: the watch receives the numbers of
// running and of queued rollouts.
func TestWatchReceivesProgress(t *testing.T) {
	i := installSilent(t, 50*time.Millisecond)
	i.create(t, "s", spec("one", "two", "three"))
	stream, err := i.client.WatchSweep(within(t), &orchestratorv1.WatchSweepRequest{SweepId: "s"})
	if err != nil {
		t.Fatal(err)
	}
	told := func(want *orchestratorv1.SweepProgress) {
		t.Helper()
		for {
			event, err := stream.Recv()
			if err != nil {
				t.Fatalf("before it was told %v: %v", want, err)
			}
			if proto.Equal(event.GetProgress(), want) {
				return
			}
		}
	}
	told(&orchestratorv1.SweepProgress{Total: 3})
	told(&orchestratorv1.SweepProgress{Total: 3, Queued: 3, Counted: true})
	queue, err := i.Bus().OpenQueue(t.Context(), "s", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := queue.Fetch(t.Context(), 2, time.Minute); err != nil {
		t.Fatal(err)
	}
	told(&orchestratorv1.SweepProgress{Total: 3, Retrying: 2, Queued: 1, Counted: true})                                                   // nobody says that it plays them
	for _, load := range []*busv1.Load{{Running: 1, Ahead: 1}, {Providers: map[string]*busv1.ProviderLoad{"p": {Asked: 2, Limited: 3}}}} { // an orchestrator and a gateway
		stop, err := i.Bus().ServeLoad(func(sweepID string) *busv1.Load {
			if sweepID != "s" {
				t.Errorf("asked for the load of %q, want that of s", sweepID)
			}
			return load
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}()
	}
	providers := []*orchestratorv1.ProviderProgress{{Provider: "p", Asked: 2, Limited: 3}}
	told(&orchestratorv1.SweepProgress{Total: 3, Running: 1, Queued: 2, Asked: 2, Limited: 3, Providers: providers, Counted: true})
	i.finish(t, "s.0", busv1.EndReason_END_REASON_FINISHED)
	told(&orchestratorv1.SweepProgress{Total: 3, Done: 1, Running: 1, Queued: 2, Asked: 2, Limited: 3, Providers: providers, Counted: true})
}

// sink takes the results that a watch sends. It calls told, if not nil, with the first progress.
type sink struct {
	grpc.ServerStream
	results []string
	told    func()
}

func (s *sink) Send(event *orchestratorv1.WatchSweepResponse) error {
	if s.told != nil {
		s.told()
		s.told = nil
	}
	if id := event.GetResult().GetRollout().GetId(); id != "" {
		s.results = append(s.results, id)
	}
	return nil
}

// TestWatchOutlivesLostResults has the stream of results lose its tail: a result that was sent is
// made and comes again, and one that came in place of what was lost does not come, since who
// follows a stream goes on where he was. Each is sent once.
func TestWatchOutlivesLostResults(t *testing.T) {
	i := installSilent(t, 50*time.Millisecond)
	i.create(t, "s", spec("one", "two", "three"))
	first := &busv1.Result{Rollout: &busv1.Rollout{Id: "s.0"}}
	followed := make(chan *busv1.Result, 3)
	for range cap(followed) {
		followed <- first
	}
	for _, id := range []string{"s.0", "s.1", "s.2"} {
		i.finish(t, id, busv1.EndReason_END_REASON_FINISHED)
	}
	sweep, err := i.Bus().Sweep(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	to := &sink{}
	w := &watch{
		server: &server{bus: i.Bus().Orchestrator(), progressInterval: 50 * time.Millisecond}, stream: to, sweep: sweep, rounds: bus.Rounds{},
		progress: &orchestratorv1.SweepProgress{Total: 3}, sent: make(map[string]bool), end: &orchestratorv1.SweepEnd{},
	}
	if err := w.relay(within(t), watchEvents{results: followed}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"s.0", "s.1", "s.2"}, to.results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestWatchSendsWhatPrecedesCancellation stores a result after the watch has counted them, and
// cancels the sweep. The watch hears of the cancellation first, and sends the result.
func TestWatchSendsWhatPrecedesCancellation(t *testing.T) {
	i := installSilent(t, 50*time.Millisecond)
	i.create(t, "s", spec("one", "two"))
	sweep, err := i.Bus().Sweep(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	to := &sink{told: func() { i.finish(t, "s.0", busv1.EndReason_END_REASON_FINISHED) }}
	w := &watch{
		server: &server{bus: i.Bus().Orchestrator(), progressInterval: 50 * time.Millisecond}, stream: to, sweep: sweep, rounds: bus.Rounds{},
		progress: &orchestratorv1.SweepProgress{Total: 2}, sent: make(map[string]bool), end: &orchestratorv1.SweepEnd{},
	}
	controls := make(chan *busv1.SweepControl, 1)
	controls <- &busv1.SweepControl{CancelledRound: proto.Int32(0)}
	if err := w.relay(within(t), watchEvents{controls: controls}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"s.0"}, to.results); diff != "" || !w.end.GetCancelled() {
		t.Errorf("cancelled %t, results (-want +got):\n%s", w.end.GetCancelled(), diff)
	}
}
