package explain

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

const (
	messages = world.Sandbox
	contact  = world.Contact
	snapshot = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT
	addition = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION
	guard    = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL
	exact    = evaluationv1.ColumnMeasure_COLUMN_MEASURE_EXACT
)

func row1(id, name, number string) *worldv1.Row {
	return worldtest.Contact(id, name, number, false)
}

// textExplanation compares two texts. The found one contains a control character and a line break.
func textExplanation() *evaluatorv1.ConstraintExplanation {
	return &evaluatorv1.ConstraintExplanation{Table: messages, Measure: snapshot, Similarity: 0.8, Rows: []*evaluatorv1.RowExplanation{{
		Wanted: proto.Int32(0), Similarity: 0.8, Cells: []*evaluatorv1.CellExplanation{
			{
				Column: "content", Measure: evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L, Similarity: 0.8,
				Wanted: world.Text("Ann saved"), Found: world.Text("I save\x1b\nann"),
				Text: &evaluatorv1.TextComparison{Precision: 2.0 / 3, Recall: 0.5, Common: []*evaluatorv1.CommonWord{
					{Wanted: "saved", WantedAt: 4, Found: "save", FoundAt: 2},
				}},
			},
			{Column: "tool_call_exception", Measure: exact, Wanted: world.Text("x"), Found: world.Null(), NoResult: true},
			{Column: "visible_to", Measure: exact, Similarity: 1, FoundTexts: []string{"USER", "AGENT"}},
			{
				Column: "tool_trace", Measure: evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE,
				Trace: &evaluatorv1.TraceComparison{Tool: "add_contact", FoundTool: "add_contact", Arguments: []*evaluatorv1.ArgumentComparison{
					{Name: "name", WantedJson: `"Ann"`, FoundJson: proto.String(`"An"`)},
					{Name: "at", WantedJson: "5", FoundJson: proto.String("6"), Tolerance: proto.Float64(2), Matches: true},
					{Name: "phone_number", WantedJson: `"1"`},
				}},
			},
		},
	}}}
}

func sampleReport() *Report {
	return &Report{
		Name: "save_ann", Recorded: new(0.25),
		Evaluation: &evaluationv1.Evaluation{
			Milestones: &evaluationv1.Graph{
				Nodes: []*evaluationv1.Node{{Name: "saved"}, {Name: "told"}, {}},
				Edges: []*evaluationv1.Edge{{Before: 0, After: 1}},
			},
			Minefields: &evaluationv1.Graph{Nodes: []*evaluationv1.Node{{Name: "told"}, {}}},
		},
		Messages: []*worldv1.Message{
			{Sender: worldv1.Role_ROLE_USER, Recipient: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Text{Text: "Save\n" + strings.Repeat("Ann ", 40)}},
			{Sender: worldv1.Role_ROLE_AGENT, Recipient: worldv1.Role_ROLE_USER, Body: &worldv1.Message_Text{Text: "Done."}},
		},
		Explanation: &evaluatorv1.ExplainTrajectoryResponse{
			Result: &busv1.Result{Similarity: 0.5, MilestoneSimilarity: 0.5, MessageCount: 2},
			Milestones: []*evaluatorv1.NodeExplanation{
				{Name: "saved", Match: &evaluatorv1.NodeEvaluation{Index: 1, Similarity: 0.9996, Constraints: []*evaluatorv1.ConstraintExplanation{{
					Table: contact, Measure: addition, Reference: proto.Int32(-1), ReferenceIndex: proto.Int32(0), Problem: "there are 3 rows, 2 are wanted",
					Changes: []*evaluatorv1.RowChange{
						{After: row1("2", "Bob", "2")}, {Before: row1("3", "Eve", "3")},
						{Before: row1("1", "Ann", "1"), After: row1("1", "Ann", "9"), Columns: []string{"phone_number"}},
					},
					Rows: []*evaluatorv1.RowExplanation{
						{Wanted: proto.Int32(0), Found: row1("2", "Bob", "2"), Similarity: 1, Cells: []*evaluatorv1.CellExplanation{
							{Column: "name", Measure: exact, Similarity: 1, Wanted: world.Text("Bob"), Found: world.Text("Bob")},
						}},
						{Wanted: proto.Int32(1), Cells: []*evaluatorv1.CellExplanation{{Column: "is_self", Measure: exact, Wanted: world.Bool(true)}}},
						{Found: row1("3", "Eve", "3")},
					},
				}}, Guardrails: []*evaluatorv1.ConstraintExplanation{
					{Table: world.Setting, Measure: guard, Reference: proto.Int32(-1), ReferenceIndex: proto.Int32(0), Similarity: 1},
					{Table: world.Reminder, Measure: guard, Reference: proto.Int32(2), ReferenceIndex: proto.Int32(0), Problem: "the same rows stand in another order"},
				}}},
				{Node: 1, Name: "told", Match: &evaluatorv1.NodeEvaluation{Index: 1}, Best: &evaluatorv1.NodeEvaluation{
					Index: 0, Similarity: 0.8, Constraints: []*evaluatorv1.ConstraintExplanation{textExplanation()},
				}},
				{Node: 2, Best: &evaluatorv1.NodeEvaluation{Index: 7, Constraints: []*evaluatorv1.ConstraintExplanation{{
					Table: messages, Measure: guard, Reference: proto.Int32(0), ReferenceIndex: proto.Int32(1),
					Changes: []*evaluatorv1.RowChange{{Columns: []string{"content"}}}, Extracted: []*evaluatorv1.ExtractedValue{{Name: "days", Value: "3"}},
				}}}},
			},
			Minefields: []*evaluatorv1.NodeExplanation{
				{Name: "told", Match: &evaluatorv1.NodeEvaluation{Index: 0}},
				{Node: 1, Match: &evaluatorv1.NodeEvaluation{Index: 0, Similarity: 0.5}},
			},
		},
	}
}

func writeReport(t *testing.T, r *Report) string {
	t.Helper()
	var out strings.Builder
	if err := r.WriteText(output.NewWriter(&out)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriteText(t *testing.T) {
	want := `save_ann: similarity 0.500 (milestones 0.500, minefields 0), 2 messages
The run recorded 0.250; the milestones have changed since. See toolsandbox score.

milestone 0 saved: 0.9996 at message 1, AGENT to USER: Done.
  0 CONTACT addition since message 0 (the first of the user)
    there are 3 rows, 2 are wanted
    added person_id="2" name="Bob" phone_number="2" is_self=false
    removed person_id="3" name="Eve" phone_number="3" is_self=false
    changed person_id="1" name="Ann" phone_number="1" is_self=false
      phone_number: before "1", after "9"
    row 0: 1
      name 1 (exact): wanted "Bob", found "Bob"
    row 1 is missing:
      is_self: wanted true
    not wanted: person_id="3" name="Eve" phone_number="3" is_self=false
  0 REMINDER guardrail since message 0 (2)
    the same rows stand in another order
  guardrails hold: SETTING since 0

milestone 1 told: 0 at message 1, AGENT to USER: Done.
  alone it would be 0.800 at message 0, USER to AGENT: Save Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann …
  but 0 saved must come before it and is at message 1
    0.800 SANDBOX snapshot
      content 0.800 (rouge_l): precision 0.667, recall 0.500
        wanted  Ann saved
        found   I save\u001b
                ann
        common  saved/save
      tool_call_exception does not count (exact): wanted "x", found null
      visible_to 1 (exact): wanted null, found USER AGENT
      tool_trace 0 (tool_trace): wanted add_contact, found it
        name differs: wanted "Ann", found "An"
        at fits: wanted 5 ± 2, found 6
        phone_number differs: wanted "1", not given

milestone 2: 0, never matched
  nearest: 0 at message 7
    0 SANDBOX guardrail since message 1 (0 saved)
      with days = 3
      the messages differ in content

minefield 0 told: 0, not triggered

minefield 1: 0.500 at message 0, USER to AGENT: Save Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann Ann …
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(writeReport(t, sampleReport()), "\n")); diff != "" {
		t.Errorf("WriteText (-want +got):\n%s", diff)
	}
}

func TestStyles(t *testing.T) {
	var out strings.Builder
	if err := sampleReport().WriteText(&out); err != nil {
		t.Fatal(err)
	}
	if want := "found   I " + output.Bold + "save" + output.Plain; !strings.Contains(out.String(), want) {
		t.Errorf("the common word of the found text is not bold: got %q, want %q in it", out.String(), want)
	}
}

func TestFailure(t *testing.T) {
	r := sampleReport()
	r.Failure, r.Recorded = "ValueError", new(0.0)
	if got, want := writeReport(t, r), "The rollout ended with ValueError and scores 0 whatever its messages reach.\n"; !strings.Contains(got, want) {
		t.Errorf("got %q, want it to say %q", got, want)
	}
	r.Recorded = nil
	if got, want := writeReport(t, r), "The rollout ended with ValueError and has no score, whatever its messages reach.\n"; !strings.Contains(got, want) {
		t.Errorf("got %q, want it to say %q", got, want)
	}
	if raw, err := json.Marshal(r); err != nil || !strings.Contains(string(raw), `"recorded_similarity":null`) {
		t.Errorf("got %s and %v, want no recorded similarity", raw, err)
	}
}

func TestFilter(t *testing.T) {
	for _, test := range []struct {
		node       string
		milestones []int32
		minefields []int32
		ok         bool
	}{
		{"saved", []int32{0}, nil, true},
		{"told", []int32{1}, []int32{0}, true},
		{"1", []int32{1}, []int32{1}, true},
		{"2", []int32{2}, nil, true},
		{"9", []int32{0, 1, 2}, []int32{0, 1}, false},
		{"", []int32{0, 1, 2}, []int32{0, 1}, false},
	} {
		r := sampleReport()
		ok := r.Filter(test.node)
		numbers := func(nodes []*evaluatorv1.NodeExplanation) []int32 {
			var list []int32
			for _, node := range nodes {
				list = append(list, node.GetNode())
			}
			return list
		}
		milestones, minefields := numbers(r.Explanation.GetMilestones()), numbers(r.Explanation.GetMinefields())
		if ok != test.ok || !slices.Equal(milestones, test.milestones) || !slices.Equal(minefields, test.minefields) {
			t.Errorf("Filter(%q): got %v, %v, %v, want %v, %v, %v", test.node, ok, milestones, minefields, test.ok, test.milestones, test.minefields)
		}
	}
	r := sampleReport()
	if diff := cmp.Diff([]string{"saved", "told", "told"}, r.Names()); diff != "" {
		t.Errorf("Names (-want +got):\n%s", diff)
	}
}

func TestMarshalJSON(t *testing.T) {
	raw, err := json.Marshal(sampleReport())
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Name        string
		Recorded    float64 `json:"recorded_similarity"`
		Explanation json.RawMessage
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	explanation := &evaluatorv1.ExplainTrajectoryResponse{}
	if err := protojson.Unmarshal(got.Explanation, explanation); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleReport().Explanation, explanation, protocmp.Transform()); got.Name != "save_ann" || got.Recorded != 0.25 || diff != "" {
		t.Errorf("got %s with %v, (-want +got):\n%s", got.Name, got.Recorded, diff)
	}
}

// TestGuardedMinefield checks that only a minefield that guardrails disable says so.
func TestGuardedMinefield(t *testing.T) {
	constraint := &evaluatorv1.ConstraintExplanation{Table: contact, Measure: addition, Reference: proto.Int32(-1), ReferenceIndex: proto.Int32(0), Similarity: 1}
	broken := &evaluatorv1.ConstraintExplanation{
		Table: world.Setting, Measure: guard, Reference: proto.Int32(-1), ReferenceIndex: proto.Int32(0),
	}
	held := proto.CloneOf(broken)
	held.Table, held.Similarity = world.Reminder, 1
	const off = "minefield 0 told: 0, not triggered\n"
	for _, c := range []struct {
		name string
		node *evaluatorv1.NodeExplanation
		want string
	}{
		{"guarded", &evaluatorv1.NodeExplanation{Name: "told", Match: &evaluatorv1.NodeEvaluation{}, Best: &evaluatorv1.NodeEvaluation{
			Index: 7, Constraints: []*evaluatorv1.ConstraintExplanation{constraint}, Guardrails: []*evaluatorv1.ConstraintExplanation{held, broken},
		}}, off + `  its constraints hold at message 7
  but automatic guardrails disable it there:
  0 SETTING guardrail since message 0 (the first of the user)
  to trigger it all the same, write guardrails: {except: [setting]}
`},
		{"constraint that does not hold", &evaluatorv1.NodeExplanation{Name: "told", Match: &evaluatorv1.NodeEvaluation{
			Constraints: []*evaluatorv1.ConstraintExplanation{{Table: contact}}, Guardrails: []*evaluatorv1.ConstraintExplanation{broken},
		}}, off},
		{"guardrails that hold", &evaluatorv1.NodeExplanation{Name: "told", Match: &evaluatorv1.NodeEvaluation{
			Constraints: []*evaluatorv1.ConstraintExplanation{{Table: contact}}, Guardrails: []*evaluatorv1.ConstraintExplanation{held},
		}}, off},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sampleReport()
			r.Explanation = &evaluatorv1.ExplainTrajectoryResponse{Minefields: []*evaluatorv1.NodeExplanation{c.node}, Result: r.Explanation.GetResult()}
			if _, got, _ := strings.Cut(writeReport(t, r), "\n\n"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestCauses(t *testing.T) {
	r := sampleReport()
	r.Causes = []results.Cause{{Kind: "tool_error", Count: 2, Index: 1, Detail: "ValueError\n"}, {Kind: "minefield", Count: 1, Index: 0}, {Kind: "message_limit", Count: 1, Index: len(r.Messages)}, {Kind: "early_end", User: true, Count: 1, Index: 1, Detail: "Bye."}}
	want := "cause: a minefield was triggered at message 0\ncause: a tool answered with an error, 2 times, first at message 1 (ValueError)\ncause: the conversation reached the limit of messages\nthe user failed: it ended the conversation early at message 1 (Bye.)\n"
	if got := writeReport(t, r); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant in it\n%s", got, want)
	}
}
