package results

import (
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// rescoredRollouts returns rollouts that finished, failed because of the model, and failed because
// of the infrastructure.
func rescoredRollouts() []Rollout {
	var rollouts []Rollout
	for i, reason := range []busv1.EndReason{
		busv1.EndReason_END_REASON_FINISHED, busv1.EndReason_END_REASON_MODEL_FAILURE, busv1.EndReason_END_REASON_INFRASTRUCTURE,
	} {
		r := sampleRollout()
		r.Directory += string(rune('a' + i))
		r.Result.End = &busv1.End{Reason: reason, ExceptionType: "ValueError"}
		r.Result.Similarity, r.Result.TurnCount = 0.7, 6
		if reason == busv1.EndReason_END_REASON_INFRASTRUCTURE {
			r.Result.TurnCount = 0
		}
		rollouts = append(rollouts, r)
	}
	return rollouts
}

func TestWithSameEntries(t *testing.T) {
	want := Summarize(rescoredRollouts())
	got := want.With(want.Scenarios)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRescored(t *testing.T) {
	rollouts := rescoredRollouts()
	summary := Summarize(rollouts)
	result := proto.CloneOf(rollouts[0].Result)
	result.Similarity, result.End = 0.5, nil
	entry := summary.Scenarios[0].Rescored(rollouts[0].Scenario.GetEvaluation(), result)
	got := summary.With(append([]resultfile.ScenarioResult{entry}, summary.Scenarios[1:]...))
	rollouts[0].Result.Similarity = 0.5
	if diff := gocmp.Diff(Summarize(rollouts), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReplaceSummary(t *testing.T) {
	dir := t.TempDir()
	first := Summarize(rescoredRollouts())
	if err := ReplaceSummary(dir, nil, first); err == nil {
		t.Error("without a summary: got no error")
	}
	if err := storeSummary(dir, first); err != nil {
		t.Fatal(err)
	}
	old := read(t, dir, SummaryFile)
	second := Summarize(rescoredRollouts()[:1])
	if err := ReplaceSummary(dir, nil, second); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(old, read(t, dir, PreviousSummaryFile)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", PreviousSummaryFile, diff)
	}
	got, err := ReadSummary(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(second, got, withoutCounts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.WriteFile(filepath.Join(dir, SummaryFile), []byte("half a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceSummary(dir, nil, second); err == nil {
		t.Error("over half a file: got no error")
	}
}
