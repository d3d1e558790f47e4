package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// foreignTime bounds the end of a run after a foreign document.
const foreignTime = 30 * time.Second

// otherSweep is a sweep whose document is foreign to others.
const otherSweep = "other"

// foreign is a message that somebody else publishes.
type foreign struct {
	name, stream, subject string
	// data returns its content. own is the newest message of the sweep's control document, other that
	// of another sweep.
	data func(own, other []byte) []byte
	// calm says that the run does not notice.
	calm bool
}

func garbage(_, _ []byte) []byte { return []byte("\xff\xfe garbage") }

// foreigners returns messages to a sweep's subjects on each stream.
func foreigners(sweep string) []foreign {
	rollout := sweep + ".3"
	control := "sweep." + sweep + ".control"
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(rollout))
	shard := sum.Sum32() % 4
	return []foreign{
		{name: "garbage", stream: "SWEEP", subject: control, data: garbage},
		{name: "nothing", stream: "SWEEP", subject: control, data: func(_, _ []byte) []byte { return nil }},
		{name: "a truncated document", stream: "SWEEP", subject: control, data: func(own, _ []byte) []byte { return own[:len(own)/2] }},
		{name: "the document of another sweep", stream: "SWEEP", subject: control, data: func(_, other []byte) []byte { return other }},
		{name: "a later version", stream: "SWEEP", subject: control, data: func(own, _ []byte) []byte { return append(slices.Clone(own), 0xfa, 0x7f, 1, 'x') }},
		{name: "seven megabytes", stream: "SWEEP", subject: control, data: func(_, _ []byte) []byte { return bytes.Repeat([]byte{8}, 7<<20) }},
		{name: "a plan", stream: "SWEEP", subject: "sweep." + sweep + ".plan", data: garbage},
		{name: "another document", stream: "SWEEP", subject: "sweep." + sweep + ".x.y", data: garbage},
		{name: "a job of no rollout", stream: "JOBS", subject: "jobs." + sweep + ".x", data: garbage, calm: true},
		{name: "a job of a rollout", stream: "JOBS", subject: "jobs." + rollout, data: garbage, calm: true},
		{name: "a result", stream: "RESULT", subject: "result." + rollout, data: garbage, calm: true},
		{name: "a log entry", stream: fmt.Sprintf("BUS_%d", shard), subject: fmt.Sprintf("bus.%d.%s", shard, rollout), data: garbage},
		{name: "a log of no rollout", stream: "BUS_0", subject: "bus.0." + sweep + ".x.y", data: garbage, calm: true},
		{name: "a snapshot", stream: "SNAPSHOT", subject: fmt.Sprintf("snapshot.%d.%s", shard, rollout), data: garbage, calm: true},
		{name: "a turn", stream: "RECORDING", subject: "turn." + rollout + ".2", data: garbage, calm: true},
		{name: "a turn without a number", stream: "RECORDING", subject: "turn." + rollout + ".x", data: garbage, calm: true},
	}
}

// strangers is an installation to which somebody else publishes.
type strangers struct {
	services *cluster.Cluster
	js       jetstream.JetStream
	turns    *quota
	flags    []string // of a run; the output directory follows
	baseline string
}

// TestLongForeignMessages publishes a foreign message during a run, and before it. The run ends
// within 30 s: with the calm run's files, or with a line that names stream, sequence and subject.
// Then --resume makes them the calm run's files.
func TestLongForeignMessages(t *testing.T) {
	t.Parallel()
	s := &strangers{services: start(t), turns: &quota{}, baseline: filepath.Join(t.TempDir(), "calm")}
	s.turns.set(unlimited)
	plug := serveAgent(t, func(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
		if !s.turns.pass(ctx) {
			return agent.Reply{}, ctx.Err()
		}
		return answerByTurn(c), nil
	})
	s.flags = []string{"run", "--agent", plug, "--trials", "6", "--parallel", "4", "turn_off_wifi", "--out"}
	toolsandbox(t, append(s.flags, s.baseline)...)
	toolsandbox(t, slices.Concat(s.flags, []string{filepath.Join(t.TempDir(), otherSweep), "--sweep-id", otherSweep}, s.services.ClientArgs())...)
	err := onNATS(s.services, func(js jetstream.JetStream) error {
		s.js = js
		for n, message := range foreigners("") {
			for _, when := range []string{"during", "before"} {
				t.Run(message.name+" "+when+" the run", func(t *testing.T) {
					sweep := fmt.Sprint(when, n)
					s.play(t, sweep, foreigners(sweep)[n], when == "before")
				})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// play plays a sweep and publishes a message before it or when four rollouts are in play.
func (s *strangers) play(t *testing.T, sweep string, message foreign, before bool) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	var sequences []string
	publish := func() { sequences = append(sequences, fmt.Sprintf("sequence %d", s.publish(t, sweep, message))) }
	if before {
		publish()
	}
	s.turns.set(5)
	run := startBackground(t, out, slices.Concat(s.flags, []string{out, "--sweep-id", sweep}, s.services.ClientArgs()))
	defer run.stop()
	if !before {
		for s.turns.rest() > 0 && !run.over() {
			pause(10 * time.Millisecond)
		}
		publish()
	}
	if message.stream != "SWEEP" || before {
		s.turns.set(unlimited)
	} else {
		select {
		case <-run.done:
		case <-time.After(foreignTime / 6): // the first one may have come before the run followed its sweep
			publish()
		}
	}
	select {
	case <-run.done:
	case <-time.After(foreignTime):
		t.Errorf("the run has not ended after %s", foreignTime)
		run.stop()
	}
	s.turns.set(unlimited)
	if run.err == nil {
		equalRuns(t, s.baseline, out)
		return
	}
	var exit *exec.ExitError
	if !errors.As(run.err, &exit) || exit.ExitCode() != 1 || message.calm {
		t.Errorf("end of the run: got %v, want exit code %d", run.err, map[bool]int{false: 1, true: 0}[message.calm])
	}
	printed := run.printed.String()
	if !strings.Contains(printed, "stream "+message.stream) || !strings.Contains(printed, "--resume") ||
		!slices.ContainsFunc(sequences, func(sequence string) bool { return strings.Contains(printed, sequence) }) {
		t.Errorf("stderr: got\n%s\nwant stream %s, %s and --resume", printed, message.stream, strings.Join(sequences, " or "))
	}
	resume(t, message.name, s.baseline, out, append(run.args, "--resume")...)
}

// publish publishes a message and returns its sequence.
func (s *strangers) publish(t *testing.T, sweep string, message foreign) uint64 {
	t.Helper()
	ack, err := s.js.Publish(t.Context(), message.subject, message.data(control(t, s.js, sweep), control(t, s.js, otherSweep)))
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

// control returns the newest control document of a sweep, without its headers, something without
// one.
func control(t *testing.T, js jetstream.JetStream, sweep string) []byte {
	t.Helper()
	stream, err := js.Stream(t.Context(), "SWEEP")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetLastMsgForSubject(t.Context(), "sweep."+sweep+".control")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return []byte{8, 4, 8, 4}
	}
	if err != nil {
		t.Fatal(err)
	}
	return msg.Data
}
