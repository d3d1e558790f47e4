package orchestrator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// inRound creates the sweep s of four scenarios in a round and returns how many rollouts are done.
func (i *installation) inRound(t *testing.T, round int32) (done int64) {
	t.Helper()
	response, err := i.client.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{
		SweepId: "s", Spec: spec("one", "two", "three", "four"), Round: round,
	})
	if err != nil {
		t.Errorf("CreateSweep in round %d: %v", round, err)
	}
	return response.GetDone()
}

// end stores the result of a rollout in a round.
func (i *installation) end(t *testing.T, id string, round int32, reason busv1.EndReason) {
	t.Helper()
	result := &busv1.Result{Rollout: &busv1.Rollout{Id: id}, Round: round, End: &busv1.End{Reason: reason}}
	if _, err := i.Bus().PublishResult(t.Context(), result); err != nil {
		t.Fatal(err)
	}
}

// jobLease is the time after which a job comes again whose delivery was lost, because the machine
// stopped for the second that the client waits for one.
const jobLease = 10 * time.Second

// jobs takes all jobs out of the queue and returns them with their rounds, sorted.
func (i *installation) jobs(t *testing.T) string {
	t.Helper()
	queue, err := i.Bus().OpenQueue(t.Context(), "s", jobLease)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []string
	for {
		if remaining, err := i.Bus().Queued(t.Context(), "s"); err != nil || remaining == 0 {
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(jobs)
			return strings.Join(jobs, ", ")
		}
		deliveries, err := queue.Fetch(within(t), 100, patience)
		if err != nil || len(deliveries) == 0 {
			t.Fatalf("jobs behind %q: got %d and %v, want some", jobs, len(deliveries), err)
		}
		for _, delivery := range deliveries {
			jobs = append(jobs, delivery.Rollout.GetId()+" in "+strconv.Itoa(int(delivery.Round)))
			if err := delivery.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (i *installation) expect(t *testing.T, round int32, done int64, jobs string) {
	t.Helper()
	if got := i.inRound(t, round); got != done {
		t.Errorf("round %d: got %d done, want %d", round, got, done)
	}
	if got := i.jobs(t); got != jobs {
		t.Errorf("jobs of round %d: got %q, want %q", round, got, jobs)
	}
}

func TestRounds(t *testing.T) {
	const failed, finished = busv1.EndReason_END_REASON_INFRASTRUCTURE, busv1.EndReason_END_REASON_FINISHED
	i := installServer(t)
	i.expect(t, 0, 0, "s.0 in 0, s.1 in 0, s.2 in 0, s.3 in 0")
	i.end(t, "s.0", 0, failed)
	i.end(t, "s.1", 0, finished)
	i.end(t, "s.2", 0, busv1.EndReason_END_REASON_MODEL_FAILURE)
	i.expect(t, 0, 3, "s.3 in 0")
	i.expect(t, 1, 2, "s.0 in 1, s.3 in 0")
	i.expect(t, 1, 2, "s.0 in 1, s.3 in 0") // the same round again, as after a lost answer
	i.end(t, "s.0", 1, failed)
	i.end(t, "s.3", 0, failed)
	i.expect(t, 1, 4, "") // has begun: what fails in it is not played again in it
	next := i.watch(t)
	expect(t, next, "4 of 4", "s.1", "s.2", "s.0", "s.3", "end, cancelled false", "")
	i.expect(t, 3, 2, "s.0 in 3, s.3 in 3")
	next = i.watch(t)
	expect(t, next, "2 of 4", "s.1", "s.2")
	i.end(t, "s.0", 3, finished)
	expect(t, next, "s.0")
	i.end(t, "s.3", 3, finished)
	expect(t, next, "s.3", "end, cancelled false", "")
	i.expect(t, 4, 4, "")
	want := []*orchestratorv1.SweepInfo{{Id: "s", Progress: &orchestratorv1.SweepProgress{Total: 4, Done: 4}, Agents: []string{"a"}, Users: []string{"u"}, Round: 4}}
	created := protocmp.IgnoreFields(&orchestratorv1.SweepInfo{}, "created")
	if diff := cmp.Diff(want, i.list(t, 0, "").GetSweeps(), protocmp.Transform(), created); diff != "" {
		t.Errorf("sweeps (-want +got):\n%s", diff)
	}
}

// TestRoundsAtOnce lets several command lines ask for a round each at the same time: what failed is
// played again in one of them only, so that nobody waits for the result of a round that another one
// overtook.
func TestRoundsAtOnce(t *testing.T) {
	const failed = busv1.EndReason_END_REASON_INFRASTRUCTURE
	i := installServer(t)
	i.expect(t, 0, 0, "s.0 in 0, s.1 in 0, s.2 in 0, s.3 in 0")
	in := "0"
	for last := range int32(10) {
		played, err := strconv.ParseInt(in, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 4 {
			i.end(t, "s."+strconv.Itoa(n), int32(played), failed)
		}
		var group sync.WaitGroup
		for n := range int32(4) {
			group.Go(func() { i.inRound(t, 4*last+n+1) })
		}
		group.Wait()
		jobs := i.jobs(t)
		in = jobs[strings.LastIndexByte(jobs, ' ')+1:]
		for n := range 4 {
			if one := fmt.Sprintf("s.%d in %s", n, in); strings.Count(jobs, "s.") != 4 || !strings.Contains(jobs, one) {
				t.Fatalf("jobs: got %q, want four, among them %s", jobs, one)
			}
		}
	}
}

// TestRoundAfterCancellation begins a round of a cancelled sweep: what was not played is played in
// it, and the cancellation is over.
func TestRoundAfterCancellation(t *testing.T) {
	const cancelled, finished = busv1.EndReason_END_REASON_CANCELLED, busv1.EndReason_END_REASON_FINISHED
	i := installServer(t)
	i.expect(t, 0, 0, "s.0 in 0, s.1 in 0, s.2 in 0, s.3 in 0")
	i.end(t, "s.0", 0, finished)
	i.end(t, "s.1", 0, cancelled)
	if _, err := i.client.CancelSweep(within(t), &orchestratorv1.CancelSweepRequest{SweepId: "s"}); err != nil {
		t.Fatal(err)
	}
	expect(t, i.watch(t), "2 of 4", "s.0", "s.1", "end, cancelled true", "")
	i.expect(t, 1, 1, "s.1 in 1, s.2 in 1, s.3 in 1")
	if info := i.list(t, 0, "").GetSweeps()[0]; info.GetCancelled() {
		t.Errorf("sweep: got %v, want one that is not cancelled", info)
	}
	next := i.watch(t)
	expect(t, next, "1 of 4", "s.0")
	for _, id := range []string{"s.1", "s.2", "s.3"} {
		i.end(t, id, 1, finished)
		expect(t, next, id)
	}
	expect(t, next, "end, cancelled false", "")
}

// TestCreateSweepRefusesDamaged names rollouts of no sweep and of another one as damaged.
func TestCreateSweepRefusesDamaged(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one"))
	for _, damaged := range []string{"t.1", "s.0", "t.*", ""} {
		_, err := i.client.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{SweepId: "t", Spec: spec("one"), Round: 1, Damaged: []string{"t.0", damaged}})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "expected rollouts of t") {
			t.Errorf("damaged %q: got %v, want %v", damaged, err, codes.InvalidArgument)
		}
	}
}
