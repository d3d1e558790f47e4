package evaluator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// scene is a rollout whose entries and snapshots are published step by step.
type scene struct {
	rollout   *busv1.Rollout
	log       []*busv1.LogEntry
	snapshots []*busv1.Snapshot
	last      bus.Position
	sent      int
}

// randomScene returns a rollout of random length that sometimes adds a contact.
func (s *testBus) randomScene(random *rand.Rand, id string) *scene {
	c := &scene{rollout: s.rollout(id)}
	names := []string{}
	version := named(contacts(0))
	at := func() []*worldv1.TableVersion { return []*worldv1.TableVersion{version} }
	c.log = []*busv1.LogEntry{{
		Start: &busv1.Start{Rollout: c.rollout, Messages: []*worldv1.Message{textMessage(0, user, agent, "add Ann")}, Versions: at(), MaxMessages: 30},
		Claim: &busv1.Claim{},
	}}
	for index := int32(1); index <= 3+random.Int32N(6); index++ {
		message := textMessage(index, agent, user, []string{"done", "not done", "well"}[random.IntN(3)])
		if random.IntN(2) == 0 {
			names = append(names, []string{"Ann", "Bob"}[random.IntN(2)]+fmt.Sprint(index)[:random.IntN(2)])
			changed := contacts(index, names...)
			version = named(changed)
			c.snapshots = append(c.snapshots, &busv1.Snapshot{SessionId: id, Tables: []*worldv1.Table{changed}})
		}
		c.log = append(c.log, &busv1.LogEntry{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{message}, Versions: at()}}})
	}
	c.log[len(c.log)-1].End = ended(busv1.EndReason_END_REASON_FINISHED)
	return c
}

// publish publishes the next entry of the log or a snapshot. Snapshots are in any order, and some
// are repeated. It reports whether anything remains.
func (s *testBus) publish(t *testing.T, random *rand.Rand, c *scene) bool {
	t.Helper()
	if len(c.snapshots) > 0 && (c.sent == len(c.log) || random.IntN(2) == 0) {
		i := random.IntN(len(c.snapshots))
		if err := s.PublishSnapshot(t.Context(), c.snapshots[i]); err != nil {
			t.Fatal(err)
		}
		if random.IntN(4) > 0 {
			c.snapshots = append(c.snapshots[:i], c.snapshots[i+1:]...)
		}
	} else if c.sent < len(c.log) {
		var err error
		if c.last, err = s.Append(t.Context(), c.rollout.GetId(), c.log[c.sent], c.last); err != nil {
			t.Fatal(err)
		}
		c.sent++
	}
	return c.sent < len(c.log) || len(c.snapshots) > 0
}

// bytes returns the deterministic form of results.
func bytes(t *testing.T, results map[string]*busv1.Result) map[string]string {
	t.Helper()
	encoded := make(map[string]string, len(results))
	for id, result := range results {
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		encoded[id] = string(data)
	}
	return encoded
}

// TestResultsDoNotDependOnOrderOrRestarts checks that results have the same bytes for any order and
// repetition of entries and snapshots, and for any restarts of the evaluator.
func TestResultsDoNotDependOnOrderOrRestarts(t *testing.T) {
	const rollouts = 8
	var want map[string]string
	for seed := range uint64(6) {
		s := newTestBus(t)
		content, order := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(seed, 3))
		var open []*scene
		for n := range rollouts {
			open = append(open, s.randomScene(content, fmt.Sprintf("s.%d", n)))
		}
		stop := s.run(t)
		for len(open) > 0 {
			i := order.IntN(len(open))
			if !s.publish(t, order, open[i]) {
				open = append(open[:i], open[i+1:]...)
			}
			if order.IntN(25) == 0 {
				stop()
				stop = s.run(t)
			}
		}
		got := bytes(t, s.results(t, rollouts))
		stop()
		if want == nil {
			want = got
			continue
		}
		for id, result := range got {
			if result != want[id] {
				t.Errorf("seed %d: result of %s: got other bytes than with seed 0", seed, id)
			}
		}
	}
}

// BenchmarkRestart measures how long a starting evaluator needs to score one new rollout after
// 10,000 finished ones.
func BenchmarkRestart(b *testing.B) {
	const finished = 10_000
	s := newTestBus(b)
	end := ended(busv1.EndReason_END_REASON_FINISHED)
	for n := range finished {
		s.play(b, s.rollout(fmt.Sprintf("s.%d", n)), end)
	}
	stop := s.run(b)
	s.results(b, finished)
	stop()
	for n := 0; b.Loop(); n++ {
		sweep := fmt.Sprintf("fresh%d", n)
		s.play(b, s.rollout(sweep+".0"), end)
		stop := s.run(b)
		err := s.FollowResults(b.Context(), sweep, func(*busv1.Result) error { return errEnough })
		if !errors.Is(err, errEnough) {
			b.Fatalf("FollowResults: got %v, want a result", err)
		}
		stop()
	}
}
