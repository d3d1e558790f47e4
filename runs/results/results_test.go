package results

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/original/row"
	"github.com/toolsandbox/toolsandbox/original/row/rowtest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sampleRollout returns a rollout that adds a contact and removes it again in a parallel batch, and
// triggers a minefield.
func sampleRollout() Rollout {
	agent, user := worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER
	system, environment := worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	trace := `{"tool_name": "add_contact", "arguments": {"name": "Jürgen <Ü>", "phone_number": "+493023125001"}, "result": "p-1"}`
	call := func(id, name, tool, arguments string) *worldv1.Message {
		return &worldv1.Message{Sender: agent, Recipient: environment, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{
			Id: &id, Name: &name, Tool: tool, ArgumentsJson: arguments,
		}}}
	}
	messages := []*worldv1.Message{
		rowtest.Message(system, environment, "# set-up"),
		{Sender: system, Recipient: agent, Body: &worldv1.Message_Text{Text: "Be careful."}},
		{Sender: user, Recipient: agent, Body: &worldv1.Message_Text{Text: "An example."}, VisibleTo: []worldv1.Role{user}},
		{Sender: user, Recipient: agent, Body: &worldv1.Message_Text{Text: "Save Jürgen."}},
		call("a", "contact_0", "add_contact", `{"name": "Jürgen <Ü>", "phone_number": "+493023125001"}`),
		call("b", "contact_2", "remove_contact", `{"person_id": "it's", "x": [1, 2.5, null, true]}`),
		rowtest.Read(environment, agent, row.Row{
			Content: proto.String("'p-1'"), ToolCallID: proto.String("a"), FunctionName: proto.String("contact_0"), ToolTrace: []string{trace},
		}),
		rowtest.Read(environment, agent, row.Row{
			Content: proto.String("TypeError: no"), ToolCallID: proto.String("b"), FunctionName: proto.String("contact_2"),
			Exception: proto.String("TypeError: no"),
		}),
		{Sender: agent, Recipient: user, Body: &worldv1.Message_Text{Text: "Saved.\nA second line that is long enough to be wrapped by the table for people."}},
	}
	for i, m := range messages {
		m.Index = int32(i)
		m.ConversationActive = proto.Bool(true)
	}
	node := func(tool string) *evaluationv1.Graph {
		return &evaluationv1.Graph{Nodes: []*evaluationv1.Node{{Constraints: []*evaluationv1.Constraint{{
			Table: world.Contact, Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION, Reference: proto.Int32(-1),
			Target: []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{{Column: "name", Value: world.Text(tool)}}}},
			Overrides: []*evaluationv1.ColumnOverride{
				{Column: "name", Measure: evaluationv1.ColumnMeasure_COLUMN_MEASURE_CONTAINS},
			},
		}}}}}
	}
	return Rollout{Rollout: resultfile.Rollout{
		Scenario: &scenariov1.Scenario{
			Setup: &setupv1.Setup{Name: "save_someone", Categories: []string{"SINGLE_TOOL_CALL", "NO_DISTRACTION_TOOLS"}},
			Evaluation: &evaluationv1.Evaluation{
				Milestones: node("Jürgen"), Minefields: node("Ü"),
			},
		},
		Result: &busv1.Result{
			End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}, TurnCount: 6,
			MilestoneSimilarity: 1, MinefieldSimilarity: 0.5,
			Milestones: []*busv1.Match{{Index: 6, Similarity: 1}}, Minefields: []*busv1.Match{{Index: 6, Similarity: 0.5}},
		},
		Messages: messages,
		Tables: []*worldv1.Table{
			{Name: world.Contact, Index: 6, Rows: []*worldv1.Row{
				worldtest.Contact("p-0", "Ada", "+493023125000", true), worldtest.Contact("p-1", "Jürgen <Ü>", "+493023125001", false),
			}},
			{Name: world.Contact, Rows: []*worldv1.Row{worldtest.Contact("p-0", "Ada", "+493023125000", true)}},
		},
		Directory: "save_someone_trial_1",
	}}
}

// withoutCounts leaves out the numbers of rollouts, which the JSON has not.
var withoutCounts = cmpopts.IgnoreFields(resultfile.Category{}, "Rollouts", "Scored")

func TestGolden(t *testing.T) {
	out, r := t.TempDir(), sampleRollout()
	if _, err := WriteTrajectory(out, r); err != nil {
		t.Fatal(err)
	}
	if err := storeSummary(out, Summarize([]Rollout{r})); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(out, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"result_summary.json", "trajectories/save_someone_trial_1/conversation.json",
		"trajectories/save_someone_trial_1/execution_context.json", "trajectories/save_someone_trial_1/pretty_print.txt",
	}
	if diff := gocmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, name := range names {
		golden := filepath.Join("testdata", filepath.Base(name))
		got := read(t, out, name)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := gocmp.Diff(read(t, "testdata", filepath.Base(name)), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRunDirectory(t *testing.T) {
	at := time.Date(2024, 5, 22, 10, 30, 0, 0, time.FixedZone("", -7*3600))
	for _, c := range []struct{ agent, user, want string }{
		{"scripted_agent", "scripted_user", "agent_scripted_agent_user_scripted_user_05_22_2024_10_30_00"},
		{"org/model:v1 β", "gpt-4o.mini", "agent_org_model_v1___user_gpt-4o.mini_05_22_2024_10_30_00"},
		{"../x", "", "agent_.._x_user__05_22_2024_10_30_00"},
	} {
		if got := RunDirectory(c.agent, c.user, at); got != c.want {
			t.Errorf("RunDirectory(%q, %q) = %q, want %q", c.agent, c.user, got, c.want)
		}
	}
}

func TestSummarize(t *testing.T) {
	rollout := func(name string, similarity float64, turns int32, reason busv1.EndReason, categories ...string) Rollout {
		r := sampleRollout()
		r.Directory, r.Scenario.Setup.Categories = name, categories
		r.Scenario.Evaluation = &evaluationv1.Evaluation{Milestones: r.Scenario.GetEvaluation().GetMilestones()}
		r.Result = &busv1.Result{End: &busv1.End{Reason: reason}, Similarity: similarity, MilestoneSimilarity: similarity, TurnCount: turns}
		return r
	}
	finished, infrastructure := busv1.EndReason_END_REASON_FINISHED, busv1.EndReason_END_REASON_INFRASTRUCTURE
	unreachable := rollout("d", 0.9, 2, infrastructure, "STATE_DEPENDENCY")
	got := Summarize([]Rollout{
		rollout("a", 1, 4, finished, "STATE_DEPENDENCY", "THREE_DISTRACTION_TOOLS"),
		rollout("b", 0.5, 8, finished, "STATE_DEPENDENCY", "THREE_DISTRACTION_TOOLS", "ARG_TYPE_SCRAMBLED"),
		rollout("c", 0.9, 30, busv1.EndReason_END_REASON_MODEL_FAILURE, "STATE_DEPENDENCY"),
		unreachable,
		rollout("e", 0.9, 2, busv1.EndReason_END_REASON_CANCELLED, "COREFERENCE"),
	})
	want := resultfile.Categories{
		{Name: "STATE_DEPENDENCY", Similarity: new(0.5), TurnCount: new(14.0), Rollouts: 4, Scored: 3},
		{Name: "THREE_DISTRACTION_TOOLS", Similarity: new(1.0), TurnCount: new(4.0), Rollouts: 1, Scored: 1},
		{Name: "ALL_CATEGORIES", Similarity: new(0.5), TurnCount: new(14.0), Rollouts: 5, Scored: 3},
		{Name: "ARG_TYPE_SCRAMBLED", Similarity: new(0.5), TurnCount: new(8.0), Rollouts: 1, Scored: 1},
		{Name: "COREFERENCE", Rollouts: 1},
	}
	if diff := gocmp.Diff(want, got.Categories); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
	if len(got.Scenarios) != 5 {
		t.Fatalf("got %d scenarios, want 5", len(got.Scenarios))
	}
	if s := got.Scenarios[3]; s.ExceptionType == nil || *s.ExceptionType != "INFRASTRUCTURE" || s.Scored() || s.MilestoneSimilarity+s.MinefieldSimilarity != "" {
		t.Errorf("infrastructure failure: got %+v, want exception type INFRASTRUCTURE and no similarity", s)
	}
	if s := got.Scenarios[2]; !s.Failed() || !s.Scored() || s.Similarity != "0" {
		t.Errorf("failure of the model: got %+v, want one that scores 0", s)
	}
}

// TestSpelling checks where the original writes integers instead of floats.
func TestSpelling(t *testing.T) {
	r := sampleRollout()
	r.Scenario.Evaluation.Milestones = nil
	r.Result.MilestoneSimilarity, r.Result.Similarity = 1, 0
	got := Summarize([]Rollout{r}).Scenarios[0]
	if got.MilestoneSimilarity != "1" || got.MinefieldSimilarity != "0.5" || got.Similarity != "0" {
		t.Errorf("got %s, %s, %s, want 1, 0.5, 0", got.MilestoneSimilarity, got.MinefieldSimilarity, got.Similarity)
	}
}

func TestReadSummaryRoundTrip(t *testing.T) {
	dir := t.TempDir()
	want := Summarize([]Rollout{sampleRollout()})
	if err := storeSummary(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadSummary(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got, withoutCounts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadSummaryErrors(t *testing.T) {
	if _, err := ReadSummary(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v, want %v", err, fs.ErrNotExist)
	}
	for _, content := range []string{
		"", "{}", "[]", `{"per_scenario_results": [{"na`, `{"per_scenario_results": [{"similarity": NaN}]}`, `{"per_scenario_results": [{"similarity": "1"}]}`,
		`{"per_scenario_results": [{"similarity": 1e999}]}`, `{"per_scenario_results": [{"similarity": 7}]}`, `{"per_scenario_results": [{"minefield_similarity": -1}]}`, `{"per_scenario_results": [{"milestone_mapping": {"x": [1, 2]}}]}`,
		`{"per_scenario_results": [{"milestone_mapping": {"0": [1]}}]}`, `{"per_scenario_results": [], "category_aggregated_results": 1}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, SummaryFile), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadSummary(dir); !errors.Is(err, ErrDamaged) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %+v and %v, want one line that says it is damaged", content, got, err)
		}
	}
}

func TestDirectoryNames(t *testing.T) {
	for _, name := range []string{".", "..", "a/b", `a\b`, "/a", "../a"} {
		r := sampleRollout()
		r.Directory = name
		if _, err := WriteTrajectory(t.TempDir(), r); !errors.Is(err, ErrName) {
			t.Errorf("%q: got %v, want %v", name, err, ErrName)
		}
	}
}

// TestWriteFile checks that replacing a file leaves no other file, also after an error or a killed
// writer.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(filepath.Join(dir, ".f.new"), []byte("half a fi"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"first", "second, longer", ""} {
		for _, lasting := range []bool{false, true} {
			if err := storage.WriteFile(path, []byte(content), lasting); err != nil {
				t.Fatal(err)
			}
			if got := read(t, dir, "f"); got != content {
				t.Errorf("got %q, want %q", got, content)
			}
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("third")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode(); got != 0o600 {
		t.Errorf("permissions of a replaced file: got %o, want 600 as before", got)
	}
	taken := filepath.Join(dir, "d")
	if err := os.MkdirAll(filepath.Join(taken, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, lasting := range []bool{false, true} {
		if err := storage.WriteFile(taken, []byte("x"), lasting); err == nil {
			t.Error("writing over a directory: got no error")
		}
	}
	if err := errors.Join(storage.Sync(dir), storage.Sync(filepath.Join(dir, "none"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("flush of a directory and of none: got %v, want that the second does not exist", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if got := strings.Join(names, " "); got != "d f" {
		t.Errorf("left behind: %s, want d f", got)
	}
}

// BenchmarkWriteDocuments measures the two JSON documents of one rollout.
func BenchmarkWriteDocuments(b *testing.B) {
	rollout := sampleRollout()
	for b.Loop() {
		if _, err := resultfile.Conversation(rollout.Rollout); err != nil {
			b.Fatal(err)
		}
		if _, err := resultfile.Context(rollout.Rollout); err != nil {
			b.Fatal(err)
		}
	}
}

// TestDocumentedFiles compares the names of a run's files with those in docs/scoring.md.
func TestDocumentedFiles(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "scoring.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| file |")
	table, _, _ = strings.Cut(table, "\n\n")
	run, rollout := Files()
	for _, name := range slices.Concat(run, rollout) {
		if !strings.Contains(table, "`"+name) {
			t.Errorf("docs/scoring.md: the table of a run's files does not name %s", name)
		}
	}
	names := regexp.MustCompile("`([a-z_.]+\\.(?:jsonl?|txt)|[a-z_.]+/)").FindAllStringSubmatch(table, -1)
	for _, name := range names {
		if !slices.Contains(slices.Concat(run, rollout), strings.TrimSuffix(name[1], "/")) {
			t.Errorf("docs/scoring.md: the table of a run's files names %s, which no run has", name[1])
		}
	}
	if len(names) == 0 {
		t.Error("docs/scoring.md: got no names in the table of a run's files")
	}
}
