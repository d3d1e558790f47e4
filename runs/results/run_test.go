package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestRun checks the data of rollouts and totals through a resumption.
func TestRun(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	dir := filepath.Join(t.TempDir(), "new")
	run := &Run{
		SweepID: "s", SpecDigest: "d", Program: Program{Version: "v1", Go: "go1"}, Agent: Player{Name: "openai:m", Model: &Model{Provider: "openai", Model: "m"}},
		User: Player{Name: "scripted"}, Trials: 1, Arguments: []string{}, Flags: map[string]string{"agent": "openai:m"}, Given: []string{"agent"},
		Started: at, Sessions: []Session{{Started: at}}, Resumptions: []Resumption{},
	}
	run.End(at.Add(time.Minute), 5, modelRollouts()[:2])
	run.Resumptions = append(run.Resumptions, Resumption{Flags: map[string]string{"parallel": "2"}})
	run.Sessions = append(run.Sessions, Session{Started: at.Add(time.Hour)})
	run.End(at.Add(2*time.Hour), 5, modelRollouts())
	if err := WriteRun(dir, run); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(run, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Round() != 1 || !got.Started.Equal(at) || !got.Ended.Equal(at.Add(2*time.Hour)) || !got.Sessions[1].Ended.Equal(*got.Ended) {
		t.Errorf("got round %d, start %s, end %s, want round 1, the first start and the last end", got.Round(), got.Started, got.Ended)
	}
	tokens := int64(40)
	if u := got.Totals.Usage.Agent; got.Totals.Usage.User == nil || *u.InputTokens != tokens || *got.Rollouts[0].Usage.Agent.InputTokens != 10 {
		t.Errorf("usage: got %+v, want %d tokens of the agent in four rollouts", u, tokens)
	}
	want := &Totals{
		Rollouts: 5, Done: 4, Scored: 2, Ends: map[string]int{"finished": 1, "model_failure": 1, "infrastructure": 1, "cancelled": 1},
		FailureClasses: map[string]int{"provider": 1}, UserFlagCounts: &UserFlagCounts{Rollouts: 4, Flagged: 4, Rate: 1, Rules: map[string]int{"leak": 4}},
		Usage: got.Totals.Usage,
	}
	if diff := gocmp.Diff(want, got.Totals); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	lost := Outcome{
		Name: "lost", ID: "sweep.lost", Seed: 7, End: "infrastructure", FailureClass: "provider",
		UserFlags: []UserFlag{{Rule: "leak", Index: 3, Evidence: "words"}}, Usage: got.Rollouts[2].Usage,
	}
	if diff := gocmp.Diff(lost, got.Rollouts[2]); diff != "" {
		t.Errorf("a rollout (-want +got):\n%s", diff)
	}
}

// TestSessions checks the times of work of a run that was killed twice and resumed: its pauses do
// not count, and a killed session ends with its last message.
func TestSessions(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2026, 1, 2, 3, minutes, 0, 0, time.UTC) }
	ended := func(minutes int) *time.Time { t := at(minutes); return &t }
	run := &Run{Started: at(0), Sessions: []Session{{Started: at(0)}, {Started: at(20)}, {Started: at(40)}}}
	rollouts := modelRollouts()[:2]
	rollouts[0].Work = []Work{{at(1), at(3)}, {at(41), at(43)}}
	rollouts[1].Work = []Work{{at(2), at(5)}, {at(6), at(6)}}
	run.End(at(50), 2, rollouts)
	want := []Session{{at(0), ended(6), 360}, {at(20), ended(20), 0}, {at(40), ended(50), 600}}
	if diff := gocmp.Diff(want, run.Sessions); diff != "" || run.Seconds != 960 {
		t.Errorf("got %g s, want 960; sessions (-want +got):\n%s", run.Seconds, diff)
	}
	if got := Worked(rollouts[0].Work); got != 4*time.Minute {
		t.Errorf("work: got %s, want 4 minutes", got)
	}
}

// TestReadRunErrors checks errors for a truncated and for a missing file.
func TestReadRunErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadRun(dir); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrDamaged) {
		t.Errorf("no file: got %v, want %v", err, fs.ErrNotExist)
	}
	if err := WriteRun(dir, &Run{SweepID: "s", SpecDigest: "d"}); err != nil {
		t.Fatal(err)
	}
	complete := strings.TrimSpace(read(t, dir, RunFile))
	path := filepath.Join(dir, RunFile)
	contents := []string{"{}", "[]", "null", `{"sweep_id": 3}`, complete + "}", strings.Replace(complete, `"0001-`, `"1-`, 1)}
	for cut := range len(complete) {
		contents = append(contents, complete[:cut])
	}
	for _, content := range contents {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if run, err := ReadRun(dir); !errors.Is(err, ErrDamaged) || !strings.HasPrefix(err.Error(), path+" is damaged: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v and %v, want one line that says it is damaged", content, run, err)
		}
	}
}

// FuzzReadFiles reads a run's files with any content. They are valid or damaged, and valid content
// survives writing and reading.
func FuzzReadFiles(f *testing.F) {
	f.Add(`{"sweep_id": "s", "spec_digest": "d", "flags": {"agent": "oracle"}, "started": "2026-01-02T03:04:05Z", "resumptions": [{}]}`)
	f.Add(`{"per_scenario_results": [{"name": "a", "similarity": 0.5, "milestone_mapping": {"0": [3, 1.0]}}], "category_aggregated_results": {"A": {"similarity": null}}}`)
	f.Add(`{"per_scenario_results": [{"similarity": 1e400}]}`)
	f.Fuzz(func(t *testing.T, content string) {
		dir := t.TempDir()
		for _, name := range []string{RunFile, SummaryFile} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if run, err := ReadRun(dir); err == nil {
			if err := WriteRun(dir, run); err != nil {
				t.Errorf("WriteRun of %q: %v", content, err)
			}
		} else if !errors.Is(err, ErrDamaged) {
			t.Errorf("ReadRun of %q: got %v, want %v", content, err, ErrDamaged)
		}
		summary, err := ReadSummary(dir)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("ReadSummary of %q: got %v, want %v", content, err, ErrDamaged)
			}
			return
		}
		if err := storeSummary(t.TempDir(), summary.With(summary.Scenarios)); err != nil {
			t.Errorf("WriteSummary of %q: %v", content, err)
		}
	})
}
