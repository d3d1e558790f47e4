package evaluator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

// TestRetryWhileUnavailable checks that a task is retried while NATS is unavailable, until it
// succeeds, fails otherwise, or is cancelled.
func TestRetryWhileUnavailable(t *testing.T) {
	t.Parallel()
	away, broken := fmt.Errorf("result: %w", bus.ErrUnavailable), errors.New("broken")
	for name, test := range map[string]struct {
		errs  []error
		tries int
		want  error
	}{
		"away twice":       {errs: []error{away, away, nil}, tries: 3},
		"away, then wrong": {errs: []error{away, broken}, tries: 2, want: broken},
		"stopped":          {errs: []error{away, away, context.Canceled}, tries: 2, want: bus.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			j, tries := testScorer(t, bus.Evaluator{}), 0
			err := j.retryUnavailable(ctx, func() error {
				tries++
				if errors.Is(test.errs[len(test.errs)-1], context.Canceled) && tries == test.tries {
					stop()
				}
				return test.errs[tries-1]
			})
			if !errors.Is(err, test.want) || tries != test.tries {
				t.Errorf("persist: got %v after %d tries, want %v after %d", err, tries, test.want, test.tries)
			}
		})
	}
}

func testScorer(tb testing.TB, b bus.Evaluator) *scorer {
	tb.Helper()
	s, err := newScorer(b, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
