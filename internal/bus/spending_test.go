package bus_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/natstest"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

func TestSpending(t *testing.T) {
	ctx, b := t.Context(), natstest.Start(t)
	empty, revision, err := b.Spending(ctx, "s")
	if err != nil || revision != 0 || empty.GetLimit() != nil {
		t.Fatalf("spending before it is set: got %v, %d, %v, want nothing", empty, revision, err)
	}
	want := &busv1.SweepSpending{Limit: &agentgwv1.SpendLimit{Tokens: 5}}
	for _, exhausted := range []string{"", "all of it"} {
		want.Exhausted = exhausted
		if err := b.SetSpending(ctx, "s", want, revision); err != nil {
			t.Fatal(err)
		}
		if err := b.SetSpending(ctx, "s", want, revision); !errors.Is(err, bus.ErrFenced) {
			t.Errorf("in place of an earlier revision: got %v, want ErrFenced", err)
		}
		var got *busv1.SweepSpending
		if got, revision, err = b.Spending(ctx, "s"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("spending (-want +got):\n%s", diff)
		}
	}
}

func TestQueued(t *testing.T) {
	ctx, b := t.Context(), natstest.Start(t)
	if err := b.Enqueue(ctx, []*busv1.Job{{Rollout: &busv1.Rollout{Id: "s.0"}}, {Rollout: &busv1.Rollout{Id: "s.1"}, Round: 2}, {Rollout: &busv1.Rollout{Id: "other.0"}}}); err != nil {
		t.Fatal(err)
	}
	for sweep, want := range map[string]int{"s": 2, "other": 1, "none": 0} {
		if got, err := b.Queued(ctx, sweep); err != nil || got != want {
			t.Errorf("queued rollouts of %s: got %d, %v, want %d", sweep, got, err, want)
		}
	}
}
