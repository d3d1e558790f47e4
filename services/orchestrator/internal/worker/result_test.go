package worker

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestResultRequested plays rollouts whose results nobody stores: the worker asks for them again
// and again, gives up one that nobody scores in time, and finishes the job of one whose result it
// was not told of.
func TestResultRequested(t *testing.T) {
	s := newStage(t)
	impatient := func(limit time.Duration) *Worker {
		w := s.worker(t, func(c *Config) { c.Lease, c.ResultTimeout = patience, limit }, nil)
		w.resultWait = 20 * time.Millisecond
		return w
	}
	var asked atomic.Int32
	ctx := t.Context()
	followed := make(chan error, 1)
	go func() {
		followed <- s.FollowScoreRequests(ctx, func(request *busv1.Result) error {
			isLost := asked.Add(1) < 3
			if isLost || request.GetRollout().GetId() == "late.0" && request.GetEnd() == nil {
				return nil
			}
			_, err := s.PublishResult(ctx, request)
			return err
		})
	}()
	stop := run(ctx, t, impatient(patience))
	s.enqueue(t, 0, "s.0")
	s.empty(t)
	stop()
	if got := asked.Load(); got < 3 {
		t.Errorf("requests: got %d, want 3 or more", got)
	}
	run(ctx, t, impatient(100*time.Millisecond))
	s.enqueue(t, 0, "late.0")
	s.empty(t)
	result, err := s.RoundResult(ctx, "late.0", 0)
	if err != nil || !strings.Contains(result.GetEnd().GetDetail(), errNoResult.Error()) {
		t.Errorf("result of the one that nobody scores: got %v and %v, want a failure", result, err)
	}
}

// TestResultOfLostEnd takes away the end of a log whose worker waits for the result: the job is
// delivered again, and the rollout ends again.
func TestResultOfLostEnd(t *testing.T) {
	s := newStage(t)
	w := s.worker(t, func(c *Config) { c.Lease = patience }, nil)
	w.resultWait = 20 * time.Millisecond
	run(t.Context(), t, w)
	s.enqueue(t, 0, "s.0")
	s.ended(t, "s.0")
	before, err := s.ReadLog(t.Context(), "s.0")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.js.Stream(t.Context(), "BUS_0")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), before.End.Sequence); err != nil {
		t.Fatal(err)
	}
	until(t, "it has ended again", func() bool {
		log, err := s.ReadLog(t.Context(), "s.0")
		return err == nil && log.End.Sequence > before.End.Sequence && log.Entries[len(log.Entries)-1].GetEnd() != nil
	})
	s.score(t, "s.0")
	s.empty(t)
	if _, err := s.RoundResult(t.Context(), "s.0", 0); errors.Is(err, bus.ErrNotFound) {
		t.Error("result: got none")
	}
}
