package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestForgedResults stores results that name no log, one of them of no rollout, while a run is
// interrupted. Resuming it names these rollouts and believes none of them; resuming it again plays
// them.
func TestForgedResults(t *testing.T) {
	t.Parallel()
	const trials = 12
	dir := t.TempDir()
	baseline, out := filepath.Join(dir, "calm"), filepath.Join(dir, "out")
	plug, turns := rationed(t)
	flags := []string{"run", "--agent", plug, "--trials", fmt.Sprint(trials), "--parallel", "1", "turn_off_wifi"}
	toolsandbox(t, append(flags, "--out", baseline)...)
	flags = append(flags, "--out", out)
	turns.set(trials) // half of them
	killAt(t, 2, flags...)
	turns.set(unlimited)
	forgeResults(t, out, trials+1)
	again := append(slices.Clone(flags), "--resume")
	wantFailure(t, "its result does not name the log that was scored", again...)
	toolsandbox(t, again...)
	equalRuns(t, baseline, out)
}

// forgeResults stores a perfect result without a log for each rollout of a run that has none.
func forgeResults(t *testing.T, out string, rollouts int) {
	t.Helper()
	forged := 0
	err := withStreams(storesOf(out).streams, func(js jetstream.JetStream) (err error) {
		forged, err = forge(t.Context(), js, rollouts)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if forged == 0 {
		t.Fatal("forged results: got none, because all rollouts have one")
	}
}

// forge stores a perfect result without a log for each of the first rollouts of every sweep that
// has none, and returns their number.
func forge(ctx context.Context, js jetstream.JetStream, rollouts int) (forged int, err error) {
	stream, err := js.Stream(ctx, "SWEEP")
	if err != nil {
		return 0, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter("sweep.*.plan"))
	if err != nil {
		return 0, err
	}
	for _, subject := range slices.Sorted(maps.Keys(info.State.Subjects)) {
		for n := range rollouts {
			id := fmt.Sprintf("%s.%d", strings.Split(subject, ".")[1], n)
			raw, err := proto.Marshal(&busv1.Result{
				Rollout:    &busv1.Rollout{Id: id, Scenario: "turn_off_wifi", Trial: int32(n)},
				Similarity: 1, MilestoneSimilarity: 1, TurnCount: 1, End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED},
			})
			if err != nil {
				return forged, err
			}
			_, err = js.Publish(ctx, "result."+id, raw, jetstream.WithExpectLastSequencePerSubject(0))
			var exists *jetstream.APIError
			switch {
			case err == nil:
				forged++
			case !errors.As(err, &exists):
				return forged, err
			}
		}
	}
	return forged, nil
}

// withStreams calls use with the streams in a directory that no process uses.
func withStreams(dir string, use func(jetstream.JetStream) error) (err error) {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	server, err := natsserver.Start(natsserver.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	connection, err := server.Connect()
	if err != nil {
		return err
	}
	defer connection.Close()
	js, err := jetstream.New(connection)
	if err != nil {
		return err
	}
	return use(js)
}

// onNATS calls use with the streams of a running installation.
func onNATS(services *cluster.Cluster, use func(jetstream.JetStream) error) error {
	connection, err := nats.Connect("nats://" + services.Address(cluster.NATS))
	if err != nil {
		return err
	}
	defer connection.Close()
	js, err := jetstream.New(connection)
	if err != nil {
		return err
	}
	return use(js)
}

// holdJobs takes the jobs of all sweeps that nobody works on and holds them back for an hour, as a
// NATS server does whose clock has gone back by that time. wait is the lease of those that somebody
// worked on, or less.
func holdJobs(ctx context.Context, js jetstream.JetStream, wait time.Duration) error {
	stream, err := js.Stream(ctx, "JOBS")
	if err != nil {
		return err
	}
	names := stream.ConsumerNames(ctx)
	for name := range names.Name() {
		consumer, err := stream.Consumer(ctx, name)
		if err != nil {
			return err
		}
		batch, err := consumer.Fetch(10000, jetstream.FetchMaxWait(wait))
		if err != nil {
			return err
		}
		for msg := range batch.Messages() {
			if err := msg.NakWithDelay(time.Hour); err != nil {
				return err
			}
		}
		if err := batch.Error(); err != nil {
			return err
		}
	}
	return names.Err()
}
