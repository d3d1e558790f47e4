package bus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// roundKey returns the name of a rollout's job and result in a round. Round 0 adds no suffix.
func roundKey(rolloutID string, round int32) string {
	if round == 0 {
		return rolloutID
	}
	return rolloutID + "." + strconv.Itoa(int(round))
}

// SweepOf returns the sweep of a rollout id, which is the part before its only dot.
func SweepOf(rolloutID string) string {
	sweepID, _, _ := strings.Cut(rolloutID, ".")
	return sweepID
}

// splitRoundKey is the inverse of roundKey for rollout ids with two parts.
func splitRoundKey(key string) (rolloutID string, round int32) {
	first := strings.IndexByte(key, '.')
	last := strings.LastIndexByte(key, '.')
	if first == last {
		return key, 0
	}
	n, err := strconv.ParseInt(key[last+1:], 10, 32)
	if err != nil {
		return key, 0
	}
	return key[:last], int32(n)
}

// Rounds are the begun rounds of a sweep after round 0, by number.
type Rounds []*busv1.SweepRound

// Of returns the round of the n-th rollout of the plan.
func (r Rounds) Of(n int) int32 {
	for _, round := range slices.Backward(r) {
		if rollouts := round.GetRollouts(); n >= 0 && n/8 < len(rollouts) && rollouts[n/8]&(1<<(n%8)) != 0 {
			return round.GetNumber()
		}
	}
	return 0
}

// OfID returns the round of a rollout.
func (r Rounds) OfID(rolloutID string) int32 {
	n, err := strconv.Atoi(rolloutID[strings.LastIndexByte(rolloutID, '.')+1:])
	if err != nil {
		return 0
	}
	return r.Of(n)
}

// Last returns the number of the last round.
func (r Rounds) Last() int32 {
	if len(r) == 0 {
		return 0
	}
	return r[len(r)-1].GetNumber()
}

// HasStarted reports whether a round has started.
func (r Rounds) HasStarted(number int32) bool {
	return number == 0 || slices.ContainsFunc(r, func(round *busv1.SweepRound) bool { return round.GetNumber() == number })
}

// Rounds returns the rounds of a sweep.
func (b Controls) Rounds(ctx context.Context, sweepID string) (Rounds, error) {
	control, err := b.Control(ctx, sweepID)
	return control.GetRounds(), err
}

// BeginRound begins a round, from 1, that is not in rounds. rollouts are its rollouts by number in
// the plan. The error is ErrFenced if a round, possibly this one, has begun since rounds were read:
// read them again.
func (b Controls) BeginRound(ctx context.Context, sweepID string, rounds Rounds, number int32, rollouts []int) error {
	newRound := &busv1.SweepRound{Number: number}
	if len(rollouts) > 0 {
		newRound.Rollouts = make([]byte, slices.Max(rollouts)/8+1)
	}
	for _, n := range rollouts {
		newRound.Rollouts[n/8] |= 1 << (n % 8)
	}
	fenced := false
	err := b.UpdateControl(ctx, sweepID, func(control *busv1.SweepControl) bool {
		if fenced = len(control.GetRounds()) != len(rounds); fenced {
			return false
		}
		control.Rounds = append(control.GetRounds(), newRound)
		slices.SortFunc(control.Rounds, func(a, b *busv1.SweepRound) int { return cmp.Compare(a.GetNumber(), b.GetNumber()) })
		return true
	})
	if err == nil && fenced {
		err = ErrFenced
	}
	if err != nil {
		return fmt.Errorf("begin round %d of sweep %s: %w", number, sweepID, err)
	}
	return nil
}
