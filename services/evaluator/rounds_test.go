package evaluator

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// failRollout publishes a rollout that fails after its second message, and returns the end of its
// log. The table version of the missing answers is published already.
func (s *testBus) failRollout(tb testing.TB, rollout *busv1.Rollout) bus.Position {
	tb.Helper()
	said, versions := messages(), []*worldv1.TableVersion{versionAt(0)}
	s.snapshot(tb, rollout.GetId())
	return s.entries(tb, rollout, bus.Position{},
		&busv1.LogEntry{Start: &busv1.Start{Rollout: rollout, Messages: said[:1], Versions: versions, MaxMessages: 30}, Claim: &busv1.Claim{}},
		&busv1.LogEntry{Turns: []*busv1.Turn{{Messages: said[1:2], Versions: versions}}, End: ended(busv1.EndReason_END_REASON_INFRASTRUCTURE)},
	)
}

// continueRollout continues a failed rollout in a round.
func (s *testBus) continueRollout(tb testing.TB, rollout *busv1.Rollout, round int32, last bus.Position, end busv1.EndReason) bus.Position {
	tb.Helper()
	if end == busv1.EndReason_END_REASON_INFRASTRUCTURE {
		return s.entries(tb, rollout, last, &busv1.LogEntry{Claim: &busv1.Claim{Round: round}, End: ended(end)})
	}
	said, versions := messages(), []*worldv1.TableVersion{versionAt(2)}
	return s.entries(tb, rollout, last,
		&busv1.LogEntry{Claim: &busv1.Claim{Round: round}},
		&busv1.LogEntry{Turns: []*busv1.Turn{{Messages: said[2:3], Versions: versions}}},
		&busv1.LogEntry{Turns: []*busv1.Turn{{Messages: said[3:], Versions: versions}}, End: ended(end)},
	)
}

func (s *testBus) entries(tb testing.TB, rollout *busv1.Rollout, last bus.Position, entries ...*busv1.LogEntry) bus.Position {
	tb.Helper()
	for _, entry := range entries {
		var err error
		if last, err = s.Append(tb.Context(), rollout.GetId(), entry, last); err != nil {
			tb.Fatal(err)
		}
	}
	return last
}

// waitForRounds waits until the calm rollout has its result and the other one that of a round, and
// returns the last of each.
func (s *testBus) waitForRounds(tb testing.TB, round int32) map[string]*busv1.Result {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), waitTimeout)
	defer cancel()
	type key struct {
		id    string
		round int32
	}
	seen, got := make(map[key]bool), make(map[string]*busv1.Result)
	err := s.FollowResults(ctx, "", func(result *busv1.Result) error {
		at := key{result.GetRollout().GetId(), result.GetRound()}
		if seen[at] {
			tb.Errorf("results of %v: got a second one", at)
		}
		seen[at] = true
		if result.GetRound() >= got[at.id].GetRound() { // results of several rounds are in any order
			got[at.id] = result
		}
		if seen[key{"calm.0", 0}] && seen[key{"s.0", round}] {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		tb.Fatalf("results: got %v and %v, want one of round %d", seen, err, round)
	}
	return got
}

// TestRoundsAfterFailure scores a rollout that continues twice after it failed. The evaluator
// follows all of it, stops before the last round, or starts after the end.
func TestRoundsAfterFailure(t *testing.T) {
	const failed, finished = busv1.EndReason_END_REASON_INFRASTRUCTURE, busv1.EndReason_END_REASON_FINISHED
	for _, evaluator := range []string{"follows", "is stopped between", "comes late"} {
		t.Run("evaluator "+evaluator, func(t *testing.T) {
			s := newTestBus(t)
			calm, rollout := s.rollout("calm.0"), s.rollout("s.0")
			stop, early := func() {}, evaluator != "comes late"
			if early {
				stop = s.run(t)
			}
			s.play(t, calm, ended(finished))
			last := s.failRollout(t, rollout)
			if early {
				s.waitForRounds(t, 0)
			}
			last = s.continueRollout(t, rollout, 1, last, failed)
			if early {
				s.waitForRounds(t, 1)
			}
			if evaluator == "is stopped between" {
				stop()
			}
			s.continueRollout(t, rollout, 3, last, finished)
			if evaluator != "follows" {
				s.run(t)
			}
			got := s.waitForRounds(t, 3)
			if end := got["s.0"].GetEnd().GetReason(); end != finished {
				t.Errorf("end in the last round: got %v, want %v", end, finished)
			}
			got["s.0"].Rollout, got["s.0"].Round, got["s.0"].LogDigest = calm, 0, got["calm.0"].GetLogDigest()
			if diff := cmp.Diff(got["calm.0"], got["s.0"], protocmp.Transform()); diff != "" {
				t.Errorf("last result (-calm +got):\n%s", diff)
			}
		})
	}
}

// TestFailureBeforeStart scores a rollout whose first round failed before its start, so that its
// start does not contain the versions of the setup.
func TestFailureBeforeStart(t *testing.T) {
	s := newTestBus(t)
	s.run(t)
	s.play(t, s.rollout("calm.0"), ended(busv1.EndReason_END_REASON_FINISHED))
	rollout, said := s.rollout("s.0"), messages()
	last := s.entries(t, rollout, bus.Position{}, &busv1.LogEntry{
		Start: &busv1.Start{Rollout: rollout, Messages: said[:1], MaxMessages: 30}, Claim: &busv1.Claim{}, End: ended(busv1.EndReason_END_REASON_INFRASTRUCTURE),
	})
	s.waitForRounds(t, 0)
	starting := []*worldv1.TableVersion{versionAt(0)}
	last = s.entries(t, rollout, last,
		&busv1.LogEntry{Claim: &busv1.Claim{Round: 1, Versions: starting}}, &busv1.LogEntry{Turns: []*busv1.Turn{{Messages: said[1:2], Versions: starting}}})
	s.snapshot(t, "s.0")
	changed := []*worldv1.TableVersion{versionAt(2)}
	s.entries(t, rollout, last, &busv1.LogEntry{
		Turns: []*busv1.Turn{{Messages: said[2:], Versions: changed}}, End: ended(busv1.EndReason_END_REASON_FINISHED),
	})
	got := s.waitForRounds(t, 1)
	if got["s.0"].GetSimilarity() != got["calm.0"].GetSimilarity() {
		t.Errorf("similarity: got %v, want %v", got["s.0"].GetSimilarity(), got["calm.0"].GetSimilarity())
	}
}
