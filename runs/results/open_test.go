package results

import (
	"context"
	"errors"
	"math"
	"testing"
)

// endingContext ends when somebody has looked at it a few times.
type endingContext struct {
	context.Context
	looks, end int
}

func (c *endingContext) Err() error {
	if c.looks++; c.looks > c.end {
		return context.Canceled
	}
	return nil
}

// TestOpenEnds ends the reading of tables after each step. It stops at the next look, of which
// there is one for each few hundred rows.
func TestOpenEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tables, _, _ := openTestTables(t, dir)
	var rollouts []Rollout
	for n := range 2000 {
		rollouts = append(rollouts, tableRollout(n, false))
		if err := tables.Add(rollouts[n], nil); err != nil {
			t.Fatal(err)
		}
	}
	closeRun(t, dir, tables, rollouts)
	whole := &endingContext{Context: t.Context(), end: math.MaxInt}
	if _, err := Open(whole, dir, nil); err != nil || whole.looks < len(rollouts)/512 {
		t.Fatalf("got %v after %d looks, want one for each 512 rollouts", err, whole.looks)
	}
	for end := range whole.looks {
		ctx := &endingContext{Context: t.Context(), end: end}
		if _, err := Open(ctx, dir, nil); !errors.Is(err, context.Canceled) || errors.Is(err, ErrDamaged) || ctx.looks > end+3 {
			t.Errorf("end after %d looks: got %v after %d, want %v at once", end, err, ctx.looks, context.Canceled)
		}
	}
}
