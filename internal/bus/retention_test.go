package bus_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// TestNothingExpires checks that no stream has an age limit: NATS does not know what has ended.
func TestNothingExpires(t *testing.T) {
	cfg := natstest.OneShard
	cfg.Retention = time.Hour
	for _, stream := range bus.StreamConfigs(cfg) {
		if stream.MaxAge != 0 {
			t.Errorf("%s: got an age limit of %s, want none", stream.Name, stream.MaxAge)
		}
	}
}

// openRetaining opens the bus as an orchestrator and an evaluator do, each as its user of NATS. The
// retention is set later.
func openRetaining(t *testing.T, retention time.Duration) (js jetstream.JetStream, orchestrator, evaluator *bus.Bus) {
	t.Helper()
	_, as := natstest.Secured(t, securedShards)
	js = jetStream(t, as(bus.RoleOperator))
	cfg := bus.Config{Shards: securedShards, Replicas: 1, CreateTimeout: time.Minute}
	remake := func() {
		t.Helper()
		if err := bus.Init(t.Context(), js, cfg, func(err error) { t.Logf("Init waits: %v", err) }); err != nil {
			t.Fatal(err)
		}
	}
	remake()
	orchestrator = open(t, jetStream(t, as(bus.RoleOrchestrator)), bus.RoleOrchestrator)
	evaluator = open(t, jetStream(t, as(bus.RoleEvaluator)), bus.RoleEvaluator)
	cfg.Retention = retention
	remake()
	return js, orchestrator, evaluator
}

// retain has both remove what is old until the test ends. next waits for the next pass of the
// orchestrator and returns its time.
func retain(t *testing.T, orchestrator, evaluator *bus.Bus) (next func() (before time.Time)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	failed := func(err error) { t.Errorf("Retain: got %v, want nil", err) }
	passes := make(chan time.Time)
	var group sync.WaitGroup
	group.Go(func() {
		orchestrator.Sweeps.Retain(ctx, func(ctx context.Context, before time.Time) error {
			select {
			case passes <- before:
			case <-ctx.Done():
			}
			return nil
		}, failed)
	})
	group.Go(func() { evaluator.Evaluations.Retain(ctx, failed) })
	t.Cleanup(func() {
		stop()
		group.Wait()
	})
	limit := time.After(time.Minute)
	return func() (before time.Time) {
		t.Helper()
		select {
		case before = <-passes:
		case <-limit:
			t.Fatal("passes: got too few within a minute")
		}
		return before
	}
}

// TestRetainDocuments keeps documents while a sweep from their time exists, and removes them
// afterwards. A document that is stored again lasts as long again.
func TestRetainDocuments(t *testing.T) {
	js, b, evaluator := openRetaining(t, time.Second)
	setup := &setupv1.Setup{Name: "one"}
	if err := b.PutSweep(t.Context(), &busv1.Sweep{Id: "s"}); err != nil {
		t.Fatal(err)
	}
	_, setupErr := b.PutSetup(t.Context(), setup)
	_, toolsErr := b.PutTools(t.Context(), &agentgwv1.ToolSet{})
	_, evaluationErr := evaluator.PutEvaluation(t.Context(), &evaluationv1.Evaluation{})
	if err := errors.Join(setupErr, toolsErr, evaluationErr); err != nil {
		t.Fatal(err)
	}
	next := retain(t, b, evaluator)
	for old := false; !old; {
		var err error
		if old, err = b.IsOlder(t.Context(), "s", next()); err != nil {
			t.Fatal(err)
		}
	}
	messages := func(stream string) (n, first uint64) {
		t.Helper()
		found, err := js.Stream(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		state := found.CachedInfo().State
		return state.Msgs, state.FirstSeq
	}
	for _, stream := range []string{"SETUP", "EVALUATION"} {
		if n, _ := messages(stream); n == 0 {
			t.Errorf("%s: got nothing, want the documents of the sweep", stream)
		}
	}
	if _, err := b.PutSetup(t.Context(), setup); err != nil {
		t.Fatal(err)
	}
	if n, first := messages("SETUP"); n != 2 || first != 2 {
		t.Errorf("SETUP: got %d documents from %d on, want two from the second on, since the first was stored again", n, first)
	}
	if sweeps, err := b.StoredSweeps(t.Context()); err != nil || !slices.Equal(sweeps, []bus.StoredSweep{{ID: "s", Planned: true}}) {
		t.Errorf("sweeps: got %v and %v, want the one", sweeps, err)
	}
	if err := errors.Join(b.RemoveSweepData(t.Context(), "s"), b.RemovePlan(t.Context(), "s"), b.RemoveControl(t.Context(), "s")); err != nil {
		t.Fatal(err)
	}
	for left := uint64(1); left > 0; {
		next()
		n, _ := messages("SETUP")
		evaluations, _ := messages("EVALUATION")
		left = n + evaluations
	}
}
