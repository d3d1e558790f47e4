package orchestrator

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// stored lists what the bus has of the sweeps' first rollouts.
func (i *installation) stored(t *testing.T, sweeps ...string) map[string]string {
	t.Helper()
	b, ctx := i.Bus(), t.Context()
	all := make(map[string]string)
	for _, id := range sweeps {
		rollout := id + ".0"
		_, planErr := b.Sweep(ctx, id)
		_, resultErr := b.RoundResult(ctx, rollout, 0)
		_, _, turnErr := b.Turn(ctx, rollout, 1)
		log, logErr := b.ReadLog(ctx, rollout)
		snapshots, snapshotErr := b.ReadSnapshots(ctx, rollout)
		jobs, jobErr := b.Queued(ctx, id)
		control, controlErr := b.Control(ctx, id)
		for _, err := range []error{planErr, resultErr, turnErr, logErr, snapshotErr, jobErr, controlErr} {
			if err != nil && !errors.Is(err, bus.ErrNotFound) {
				t.Fatal(err)
			}
		}
		var kinds []string
		for kind, found := range map[string]bool{
			"plan": planErr == nil, "result": resultErr == nil, "turn": turnErr == nil, "log": logErr == nil && len(log.Entries) > 0, "tables": len(snapshots) > 0,
			"jobs": jobs > 0, "control": !proto.Equal(control, &busv1.SweepControl{}) && !control.GetDeleted(), "mark": control.GetDeleted(),
		} {
			if found {
				kinds = append(kinds, kind)
			}
		}
		slices.Sort(kinds)
		all[id] = strings.Join(kinds, " ")
	}
	return all
}

// play stores a sweep of two rollouts, the first of which has a log, tables and a recorded turn. So
// many rollouts have a result; if both have, the queue is empty.
func (i *installation) play(t *testing.T, id string, results int) {
	t.Helper()
	i.create(t, id, spec("one", "two"))
	rollout := &busv1.Rollout{Id: id + ".0", SweepId: id}
	_, err := i.Bus().Append(t.Context(), rollout.GetId(), &busv1.LogEntry{Start: &busv1.Start{Rollout: rollout}}, bus.Position{})
	err = errors.Join(err, i.Bus().PublishSnapshot(t.Context(), &busv1.Snapshot{SessionId: rollout.GetId()}), i.Bus().PutTurn(t.Context(), rollout.GetId(), 1, []byte("turn")))
	if err != nil {
		t.Fatal(err)
	}
	for _, rollout := range []string{id + ".0", id + ".1"}[:results] {
		i.finish(t, rollout, busv1.EndReason_END_REASON_FINISHED)
	}
	if results == 2 {
		i.drain(t, id)
	}
}

// drain takes the two jobs of a sweep out of the queue.
func (i *installation) drain(t *testing.T, id string) {
	t.Helper()
	queue, err := i.Bus().OpenQueue(t.Context(), id, jobLease)
	if err != nil {
		t.Fatal(err)
	}
	for left := 2; left > 0; {
		jobs, err := queue.Fetch(within(t), left, patience)
		if err != nil || len(jobs) == 0 {
			t.Fatalf("jobs: got none and %v, want %d", err, left)
		}
		for _, job := range jobs {
			if err := job.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
			left--
		}
	}
}

// TestRetentionKeepsOpenSweeps removes what ended before a time: nothing of a sweep that is open,
// paused, cancelled with rollouts that still end, or in a new round, however old it is. Two
// orchestrators do it at once.
func TestRetentionKeepsOpenSweeps(t *testing.T) {
	i := installServer(t)
	i.play(t, "ended", 2)
	i.play(t, "young", 2)
	i.play(t, "again", 2)
	i.play(t, "open", 1)
	i.play(t, "paused", 0)
	i.play(t, "ending", 1)
	pause := &orchestratorv1.UpdateSweepRequest{SweepId: "paused", Paused: proto.Bool(true)}
	if _, err := i.client.UpdateSweep(within(t), pause); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(i.Bus().BeginRound(t.Context(), "again", nil, 1, []int{0}), i.Bus().CancelSweep(t.Context(), "ending", 0))
	if err != nil {
		t.Fatal(err)
	}
	sweeps := []string{"ended", "young", "again", "open", "paused", "ending"}
	want := i.stored(t, sweeps...)
	if full := "control jobs log plan result tables turn"; want["open"] != full {
		t.Fatalf("the open sweep: got %q, want %q", want["open"], full)
	}
	old := func(before time.Time) {
		t.Helper()
		var group sync.WaitGroup
		for range 2 {
			service := newServer(t, i)
			group.Go(func() {
				if err := service.removeOlder(within(t), before); err != nil {
					t.Errorf("removeOlder: got %v, want nil", err)
				}
			})
		}
		group.Wait()
	}
	old(time.Now().Add(-time.Hour))
	if diff := cmp.Diff(want, i.stored(t, sweeps...)); diff != "" {
		t.Errorf("sweeps that ended since (-want +got):\n%s", diff)
	}
	youngest := time.Now()
	i.finish(t, "young.7", busv1.EndReason_END_REASON_FINISHED)
	old(youngest)
	want["ended"] = "mark"
	if diff := cmp.Diff(want, i.stored(t, sweeps...)); diff != "" {
		t.Errorf("sweeps after the removal (-want +got):\n%s", diff)
	}
	old(time.Now()) // the mark of the first too, but not that of the second, which is made now
	want["ended"], want["young"] = "", "mark"
	if diff := cmp.Diff(want, i.stored(t, sweeps...)); diff != "" {
		t.Errorf("sweeps after the removal of the mark (-want +got):\n%s", diff)
	}
}

// TestRetentionContinues has orchestrators die in deletions: the next pass completes them, before
// their time. A reservation whose sweep never came is removed with the turns that were prepared for
// it, and what a deleted sweep got late with its mark. A sweep whose plan is lost stays.
func TestRetentionContinues(t *testing.T) {
	i := installServer(t)
	i.play(t, "s", 2)
	i.play(t, "marked", 2)
	i.play(t, "lost", 2)
	if err := i.Bus().RemovePlan(t.Context(), "lost"); err != nil {
		t.Fatal(err)
	}
	lost := i.stored(t, "lost")["lost"]
	dying := newServer(t, i)
	died := errors.New("died")
	dying.eachToolHost = func(context.Context, func(grpc.ClientConnInterface) error) error { return died }
	if err := dying.removeOlder(within(t), time.Now().Add(time.Hour)); !errors.Is(err, died) {
		t.Fatalf("removeOlder: got %v, want %v", err, died)
	}
	reserve := func(control *busv1.SweepControl) bool { control.Team = "red"; return true }
	err := errors.Join(
		i.Bus().UpdateControl(t.Context(), "reserved", reserve), i.Bus().PutTurn(t.Context(), "reserved.0", 1, []byte("turn")), i.Bus().PutTurn(t.Context(), "s.0", 1, []byte("late")),
	)
	if err != nil {
		t.Fatal(err)
	}
	sweeps := []string{"s", "marked", "reserved", "lost"}
	service := newServer(t, i)
	for _, step := range []struct {
		what   string
		before time.Time
		want   map[string]string
	}{
		{"before its time", time.Now().Add(-time.Hour), map[string]string{"s": "mark", "marked": "mark", "reserved": "control turn", "lost": lost}},
		{"later", time.Now().Add(time.Hour), map[string]string{"s": "", "marked": "", "reserved": "mark", "lost": lost}},
		{"at last", time.Now().Add(time.Hour), map[string]string{"s": "", "marked": "", "reserved": "", "lost": lost}},
	} {
		if err := service.removeOlder(within(t), step.before); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, i.stored(t, sweeps...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
}

// TestRetentionOfReservation creates a sweep while its old reservation is removed. The creation is
// refused: the removal takes what comes meanwhile.
func TestRetentionOfReservation(t *testing.T) {
	i := installServer(t)
	if err := i.Bus().UpdateControl(t.Context(), "s", func(control *busv1.SweepControl) bool { control.Team = "red"; return true }); err != nil {
		t.Fatal(err)
	}
	service := newServer(t, i)
	service.eachToolHost = func(context.Context, func(grpc.ClientConnInterface) error) error {
		_, err := i.client.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{SweepId: "s", Spec: spec("one")})
		if status.Code(err) != codes.AlreadyExists {
			t.Errorf("CreateSweep: got %v, want %v", err, codes.AlreadyExists)
		}
		return nil
	}
	if err := service.removeOlder(within(t), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := i.stored(t, "s")["s"]; got != "mark" {
		t.Errorf("stored: got %q, want the mark", got)
	}
	gone := bus.StoredSweep{ID: "gone"} // by another orchestrator
	if _, err := service.removeIfOlder(within(t), gone, time.Now().Add(time.Hour)); err != nil || i.stored(t, "gone")["gone"] != "" {
		t.Errorf("a sweep that is gone: got %v and %q, want nothing", err, i.stored(t, "gone")["gone"])
	}
}

// TestRetention runs two orchestrators with a short retention. They remove a sweep that has ended,
// later its mark and the setups that only it needed, and keep an open one that is older. When that
// ends, it has the retention too.
func TestRetention(t *testing.T) {
	const retention = time.Second
	i := install(t, func(cfg *rpc.Config) { cfg.Bus.Retention = retention })
	serving := newServer(t, i)
	i.serve(t, rpc.Orchestrator, func(r grpc.ServiceRegistrar) { orchestratorv1.RegisterOrchestratorServiceServer(r, serving) })
	for range 2 {
		replicas, err := i.Bus().Join("orchestrator", rand.Text())
		if err != nil {
			t.Fatal(err)
		}
		service := newServer(t, i)
		i.tasks.Go(func() {
			service.retain(i.ctx, replicas)
			if err := replicas.Leave(); err != nil {
				t.Error(err)
			}
		})
	}
	i.play(t, "open", 1)
	i.play(t, "ended", 2)
	tools, err := i.Bus().PutTools(t.Context(), &agentgwv1.ToolSet{Tools: []*worldv1.Tool{{Name: "tool"}}})
	if err != nil {
		t.Fatal(err)
	}
	reach := func(sweep string, wanted ...string) {
		t.Helper()
		for limit := within(t); ; {
			got := i.stored(t, sweep)[sweep]
			if slices.Contains(wanted, got) {
				return
			}
			select {
			case <-limit.Done():
				t.Fatalf("sweep %s: got %q, want one of %q", sweep, got, wanted)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	open := i.stored(t, "open")["open"]
	reach("ended", "")
	reach("open", open)
	if _, err := i.Bus().Tools(t.Context(), tools); err != nil {
		t.Errorf("tools of the open sweep: got %v, want them", err)
	}
	ended := time.Now()
	i.finish(t, "open.1", busv1.EndReason_END_REASON_FINISHED)
	i.drain(t, "open")
	reach("open", "mark", "") // its mark is soon as old
	if took := time.Since(ended); took < retention {
		t.Errorf("removal: got %s after the end, want at least %s", took, retention)
	}
	for limit := within(t); !errors.Is(err, bus.ErrNotFound); {
		if _, err = i.Bus().Tools(limit, tools); limit.Err() != nil {
			t.Fatalf("tools without a sweep: got %v, want %v", err, bus.ErrNotFound)
		}
	}
}
