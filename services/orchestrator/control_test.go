package orchestrator

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

func (toolHost) DeleteSessions(context.Context, *toolhostv1.DeleteSessionsRequest) (*toolhostv1.DeleteSessionsResponse, error) {
	return &toolhostv1.DeleteSessionsResponse{}, nil
}

func (i *installation) update(t *testing.T, request *orchestratorv1.UpdateSweepRequest) *orchestratorv1.SweepInfo {
	t.Helper()
	request.SweepId = "s"
	response, err := i.client.UpdateSweep(within(t), request)
	if err != nil {
		t.Fatalf("UpdateSweep(%v): %v", request, err)
	}
	return response.GetSweep()
}

// TestPauseIsKept pauses a sweep. Neither another change nor a new round ends the pause, and
// continuing it twice is harmless. A cancellation ends it, and neither a cancelled sweep nor one
// that has ended is paused.
func TestPauseIsKept(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one", "two"))
	paused := func(what string, info *orchestratorv1.SweepInfo, want bool) {
		t.Helper()
		if info.GetPaused() != want {
			t.Errorf("%s: got paused %t, want %t", what, info.GetPaused(), want)
		}
	}
	for _, on := range []bool{true, true, false, false, true} {
		paused("UpdateSweep", i.update(t, &orchestratorv1.UpdateSweepRequest{Paused: &on}), on)
	}
	paused("another change", i.update(t, &orchestratorv1.UpdateSweepRequest{Parallel: proto.Int32(3)}), true)
	if _, err := i.client.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{SweepId: "s", Spec: spec("one", "two"), Round: 1}); err != nil {
		t.Fatal(err)
	}
	got, err := i.client.GetSweep(within(t), &orchestratorv1.GetSweepRequest{SweepId: "s", Detailed: true})
	if err != nil {
		t.Fatal(err)
	}
	paused("a new round", got.GetSweep(), true)
	want := &orchestratorv1.SweepProgress{Total: 2, Queued: 2, Paused: true, Counted: true}
	if diff := cmp.Diff(want, got.GetSweep().GetProgress(), protocmp.Transform()); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	cancelled, err := i.client.CancelSweep(within(t), &orchestratorv1.CancelSweepRequest{SweepId: "s"})
	if err != nil {
		t.Fatal(err)
	}
	paused("a cancellation", cancelled.GetSweep(), false)
	paused("a cancelled sweep", i.update(t, &orchestratorv1.UpdateSweepRequest{Paused: proto.Bool(true)}), false)
	if _, err := i.client.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{SweepId: "s", Spec: spec("one", "two"), Round: 2}); err != nil {
		t.Fatal(err)
	}
	i.end(t, "s.0", 2, busv1.EndReason_END_REASON_FINISHED)
	i.end(t, "s.1", 2, busv1.EndReason_END_REASON_FINISHED)
	paused("a sweep that has ended", i.update(t, &orchestratorv1.UpdateSweepRequest{Paused: proto.Bool(true)}), false)
}

// TestWatchTellsPause watches a sweep that is paused and continued.
func TestWatchTellsPause(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one"))
	stream, err := i.client.WatchSweep(within(t), &orchestratorv1.WatchSweepRequest{SweepId: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []bool{false, true, false} {
		event, err := stream.Recv()
		if err != nil || event.GetProgress() == nil || event.GetProgress().GetPaused() != want {
			t.Fatalf("event %d: got %v and %v, want progress with paused %t", n, event, err, want)
		}
		i.update(t, &orchestratorv1.UpdateSweepRequest{Paused: proto.Bool(!want)})
	}
}

// TestWatchOfPausedSweep watches a paused sweep with results: they come without another progress
// report, which would tell a client that they cannot be read.
func TestWatchOfPausedSweep(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one", "two", "three"))
	i.finish(t, "s.0", busv1.EndReason_END_REASON_FINISHED)
	i.finish(t, "s.1", busv1.EndReason_END_REASON_FINISHED)
	i.update(t, &orchestratorv1.UpdateSweepRequest{Paused: proto.Bool(true)})
	stream, err := i.client.WatchSweep(within(t), &orchestratorv1.WatchSweepRequest{SweepId: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		event, err := stream.Recv()
		if err != nil || (event.GetProgress() != nil) != (n == 0) || n == 0 && !event.GetProgress().GetPaused() {
			t.Fatalf("event %d: got %v and %v, want progress of a paused sweep, then results", n, event, err)
		}
	}
}

// TestHigherLimitQueuesParkedRollouts raises the limit of a sweep that has reached it: the rollouts
// without a result and a job are queued. Repeating that queues none.
func TestHigherLimitQueuesParkedRollouts(t *testing.T) {
	i := installServer(t)
	request := &orchestratorv1.CreateSweepRequest{SweepId: "s", Spec: spec("one", "two", "three"), SpendLimit: &agentgwv1.SpendLimit{Tokens: 5}}
	if _, err := i.client.CreateSweep(within(t), request); err != nil {
		t.Fatal(err)
	}
	i.queued(t, 3) // as if they were parked
	i.finish(t, "s.0", busv1.EndReason_END_REASON_FINISHED)
	if err := i.Bus().UpdateControl(t.Context(), "s", func(c *busv1.SweepControl) bool { c.Exhausted = "5 of 5 tokens"; return true }); err != nil {
		t.Fatal(err)
	}
	_, err := i.client.UpdateSweep(within(t), &orchestratorv1.UpdateSweepRequest{SweepId: "s", SpendTokens: proto.Int64(4)})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a lower limit: got %v, want %v", err, codes.FailedPrecondition)
	}
	for range 2 {
		info := i.update(t, &orchestratorv1.UpdateSweepRequest{SpendTokens: proto.Int64(9)})
		if info.GetExhausted() != "" || info.GetSpendLimit().GetTokens() != 9 {
			t.Errorf("the sweep: got %v, want a limit of 9 tokens, which is not reached", info)
		}
	}
	if got, want := i.jobs(t), "s.1 in 0, s.2 in 0"; got != want {
		t.Errorf("jobs: got %q, want %q", got, want)
	}
}

// TestRequeue queues what has failed of a sweep that runs, several times and at once: each failure
// is queued once, in a round of its own, and what runs stays.
func TestRequeue(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one", "two", "three", "four"))
	requeue := func() int64 {
		t.Helper()
		response, err := i.client.RequeueSweep(within(t), &orchestratorv1.RequeueSweepRequest{SweepId: "s"})
		if err != nil {
			t.Errorf("RequeueSweep: %v", err)
		}
		return response.GetRollouts()
	}
	if n := requeue(); n != 0 {
		t.Errorf("nothing has failed: got %d, want 0", n)
	}
	i.queued(t, 4) // they run
	i.end(t, "s.0", 0, busv1.EndReason_END_REASON_FINISHED)
	i.end(t, "s.1", 0, busv1.EndReason_END_REASON_INFRASTRUCTURE)
	i.end(t, "s.2", 0, busv1.EndReason_END_REASON_MODEL_FAILURE) // has a score
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { requeue() })
	}
	group.Wait()
	if got, want := i.jobs(t), "s.1 in 1"; got != want {
		t.Errorf("jobs after the first failure: got %q, want %q", got, want)
	}
	i.end(t, "s.1", 1, busv1.EndReason_END_REASON_FINISHED)
	i.end(t, "s.3", 0, busv1.EndReason_END_REASON_INFRASTRUCTURE)
	if n := requeue(); n != 1 {
		t.Errorf("the second failure: got %d, want 1", n)
	}
	if got, want := i.jobs(t), "s.3 in 2"; got != want {
		t.Errorf("jobs after the second failure: got %q, want %q", got, want)
	}
	// A call that died after it had begun the round.
	if n := requeue(); n != 1 {
		t.Errorf("a repeated call whose jobs are missing: got %d, want 1", n)
	}
}

// TestDelete deletes a sweep. It has to be over, and nothing of it may run. Its id stays reserved,
// and repeating it succeeds, also after a call that died.
func TestDelete(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one", "two"))
	i.create(t, "other", spec("one"))
	remove := func() error {
		_, err := i.client.DeleteSweep(within(t), &orchestratorv1.DeleteSweepRequest{SweepId: "s"})
		return err
	}
	service := newServer(t, i)
	sweep, err := i.Bus().Sweep(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := remove(); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a sweep that runs: got %v, want %v", err, codes.FailedPrecondition)
	}
	if err := i.Bus().CancelSweep(t.Context(), "s", 0); err != nil {
		t.Fatal(err)
	}
	early := func() error { t.Error("check: got called before the last result, want after it"); return nil }
	if err := statusOf(service.beginDeletion(within(t), sweep, early)); status.Code(err) != codes.Unavailable {
		t.Errorf("rollouts that still end: got %v, want %v", err, codes.Unavailable)
	}
	i.queued(t, 2)
	i.finish(t, "s.0", busv1.EndReason_END_REASON_FINISHED)
	i.finish(t, "s.1", busv1.EndReason_END_REASON_CANCELLED)
	young := func() error { return errYoung }
	if err := service.beginDeletion(within(t), sweep, young); !errors.Is(err, errYoung) {
		t.Errorf("a sweep that its check keeps: got %v, want %v", err, errYoung)
	}
	if err := service.beginDeletion(within(t), sweep, func() error { return nil }); err != nil { // and dies
		t.Fatal(err)
	}
	got, err := i.client.GetSweep(within(t), &orchestratorv1.GetSweepRequest{SweepId: "s"})
	if err != nil || !got.GetSweep().GetDeleted() {
		t.Errorf("a sweep that is being deleted: got %v and %v, want that", got, err)
	}
	for range 2 {
		if err := remove(); err != nil {
			t.Errorf("DeleteSweep: got %v, want nil", err)
		}
	}
	if got, err = i.client.GetSweep(within(t), &orchestratorv1.GetSweepRequest{SweepId: "s"}); err != nil || !got.GetSweep().GetDeleted() {
		t.Errorf("a deleted sweep: got %v and %v, want that", got, err)
	}
	if sweeps := i.list(t, 0, "").GetSweeps(); len(sweeps) != 1 || sweeps[0].GetId() != "other" {
		t.Errorf("sweeps: got %v, want the other one", sweeps)
	}
	if n, err := i.Bus().Queued(t.Context(), "other"); err != nil || n != 1 {
		t.Errorf("jobs of the other sweep: got %d and %v, want 1", n, err)
	}
	_, err = i.client.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{SweepId: "s", Spec: spec("one", "two"), Round: 1})
	if status.Code(err) != codes.AlreadyExists {
		t.Errorf("CreateSweep with its id: got %v, want %v", err, codes.AlreadyExists)
	}
	if _, err := i.client.UpdateSweep(within(t), &orchestratorv1.UpdateSweepRequest{SweepId: "s"}); status.Code(err) != codes.NotFound {
		t.Errorf("UpdateSweep of it: got %v, want %v", err, codes.NotFound)
	}
}

// TestRoundStopsDeletion begins a round between the look at a sweep and its deletion.
func TestRoundStopsDeletion(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one"))
	if err := i.Bus().BeginRound(t.Context(), "s", nil, 1, []int{0}); err != nil {
		t.Fatal(err)
	}
	deleted, err := i.Bus().BeginDeletion(t.Context(), "s", func(now *busv1.SweepControl) bool { return len(now.GetRounds()) == 0 })
	if err != nil || deleted {
		t.Errorf("BeginDeletion: got %t and %v, want false and nil", deleted, err)
	}
	if control, err := i.Bus().Control(t.Context(), "s"); err != nil || bus.Rounds(control.GetRounds()).Last() != 1 {
		t.Errorf("control: got %v and %v, want the round", control, err)
	}
}
