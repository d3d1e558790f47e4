package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// orchestrator is an orchestrator with the numbers of results per sweep. It records created sweeps.
type orchestrator struct {
	orchestratorv1.UnimplementedOrchestratorServiceServer
	done     map[string]int64
	deleted  map[string]bool
	foreign  map[string]bool // another team's, which nobody else sees
	round    int32           // the last one of each sweep
	created  []string
	rounds   []int32                         // of the created sweeps
	parallel int32                           // of the last created sweep
	later    []*orchestratorv1.SweepProgress // sent by a watch before it ends
	slow     bool                            // a watch reports its progress after each result
}

func (o *orchestrator) WatchSweep(req *orchestratorv1.WatchSweepRequest, stream orchestratorv1.OrchestratorService_WatchSweepServer) error {
	done, ok := o.done[req.GetSweepId()]
	if !ok {
		return status.Error(codes.NotFound, "no such sweep")
	}
	progress := &orchestratorv1.SweepProgress{Total: 10, Done: done}
	if err := stream.Send(&orchestratorv1.WatchSweepResponse{Event: &orchestratorv1.WatchSweepResponse_Progress{Progress: progress}}); err != nil {
		return err
	}
	for _, progress := range o.later {
		if err := stream.Send(&orchestratorv1.WatchSweepResponse{Event: &orchestratorv1.WatchSweepResponse_Progress{Progress: progress}}); err != nil {
			return err
		}
	}
	if o.later != nil {
		return stream.Send(&orchestratorv1.WatchSweepResponse{Event: &orchestratorv1.WatchSweepResponse_End{End: &orchestratorv1.SweepEnd{}}})
	}
	for n := range done {
		result := &busv1.Result{Rollout: &busv1.Rollout{Id: fmt.Sprint(req.GetSweepId(), ".", n)}}
		if err := stream.Send(&orchestratorv1.WatchSweepResponse{Event: &orchestratorv1.WatchSweepResponse_Result{Result: result}}); err != nil {
			return err
		}
		if !o.slow {
			continue
		}
		if err := stream.Send(&orchestratorv1.WatchSweepResponse{Event: &orchestratorv1.WatchSweepResponse_Progress{Progress: progress}}); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return nil
}

func (o *orchestrator) GetSweep(_ context.Context, req *orchestratorv1.GetSweepRequest) (*orchestratorv1.GetSweepResponse, error) {
	id := req.GetSweepId()
	if _, ok := o.done[id]; !ok && !o.deleted[id] {
		return nil, status.Error(codes.NotFound, "no such sweep")
	}
	return &orchestratorv1.GetSweepResponse{Sweep: &orchestratorv1.SweepInfo{Id: id, Deleted: o.deleted[id], Round: o.round}}, nil
}

func (o *orchestrator) CreateSweep(_ context.Context, req *orchestratorv1.CreateSweepRequest) (*orchestratorv1.CreateSweepResponse, error) {
	o.rounds = append(o.rounds, req.GetRound())
	if o.foreign[req.GetSweepId()] {
		return nil, status.Error(codes.AlreadyExists, "another team's")
	}
	o.created, o.parallel = append(o.created, req.GetSweepId()), req.GetSpec().GetParallel()
	return &orchestratorv1.CreateSweepResponse{Total: 10, Done: o.done[req.GetSweepId()]}, nil
}

// serve returns a connection to the orchestrator.
func serve(t *testing.T, o *orchestrator) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	orchestratorv1.RegisterOrchestratorServiceServer(server, o)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///orchestrator", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: got %v, want nil", err)
		}
	})
	return conn
}

// TestStoredResultsOfSlowServices reads results that take so long that the services report their
// progress in between, as 100,000 results do.
func TestStoredResultsOfSlowServices(t *testing.T) {
	conn := serve(t, &orchestrator{done: map[string]int64{"s": 10}, slow: true})
	planned, err := sweep.Prepare(t.Context(), conn, conn, sweep.Spec{ID: "s", Trials: 5})
	if err != nil {
		t.Fatal(err)
	}
	if stored, err := planned.Stored(t.Context(), "s"); len(stored) != 10 || err != nil {
		t.Errorf("got %d results and %v, want 10", len(stored), err)
	}
}

// TestCreateAfterEarlierRuns creates a sweep whose specification ran before. It must not create the
// earlier sweeps again, because that would change their spend limit and queue their parked or
// cancelled rollouts.
func TestCreateAfterEarlierRuns(t *testing.T) {
	o := &orchestrator{done: make(map[string]int64)}
	conn := serve(t, o)
	create := func(id string) (*sweep.Sweep, error) {
		planned, err := sweep.Prepare(t.Context(), conn, conn, sweep.Spec{ID: id, Trials: 5})
		if err != nil {
			t.Fatal(err)
		}
		_, err = planned.Create(t.Context())
		return planned, err
	}
	first, err := create("")
	if err != nil {
		t.Fatal(err)
	}
	o.done[first.ID()], o.done[first.ID()+"-2"] = 3, 10
	third, err := create("")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{first.ID(), first.ID() + "-3"}; !slices.Equal(o.created, want) || third.ID() != want[1] {
		t.Errorf("created (-want +got):\n%s", cmp.Diff(want, o.created))
	}
	o.created, o.done["night"], o.done["queued"] = nil, 1, 0
	if _, err := create("night"); !errors.Is(err, sweep.ErrHasResults) || len(o.created) > 0 {
		t.Errorf("a given id with results: got %v and %q created, want %v and none", err, o.created, sweep.ErrHasResults)
	}
	if _, err := create("queued"); err != nil || !slices.Equal(o.created, []string{"queued"}) {
		t.Errorf("a given id without results: got %v and %q created, want nil and it", err, o.created)
	}
}

// TestClaim claims an id, which creates nothing, and creates the sweep under it, also if a sweep of
// the same specification has got results meanwhile.
func TestClaim(t *testing.T) {
	o := &orchestrator{done: make(map[string]int64)}
	conn := serve(t, o)
	planned, err := sweep.Prepare(t.Context(), conn, conn, sweep.Spec{Trials: 5})
	if err != nil {
		t.Fatal(err)
	}
	id, err := planned.Claim(t.Context())
	if err != nil || id != planned.ID() || len(o.created) > 0 {
		t.Fatalf("Claim: got %q, %v and %q created, want %q and none", id, err, o.created, planned.ID())
	}
	o.done[id] = 1
	if _, err := planned.Create(t.Context()); err != nil || !slices.Equal(o.created, []string{id}) {
		t.Errorf("Create: got %v and %q created, want %q", err, o.created, id)
	}
}

// TestParallelKeepsID resumes a sweep with other numbers of concurrent rollouts. It is the same
// sweep, and the orchestrator receives the number.
func TestParallelKeepsID(t *testing.T) {
	o := &orchestrator{done: make(map[string]int64)}
	conn := serve(t, o)
	var id string
	for _, parallel := range []int{0, 2, 16} {
		planned, err := sweep.Prepare(t.Context(), conn, conn, sweep.Spec{Trials: 5, Parallel: parallel})
		if err != nil {
			t.Fatal(err)
		}
		if id == "" {
			id = planned.ID()
		}
		if _, _, err := planned.Resume(t.Context(), id, 1, nil); err != nil || !planned.Derived(id) || o.parallel != int32(parallel) {
			t.Errorf("%d concurrent: got %v, its id %t, %d for the orchestrator, want nil, true and the number", parallel, err, planned.Derived(id), o.parallel)
		}
	}
}

// TestCreateAfterDeletion creates a sweep whose specification ran before and was deleted. Its id
// stays reserved.
func TestCreateAfterDeletion(t *testing.T) {
	o := &orchestrator{done: make(map[string]int64), deleted: make(map[string]bool)}
	conn := serve(t, o)
	planned, err := sweep.Prepare(t.Context(), conn, conn, sweep.Spec{Trials: 5})
	if err != nil {
		t.Fatal(err)
	}
	first := planned.ID()
	o.deleted[first], o.deleted["night"] = true, true
	if id, err := planned.Claim(t.Context()); err != nil || id != first+"-2" {
		t.Errorf("Claim: got %q and %v, want %s-2 and nil", id, err, first)
	}
	named, err := sweep.Prepare(t.Context(), conn, conn, sweep.Spec{ID: "night", Trials: 5})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := named.Claim(t.Context()); !errors.Is(err, sweep.ErrHasResults) {
		t.Errorf("Claim of the id of a deleted sweep: got %v, want %v", err, sweep.ErrHasResults)
	}
	if _, err := named.Stored(t.Context(), "night"); !errors.Is(err, sweep.ErrDeleted) {
		t.Errorf("Stored of a deleted sweep: got %v, want %v", err, sweep.ErrDeleted)
	}
}

// TestDisclaim creates a sweep whose specification two other teams have run. A given id stays.
func TestDisclaim(t *testing.T) {
	o := &orchestrator{foreign: make(map[string]bool)}
	conn := serve(t, o)
	planned, err := sweep.Prepare(t.Context(), conn, conn, sweep.Spec{Trials: 5})
	if err != nil {
		t.Fatal(err)
	}
	first := planned.ID()
	o.foreign[first], o.foreign[first+"-2"], o.foreign["night"] = true, true, true
	attempts := 1
	for _, err = planned.Create(t.Context()); planned.Disclaim(err); attempts++ {
		_, err = planned.Create(t.Context())
	}
	if err != nil || attempts != 3 || planned.ID() != first+"-3" {
		t.Errorf("got %v and the id %s after %d attempts, want nil and %s-3 after 3", err, planned.ID(), attempts, first)
	}
	named, err := sweep.Prepare(t.Context(), conn, conn, sweep.Spec{ID: "night", Trials: 5})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := named.Create(t.Context()); status.Code(err) != codes.AlreadyExists || named.Disclaim(err) {
		t.Errorf("a given id: got %v, want %v and that it stays", err, codes.AlreadyExists)
	}
}

// TestResumeAfterRequeue resumes a sweep of which others have begun rounds. It begins a later one.
func TestResumeAfterRequeue(t *testing.T) {
	o := &orchestrator{done: map[string]int64{"s": 3}}
	conn := serve(t, o)
	for _, o.round = range []int32{0, 1, 7} {
		planned, err := sweep.Prepare(t.Context(), conn, conn, sweep.Spec{ID: "s", Trials: 5})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := planned.Resume(t.Context(), "s", 2, nil); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int32{2, 2, 8}; !slices.Equal(o.rounds, want) {
		t.Errorf("rounds: got %v, want %v", o.rounds, want)
	}
}

// TestWatchQueuesLostJobs watches a sweep that loses the jobs of some rollouts. The watch creates
// it again. It does not if each unfinished rollout has a job, or before the jobs are counted.
func TestWatchQueuesLostJobs(t *testing.T) {
	for name, test := range map[string]struct {
		told *orchestratorv1.SweepProgress
		want int
	}{
		"not counted": {&orchestratorv1.SweepProgress{Total: 10}, 0},
		"all there":   {&orchestratorv1.SweepProgress{Total: 10, Done: 3, Running: 6, Queued: 1, Counted: true}, 0},
		"done since":  {&orchestratorv1.SweepProgress{Total: 10, Done: 4, Running: 6, Queued: 1, Counted: true}, 0},
		"some lost":   {&orchestratorv1.SweepProgress{Total: 10, Done: 3, Running: 6, Counted: true}, 1},
		"all lost":    {&orchestratorv1.SweepProgress{Total: 10, Done: 3, Counted: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := &orchestrator{done: map[string]int64{"s": 3}, later: []*orchestratorv1.SweepProgress{test.told}}
			conn := serve(t, o)
			planned, err := sweep.Prepare(t.Context(), conn, conn, sweep.Spec{ID: "s", Trials: 5})
			if err != nil {
				t.Fatal(err)
			}
			if err := planned.Watch(t.Context(), nil, nil); err != nil {
				t.Fatal(err)
			}
			if got := len(o.created); got != test.want {
				t.Errorf("created: got %d times, want %d", got, test.want)
			}
		})
	}
}

// TestSweepID checks that valid ids are those that requests accept.
func TestSweepID(t *testing.T) {
	for _, id := range []string{"a", "Nightly_2026-01-31", strings.Repeat("a", 100)} {
		if err := sweep.CheckID("ID", id); err != nil {
			t.Errorf("%q: got %v, want nil", id, err)
		}
	}
}
