package bus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

func sweepRoundSubject(sweepID, round string) string { return "sweep." + sweepID + ".round." + round }

// roundKey names what there is once a rollout and round: its job and its result. Round 0 adds
// nothing.
func roundKey(rolloutID string, round int32) string {
	if round == 0 {
		return rolloutID
	}
	return rolloutID + "." + strconv.Itoa(int(round))
}

// splitRoundKey is the inverse of roundKey for a rollout's id of two parts.
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

// round is one that has begun, with the rollouts that it names.
type round struct {
	number   int32
	rollouts []byte
}

// Rounds are those of a sweep that have begun, beside round 0. The zero value is that of a sweep
// without any.
type Rounds struct {
	begun    []round
	revision uint64 // sequence of the document that was stored last
}

// Of returns the round that the n-th rollout of the plan is in.
func (r Rounds) Of(n int) int32 {
	for _, round := range slices.Backward(r.begun) {
		if n >= 0 && n/8 < len(round.rollouts) && round.rollouts[n/8]&(1<<(n%8)) != 0 {
			return round.number
		}
	}
	return 0
}

// OfID returns the round that a rollout is in.
func (r Rounds) OfID(rolloutID string) int32 {
	n, err := strconv.Atoi(rolloutID[strings.LastIndexByte(rolloutID, '.')+1:])
	if err != nil {
		return 0
	}
	return r.Of(n)
}

// Last returns the number of the last round.
func (r Rounds) Last() int32 {
	if len(r.begun) == 0 {
		return 0
	}
	return r.begun[len(r.begun)-1].number
}

// Begun says whether a round has begun.
func (r Rounds) Begun(number int32) bool {
	return number == 0 || slices.ContainsFunc(r.begun, func(round round) bool { return round.number == number })
}

// Rounds returns the rounds of a sweep.
func (b *Bus) Rounds(ctx context.Context, sweepID string) (Rounds, error) {
	var rounds Rounds
	prefix := sweepRoundSubject(sweepID, "")
	err := b.all(ctx, sweepStream, prefix+"*", func(msg *jetstream.RawStreamMsg) error {
		number, err := strconv.ParseInt(strings.TrimPrefix(msg.Subject, prefix), 10, 32)
		if err != nil {
			return fmt.Errorf("%s: %w", msg.Subject, err)
		}
		stored, err := decode[busv1.SweepRound](msg.Subject, msg.Data)
		rounds.begun = append(rounds.begun, round{number: int32(number), rollouts: stored.GetRollouts()})
		rounds.revision = msg.Sequence
		return err
	})
	if err != nil {
		return Rounds{}, fmt.Errorf("read rounds of sweep %s: %w", sweepID, err)
	}
	slices.SortFunc(rounds.begun, func(a, b round) int { return cmp.Compare(a.number, b.number) })
	return rounds, nil
}

// BeginRound stores which rollouts of a sweep, by number in the plan, are played in a round from 1
// on that is not among rounds. ErrFenced means that one has begun since they were read, which may
// be this one: read them again.
func (b *Bus) BeginRound(ctx context.Context, sweepID string, rounds Rounds, number int32, rollouts []int) error {
	stored := &busv1.SweepRound{}
	if len(rollouts) > 0 {
		stored.Rollouts = make([]byte, slices.Max(rollouts)/8+1)
	}
	for _, n := range rollouts {
		stored.Rollouts[n/8] |= 1 << (n % 8)
	}
	raw, err := proto.Marshal(stored)
	if err == nil {
		_, _, err = b.publish(ctx, sweepRoundSubject(sweepID, strconv.Itoa(int(number))), raw,
			jetstream.WithExpectLastSequenceForSubject(rounds.revision, sweepRoundSubject(sweepID, "*")))
	}
	if isWrongSequence(err) {
		err = ErrFenced
	}
	if err != nil {
		return fmt.Errorf("begin round %d of sweep %s: %w", number, sweepID, err)
	}
	return nil
}
