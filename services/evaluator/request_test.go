package evaluator

import (
	"errors"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestRequestedFailure asks an evaluator to store ends as results: it stores a failure of the
// infrastructure, unless there is a result, and no other end, which would be a score.
func TestRequestedFailure(t *testing.T) {
	s := newTestBus(t)
	s.run(t)
	request := func(id string, reason busv1.EndReason) {
		t.Helper()
		for err := errors.New("not yet"); err != nil; { // until the evaluator follows
			err = s.RequestFailure(t.Context(), &busv1.Rollout{Id: id}, 0, ended(reason))
			if err != nil && !errors.Is(err, bus.ErrUnavailable) {
				t.Fatal(err)
			}
		}
	}
	request("s.0", busv1.EndReason_END_REASON_INFRASTRUCTURE)
	for _, reason := range []busv1.EndReason{busv1.EndReason_END_REASON_FINISHED, busv1.EndReason_END_REASON_MODEL_FAILURE, busv1.EndReason_END_REASON_CANCELLED} {
		request("s.1", reason)
	}
	if got, err := s.RoundResult(t.Context(), "s.0", 0); err != nil || got.GetEnd().GetReason() != busv1.EndReason_END_REASON_INFRASTRUCTURE {
		t.Errorf("result of s.0: got %v and %v, want the failure", got, err)
	}
	if got, err := s.RoundResult(t.Context(), "s.1", 0); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("result of s.1: got %v and %v, want none", got, err)
	}
}
