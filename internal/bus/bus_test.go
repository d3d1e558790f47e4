package bus_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func entry(attempt int32) *busv1.LogEntry {
	return &busv1.LogEntry{Claim: &busv1.Claim{Worker: "w", Attempt: attempt}}
}

func opening(id string, attempt int32) *busv1.LogEntry {
	return &busv1.LogEntry{Start: &busv1.Start{Rollout: &busv1.Rollout{Id: id}}, Claim: &busv1.Claim{Worker: "w", Attempt: attempt}}
}

func TestAppendFencesAllButOneWriter(t *testing.T) {
	b := natstest.Start(t)
	ctx := t.Context()
	const writers = 8
	var wins sync.Map
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() {
			switch _, err := b.Append(ctx, "s.1", opening("s.1", int32(writer)), bus.Position{}); {
			case err == nil:
				wins.Store(writer, true)
			case !errors.Is(err, bus.ErrFenced):
				t.Errorf("Append by writer %d: got %v, want nil or ErrFenced", writer, err)
			}
		})
	}
	group.Wait()
	won := 0
	wins.Range(func(any, any) bool { won++; return true })
	if won != 1 {
		t.Fatalf("writers that opened the log: got %d, want 1", won)
	}
	log, err := b.ReadLog(ctx, "s.1")
	if err != nil || len(log.Entries) != 1 {
		t.Fatalf("ReadLog: got %v and %v, want one entry and nil", log, err)
	}
	if _, err := b.Append(ctx, "s.1", entry(9), log.End); err != nil {
		t.Fatalf("Append after the last entry: %v", err)
	}
	if _, err := b.Append(ctx, "s.1", entry(10), log.End); !errors.Is(err, bus.ErrFenced) {
		t.Fatalf("Append after an entry that is not the last: got %v, want ErrFenced", err)
	}
}

func TestResultIsCreatedOnce(t *testing.T) {
	b := natstest.Start(t)
	ctx := t.Context()
	if _, err := b.Result(ctx, "s.1"); !errors.Is(err, bus.ErrNotFound) {
		t.Fatalf("Result before any: got %v, want ErrNotFound", err)
	}
	first := &busv1.Result{Rollout: &busv1.Rollout{Id: "s.1"}, Similarity: 0.5}
	second := &busv1.Result{Rollout: &busv1.Rollout{Id: "s.1"}, Similarity: 1}
	for i, want := range []bool{true, false} {
		created, err := b.PublishResult(ctx, []*busv1.Result{first, second}[i])
		if err != nil || created != want {
			t.Fatalf("PublishResult %d: got %v and %v, want %v and nil", i, created, err, want)
		}
	}
	got, err := b.Result(ctx, "s.1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, got, protocmp.Transform()); diff != "" {
		t.Errorf("stored result (-want +got):\n%s", diff)
	}
}

func TestSweepRefusesAnotherPlan(t *testing.T) {
	b := natstest.Start(t)
	plan := &busv1.Sweep{Id: "s", Trials: 1}
	for range 2 {
		if err := b.PutSweep(t.Context(), plan); err != nil {
			t.Fatalf("PutSweep: %v", err)
		}
	}
	if err := b.PutSweep(t.Context(), &busv1.Sweep{Id: "s", Trials: 2}); !errors.Is(err, bus.ErrExists) {
		t.Fatalf("PutSweep of another plan: got %v, want ErrExists", err)
	}
}

func TestDocumentsSurviveTheCache(t *testing.T) {
	conn := natstest.Connect(t, t.TempDir())
	writer := natstest.Open(t, conn, bus.DefaultConfig())
	reader := natstest.Open(t, conn, bus.DefaultConfig())
	setup := &setupv1.Setup{Name: "a", Categories: []string{"SINGLE_TOOL_CALL"}}
	digest, err := writer.PutSetup(t.Context(), setup)
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader.Setup(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(setup, got, protocmp.Transform()); diff != "" {
		t.Errorf("setup (-want +got):\n%s", diff)
	}
	evaluation := &evaluationv1.Evaluation{Milestones: &evaluationv1.Graph{Nodes: []*evaluationv1.Node{{Name: "n"}}}}
	digest, err = writer.PutEvaluation(t.Context(), evaluation)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := reader.Evaluation(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(evaluation, stored, protocmp.Transform()); diff != "" {
		t.Errorf("evaluation (-want +got):\n%s", diff)
	}
}

// TestLostDocumentsAreStoredAgain checks that a document is stored again after the server has lost
// it, and only once.
func TestLostDocumentsAreStoredAgain(t *testing.T) {
	conn := natstest.Connect(t, t.TempDir())
	writer := natstest.Open(t, conn, bus.DefaultConfig())
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	puts := map[string]func() error{
		"SETUP": func() error {
			_, err := writer.PutSetup(t.Context(), &setupv1.Setup{Name: "a"})
			return err
		},
		"EVALUATION": func() error {
			_, err := writer.PutEvaluation(t.Context(), &evaluationv1.Evaluation{})
			return err
		},
	}
	for name, put := range puts {
		stream, err := js.Stream(t.Context(), name)
		if err = errors.Join(err, put()); err != nil {
			t.Fatal(err)
		}
		if err := stream.Purge(t.Context()); err != nil { // as if it was lost
			t.Fatal(err)
		}
		if err := errors.Join(put(), put()); err != nil {
			t.Fatal(err)
		}
		info, err := stream.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.State.Msgs != 1 {
			t.Errorf("%s: got %d messages, want 1", name, info.State.Msgs)
		}
	}
}

// TestFollowDeliversInOrder appends within a trace. No stored entry carries it.
func TestFollowDeliversInOrder(t *testing.T) {
	b := natstest.Open(t, natstest.Connect(t, t.TempDir()), natstest.OneShard)
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	publish := trace.ContextWithSpanContext(t.Context(), span)
	var last bus.Position
	for i := range int32(5) {
		seq, err := b.Append(publish, "s.1", entry(i), last)
		if err != nil {
			t.Fatal(err)
		}
		last = seq
	}
	ctx, stop := context.WithCancel(t.Context())
	var got []int32
	err := b.FollowLog(ctx, 0, func(rolloutID string, _ uint64, entry *busv1.LogEntry) error {
		if at := trace.SpanContextFromContext(ctx); at.IsValid() {
			t.Errorf("trace of entry %d: got %s, want none", entry.GetClaim().GetAttempt(), at.TraceID())
		}
		if rolloutID != "s.1" {
			t.Errorf("rollout id: got %q, want s.1", rolloutID)
		}
		if got = append(got, entry.GetClaim().GetAttempt()); len(got) == 5 {
			stop()
		}
		return nil
	})
	if err != nil {
		t.Fatalf("FollowLog: %v", err)
	}
	if diff := cmp.Diff([]int32{0, 1, 2, 3, 4}, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestJobIsRedeliveredUnlessAcked(t *testing.T) {
	conn := natstest.Connect(t, t.TempDir())
	b := natstest.Open(t, conn, natstest.OneShard)
	ctx := t.Context()
	jobs := []*busv1.Job{
		{Rollout: &busv1.Rollout{Id: "s.0", Agent: &agentgwv1.Player{Name: "oracle"}}, Parallel: 3},
		{Rollout: &busv1.Rollout{Id: "s.1", Agent: &agentgwv1.Player{Name: "oracle"}}, Parallel: 3},
	}
	for range 2 { // queueing twice leaves one of each
		if err := b.Enqueue(ctx, jobs); err != nil {
			t.Fatal(err)
		}
	}
	queue, err := b.OpenQueue(ctx, "s", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	first, err := queue.Fetch(ctx, 1, time.Minute)
	if err != nil || len(first) != 1 {
		t.Fatalf("Fetch: got %d jobs and %v, want 1 and nil", len(first), err)
	}
	if err := first[0].DoubleAck(ctx); err != nil {
		t.Fatal(err)
	}
	for attempt := 1; attempt <= 2; attempt++ { // the second is left alone once and delivered again after its lease
		if attempt == 2 {
			shortenLease(t, jetStream(t, conn), "s", 500*time.Millisecond)
		}
		jobs, err := queue.Fetch(ctx, 10, time.Minute)
		if err != nil || len(jobs) != 1 {
			t.Fatalf("Fetch: got %d jobs and %v, want 1 and nil", len(jobs), err)
		}
		if got := jobs[0]; got.Rollout.GetId() != "s.1" || got.Attempt != attempt || got.Parallel != 3 {
			t.Fatalf("delivery: got %s attempt %d parallel %d, want s.1 attempt %d parallel 3", got.Rollout.GetId(), got.Attempt, got.Parallel, attempt)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	short := bus.DefaultConfig()
	short.Retention = 1
	for _, cfg := range []bus.Config{{Shards: 0, Replicas: 1}, {Shards: 1, Replicas: 0}, {Shards: 1, Replicas: 1, Retention: -1}, {Shards: 1, Replicas: 1, Bytes: 1 << 20}, {Shards: 1, Replicas: 1}, short} {
		if err := cfg.Validate(); err == nil {
			t.Errorf("Validate(%+v): got nil, want an error", cfg)
		}
	}
}
