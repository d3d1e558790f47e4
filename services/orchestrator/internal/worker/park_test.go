package worker

import "testing"

// TestLimitThatRoseMeanwhile sets a job aside whose sweep has got a higher limit by then: it is
// queued again.
func TestLimitThatRoseMeanwhile(t *testing.T) {
	s := newStage(t)
	s.enqueueModel(t, "s.0")
	s.worker(t, nil, nil).parkJob(t.Context(), s.fetch(t, "s.0", lease))
	if got := s.fetch(t, "s.0", lease); got.Rollout.GetId() != "s.0" || got.Attempt != 1 {
		t.Errorf("job: got %s, delivered %d times, want s.0 as if it were new", got.Rollout.GetId(), got.Attempt)
	}
}
