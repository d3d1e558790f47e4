package e2e_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestForgedResults stores results that name no log while a run is interrupted. Resuming it names
// these rollouts and believes none of them; resuming it again plays them.
func TestForgedResults(t *testing.T) {
	t.Parallel()
	const trials = 12
	dir := t.TempDir()
	baseline, out := filepath.Join(dir, "calm"), filepath.Join(dir, "out")
	flags := []string{"run", "--agent", "oracle", "--trials", fmt.Sprint(trials), "--parallel", "1", "turn_off_wifi"}
	toolsandbox(t, append(flags, "--out", baseline)...)
	flags = append(flags, "--out", out)
	killAt(t, 2, flags...)
	forgeResults(t, out, trials)
	again := append(slices.Clone(flags), "--resume")
	wantFailure(t, "its result does not name the log that was scored", again...)
	toolsandbox(t, again...)
	equalRuns(t, baseline, out)
}

// forgeResults stores a perfect result without a log for each rollout of a run that has none.
func forgeResults(t *testing.T, out string, rollouts int) {
	t.Helper()
	run, err := results.ReadRun(out)
	if err != nil {
		t.Fatal(err)
	}
	server, err := natsserver.Start(natsserver.Config{Dir: storesOf(out).streams})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	connection, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	stream, err := jetstream.New(connection)
	if err != nil {
		t.Fatal(err)
	}
	forged := 0
	for n := range rollouts {
		id := fmt.Sprintf("%s.%d", run.SweepID, n)
		raw, err := proto.Marshal(&busv1.Result{
			Rollout:    &busv1.Rollout{Id: id, Scenario: "turn_off_wifi", Trial: int32(n)},
			Similarity: 1, MilestoneSimilarity: 1, TurnCount: 1, End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = stream.Publish(t.Context(), "result."+id, raw, jetstream.WithExpectLastSequencePerSubject(0))
		var exists *jetstream.APIError
		switch {
		case err == nil:
			forged++
		case !errors.As(err, &exists):
			t.Fatal(err)
		}
	}
	if forged == 0 {
		t.Fatal("forged results: got none, because all rollouts have one")
	}
}
