package translate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/score"
)

func TestTrajectory(t *testing.T) {
	messages := []*worldv1.Message{
		{Index: 0, Sender: worldv1.Role_ROLE_USER, Recipient: worldv1.Role_ROLE_AGENT},
		{
			Index: 1, Sender: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, Recipient: worldv1.Role_ROLE_AGENT,
			ConversationActive: proto.Bool(false), VisibleTo: []worldv1.Role{worldv1.Role_ROLE_AGENT},
			Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{
				Text: proto.String(""), Id: proto.String("id"), Name: proto.String("f"), Exception: proto.String("E: x"),
				Traces: []*worldv1.ToolTrace{{Tool: "f", ArgumentsJson: "{}", ResultJson: "1"}},
			}},
		},
		{Index: 2, Sender: worldv1.Role_ROLE_AGENT, Recipient: worldv1.Role_ROLE_USER, Body: &worldv1.Message_Text{Text: "hello"}},
		{
			Index: 3, Sender: worldv1.Role_ROLE_AGENT, Recipient: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT,
			Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Tool: "f", Id: proto.String("c"), Name: proto.String("g"), ArgumentsJson: `{"a": 1}`}},
		},
		{
			Index: 4, Sender: worldv1.Role_ROLE_AGENT, Recipient: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT,
			Body: &worldv1.Message_Code{Code: &worldv1.Code{Source: "f()"}},
		},
	}
	row := []*worldv1.Value{world.Text("p"), world.Null(), world.Text("1"), world.Null(), world.Bool(true)}
	tables := []*worldv1.Table{
		{Name: world.Contact, Index: 0, Rows: []*worldv1.Row{{Cells: row}}},
		{Name: world.Contact, Index: 1},
	}
	got, err := new(Evaluation).Trajectory(messages, nil, tables)
	if err != nil {
		t.Fatal(err)
	}
	want := &score.Trajectory{Messages: []score.Message{
		{Sender: score.User, Recipient: score.Agent},
		{
			Sender: score.ExecutionEnvironment, Recipient: score.Agent, Content: new(""), ToolCallID: new("id"),
			FunctionName: new("f"), Exception: new("E: x"), Active: new(false), Traces: []*worldv1.ToolTrace{{Tool: "f", ArgumentsJson: "{}", ResultJson: "1"}},
			VisibleTo: []score.Role{score.Agent},
		},
		{Sender: score.Agent, Recipient: score.User, Content: new("hello")},
		{
			Sender: score.Agent, Recipient: score.ExecutionEnvironment, ToolCallID: new("c"), FunctionName: new("g"),
			Content: new("c_parameters = {'a': 1}\nc_response = f(**c_parameters)\nprint(repr(c_response))"),
		},
		{Sender: score.Agent, Recipient: score.ExecutionEnvironment, Content: new("f()")},
	}}
	want.Tables = map[string][]score.Version{world.Contact: {
		{Index: 0, Rows: [][]score.Value{{score.String("p"), score.Null(), score.String("1"), score.Null(), score.Bool(true)}}},
		{Index: 1, Rows: [][]score.Value{}},
	}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("Trajectory (-want +got):\n%s", diff)
	}
}

// TestStartingVersions adds versions of two trajectories to the same starting versions.
func TestStartingVersions(t *testing.T) {
	starting := NewVersions([]*worldv1.Table{{Name: world.Contact, Index: 0}, {Name: world.Setting, Index: 0}})
	for _, index := range []int32{3, 5} {
		got, err := new(Evaluation).Trajectory(nil, starting, []*worldv1.Table{{Name: world.Contact, Index: index}})
		if err != nil {
			t.Fatal(err)
		}
		first, later := score.Version{Rows: [][]score.Value{}}, score.Version{Index: int(index), Rows: [][]score.Value{}}
		want := map[string][]score.Version{world.Contact: {first, later}, world.Setting: {first}}
		if diff := cmp.Diff(want, got.Tables); diff != "" {
			t.Errorf("tables with a version at %d (-want +got):\n%s", index, diff)
		}
	}
}

func TestTrajectoryErrors(t *testing.T) {
	const contact = world.Contact
	tests := []struct {
		name     string
		messages []*worldv1.Message
		tables   []*worldv1.Table
		want     string
	}{
		{"gap", []*worldv1.Message{{Index: 0}, {Index: 2}}, nil, "message 1 has index 2"},
		{"messages as a table", nil, []*worldv1.Table{{Name: world.Sandbox}}, `a version of table "SANDBOX"`},
		{"no table", nil, []*worldv1.Table{{}}, `a version of table ""`},
		{"unknown table", nil, []*worldv1.Table{{Name: "NOTE"}}, `a version of table "NOTE"`},
		{"short row", nil, []*worldv1.Table{{Name: contact, Index: 3, Rows: []*worldv1.Row{{}}}}, "row 0 of CONTACT at 3 has 0 cells, expected 5"},
		{"wrong order", nil, []*worldv1.Table{{Name: contact, Index: 3}, {Name: contact, Index: 1}}, "version 1 follows 3"},
		{"twice", nil, []*worldv1.Table{{Name: contact, Index: 3}, {Name: contact, Index: 3}}, "version 3 follows 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, err := new(Evaluation).Trajectory(test.messages, nil, test.tables); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Trajectory: got %v, %v, want an error with %q", got, err, test.want)
			}
		})
	}
}

func TestResult(t *testing.T) {
	got := Result(score.Result{
		Milestones: score.GraphResult{Similarity: 0.5, Matches: []score.Match{{}, {Matched: true, Index: 4, Similarity: 1}}},
		Minefields: score.GraphResult{Similarity: 0.25, Matches: []score.Match{{Matched: true, Index: 0, Similarity: 0.25}}},
		Similarity: 0.125, TurnCount: 3,
	}, 9)
	want := &busv1.Result{
		MilestoneSimilarity: 0.5, MinefieldSimilarity: 0.25, Similarity: 0.125, TurnCount: 3, MilestoneCount: 2, MessageCount: 9,
		Milestones: []*busv1.Match{{Node: 1, Index: 4, Similarity: 1}},
		Minefields: []*busv1.Match{{Node: 0, Index: 0, Similarity: 0.25}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("Result (-want +got):\n%s", diff)
	}
}

// TestSchema compiles evaluations whose pack declares a table.
func TestSchema(t *testing.T) {
	column := func(name, measure string, kind world.Kind) *worldv1.Column {
		return &worldv1.Column{Name: name, Type: worldv1.CellType(kind), Measure: measure}
	}
	note := func(columns ...*worldv1.Column) []*worldv1.TableSchema {
		return []*worldv1.TableSchema{{Name: "NOTE", Columns: columns}}
	}
	id := column("note_id", "exact", world.KindText)
	tests := []struct {
		name   string
		schema []*worldv1.TableSchema
		want   string
	}{
		{"declared", note(id, column("title", "rouge_l", world.KindText)), ""},
		{"not declared", nil, `unknown table "NOTE"`},
		{"no such column", note(id), `note has no column "title"`},
		{"unknown measure", note(id, column("title", "rouge", world.KindText)), `schema: note.title: unknown measure "rouge"`},
		{"measure of another type", note(id, column("title", "rouge_l", world.KindNumber)), "schema: note.title: rouge_l compares texts, and title is a number"},
		{"no columns", note(), "schema: table NOTE: the first column is the id of a row"},
		{"twice", append(note(id), note(id)...), `schema: two tables are called "NOTE"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Compile(&evaluationv1.Evaluation{Schema: test.schema, Milestones: &evaluationv1.Graph{Nodes: []*evaluationv1.Node{{
				Constraints: []*evaluationv1.Constraint{{
					Table: "NOTE", Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT,
					Target: []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{{Column: "title", Value: world.Text("a")}}}},
				}},
			}}}})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Compile: got %v, want an error with %q", err, test.want)
			}
		})
	}
}
