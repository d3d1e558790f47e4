package score

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// environment appends a message of the execution environment with traces.
func environment(t *Trajectory, traces ...string) {
	t.Messages = append(t.Messages, Message{Sender: ExecutionEnvironment, Recipient: Agent, Traces: toolTraces(traces...)})
}

// toolTraces returns the traces of texts in JSON. A text that is no trace becomes an invalid one.
func toolTraces(texts ...string) []*worldv1.ToolTrace {
	var traces []*worldv1.ToolTrace
	for _, text := range texts {
		trace := &worldv1.ToolTrace{ArgumentsJson: text}
		if parsed, err := python.ParseJSON(text); err == nil {
			trace.Tool, _ = parsed.Field("tool_name").AsStr()
			trace.ArgumentsJson, trace.ResultJson = python.JSON(parsed.Field("arguments")), python.JSON(parsed.Field("result"))
		}
		traces = append(traces, trace)
	}
	return traces
}

// contact returns a row of CONTACT.
func contact(id, name, number string) []Value {
	return []Value{String(id), String(name), String(number), Null(), Bool(false)}
}

// targetRow returns a target row.
func targetRow(cells ...Cell) []Cell { return cells }

// callConstraint is a constraint on a call.
func callConstraint(trace string) Constraint {
	return Constraint{Table: world.Sandbox, Measure: Snapshot, Target: [][]Cell{targetRow(
		Cell{"sender", String("EXECUTION_ENVIRONMENT")}, Cell{"tool_trace", String(trace)},
	)}}
}

// contactConstraint is a constraint on CONTACT since the first user message.
func contactConstraint(measure SnapshotMeasure, target ...[]Cell) Constraint {
	return Constraint{Table: world.Contact, Measure: measure, Reference: reference(FirstUserMessage), Target: target}
}

// explainFirst explains the only constraint of the first of a chain of milestones.
func explainFirst(t *testing.T, trajectory *Trajectory, constraints ...Constraint) (*evaluatorv1.NodeExplanation, *evaluatorv1.ConstraintExplanation) {
	t.Helper()
	got := Explain(trajectory, compile(t, constraints...), nil).Milestones[0]
	return got, got.GetMatch().GetConstraints()[0]
}

func TestExplainText(t *testing.T) {
	_, got := explainFirst(t, chat("hello", "your milk is bought"), say("Milk bought"))
	want := []*evaluatorv1.CellExplanation{{
		Column: "content", Measure: RougeL, Wanted: world.Text("Milk bought"), Found: world.Text("your milk is bought"),
		Similarity: roundToFloat32(2.0 / 3), Text: &evaluatorv1.TextComparison{Precision: 0.5, Recall: 1, Common: []*evaluatorv1.CommonWord{
			{Wanted: "Milk", Found: "milk", WantedAt: 0, FoundAt: 5}, {Wanted: "bought", Found: "bought", WantedAt: 5, FoundAt: 13},
		}},
	}}
	if diff := cmp.Diff(want, got.Rows[0].Cells, protocmp.Transform()); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

func TestExplainTrace(t *testing.T) {
	trajectory := chat("hello", "ok")
	environment(trajectory, `{"tool_name": "f", "arguments": {"a": 1}, "result": 1}`, `{"tool_name": "g", "arguments": {"a": [1, "x<"], "b": 2.5}, "result": 1}`)
	node, _ := explainFirst(t, trajectory, callConstraint(`[{"tool_name": "h", "arguments": {}}, {"tool_name": "g", "arguments": {"a": [1, "y"], "b": 2.5, "c": NaN}}]`))
	want := &evaluatorv1.TraceComparison{Accepted: 1, Tool: "g", FoundTool: "g", Arguments: []*evaluatorv1.ArgumentComparison{
		{Name: "a", WantedJson: `[1, "y"]`, FoundJson: proto.String(`[1, "x<"]`)},
		{Name: "b", WantedJson: "2.5", FoundJson: proto.String("2.5"), Matches: true},
		{Name: "c", WantedJson: "NaN"},
	}}
	if node.Match.Index != 0 || node.Best == nil || node.Best.Index != 2 {
		t.Fatalf("match and nearest: got %d and %+v, want 0 and 2", node.Match.Index, node.Best)
	}
	if diff := cmp.Diff(want, node.Best.Constraints[0].Rows[0].Cells[1].Trace, protocmp.Transform()); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	if cell := node.Best.Constraints[0].Rows[0].Cells[1]; len(cell.FoundTexts) != 2 || cell.Found != nil {
		t.Errorf("found traces: got %+v, want two texts", cell)
	}
	_, got := explainFirst(t, trajectory, callConstraint(`{"tool_name": "f", "arguments": {"a": 1.0}}`))
	if trace := got.Rows[0].Cells[1].Trace; got.Similarity != 1 || !trace.Matches || trace.FoundTool != "f" {
		t.Errorf("matching trace: got %+v, want a match", trace)
	}
	_, got = explainFirst(t, chat("hello"), callConstraint(`{"tool_name": "f", "arguments": {}}`))
	if trace := got.Rows[0].Cells[1].Trace; trace.Matches || trace.Tool != "f" || trace.FoundTool != "" {
		t.Errorf("without a call: got %+v, want f and no tool found", trace)
	}
}

// rowCase is a comparison of CONTACT and the expected explanation of its rows.
type rowCase struct {
	name       string
	versions   []Version
	constraint Constraint
	problem    string
	wanted     []int
	found      [][]Value
	changes    []*evaluatorv1.RowChange
}

func rowCases() []rowCase {
	ann, bob, eve := contact("1", "Ann", "1"), contact("2", "Bob", "2"), contact("3", "Eve", "3")
	moved := contact("1", "Ann", "9")
	name := func(name string) []Cell { return targetRow(Cell{"name", String(name)}) }
	filled := []Value{String("2"), String("Bob"), String("2"), String(""), Bool(false)}
	return []rowCase{
		{
			"added", []Version{{0, [][]Value{ann}}, {1, [][]Value{ann, bob}}}, contactConstraint(Addition, name("Bob")),
			"", []int{0}, [][]Value{filled}, []*evaluatorv1.RowChange{{After: wireRow(bob)}},
		},
		{
			"added and changed", []Version{{0, [][]Value{ann}}, {1, [][]Value{moved}}}, contactConstraint(Addition, name("Ann")),
			"a row of the reference is gone or changed", []int{0}, [][]Value{{String("1"), String("Ann"), String("9"), String(""), Bool(false)}},
			[]*evaluatorv1.RowChange{{Before: wireRow(ann), After: wireRow(moved), Columns: []string{"phone_number"}}},
		},
		{
			"added too much", []Version{{0, nil}, {1, [][]Value{ann, bob}}}, contactConstraint(Addition, name("Bob")),
			"there are 2 rows, 1 are wanted", []int{0, -1}, [][]Value{filled, {String("1"), String("Ann"), String("1"), String(""), Bool(false)}},
			[]*evaluatorv1.RowChange{{After: wireRow(ann)}, {After: wireRow(bob)}},
		},
		{
			"removed", []Version{{0, [][]Value{ann, bob}}, {1, [][]Value{ann}}}, contactConstraint(Removal, name("Bob")),
			"", []int{0}, [][]Value{filled}, []*evaluatorv1.RowChange{{Before: wireRow(bob)}},
		},
		{
			"removed and added", []Version{{0, [][]Value{ann, bob}}, {1, [][]Value{ann, eve}}}, contactConstraint(Removal, name("Bob")),
			"there is a row that the reference does not have", []int{0}, [][]Value{filled}, []*evaluatorv1.RowChange{{Before: wireRow(bob)}, {After: wireRow(eve)}},
		},
		{
			"not updated", []Version{{0, [][]Value{ann}}}, contactConstraint(Update, name("Ann")),
			"there are 0 rows, 1 are wanted", []int{0}, [][]Value{nil}, nil,
		},
		{
			"updated and added", []Version{{0, [][]Value{ann}}, {1, [][]Value{moved, bob}}}, contactConstraint(Update, name("Ann")),
			"there are 2 rows, 1 at the reference", []int{0, -1}, [][]Value{{String("1"), String("Ann"), String("9"), String(""), Bool(false)}, filled},
			[]*evaluatorv1.RowChange{{Before: wireRow(ann), After: wireRow(moved), Columns: []string{"phone_number"}}, {After: wireRow(bob)}},
		},
		{
			"paired", []Version{{0, [][]Value{ann, bob}}}, contactConstraint(Snapshot, name("Bob"), name("Ann")),
			"", []int{0, 1}, [][]Value{bob, ann}, nil,
		},
		{
			"comparison without result", []Version{{0, [][]Value{ann, {Null(), Null(), Null(), Null(), Null()}}}}, contactConstraint(Snapshot, name("Bob"), name("Ann")),
			"a comparison of two rows has no result", []int{0, 1}, [][]Value{ann, {Null(), Null(), Null(), Null(), Null()}}, nil,
		},
	}
}

func TestExplainRows(t *testing.T) {
	trajectory := chat("hello", "a", "b", "c")
	for _, test := range rowCases() {
		store(trajectory, world.Contact, test.versions)
		node, got := explainFirst(t, trajectory, test.constraint)
		if node.Best != nil {
			got = node.Best.Constraints[0]
		}
		var want []int
		var found, rows []*worldv1.Row
		for i, row := range got.GetRows() {
			want, found = append(want, int(row.GetWanted())), append(found, row.GetFound())
			if row.Wanted == nil {
				want[i] = -1
			}
		}
		for _, row := range test.found {
			rows = append(rows, wireRow(row))
		}
		for field, diff := range map[string]string{
			"problem": cmp.Diff(test.problem, got.Problem),
			"wanted":  cmp.Diff(test.wanted, want),
			"found":   cmp.Diff(rows, found, protocmp.Transform()),
			"changes": cmp.Diff(test.changes, got.GetChanges(), cmpopts.EquateEmpty(), protocmp.Transform()),
		} {
			if diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", test.name, field, diff)
			}
		}
	}
}

func TestExplainNoResult(t *testing.T) {
	trajectory := chat("hello", "a")
	store(trajectory, world.Contact, []Version{{0, [][]Value{{String("1"), String("Ann"), Null(), Null(), Null()}}}})
	_, got := explainFirst(t, trajectory, contactConstraint(Snapshot, targetRow(Cell{"phone_number", String("1")}, Cell{"name", String("Ann")})))
	cells := got.Rows[0].Cells
	if got.Similarity != 1 || cells[0].NoResult || !cells[1].NoResult || cells[1].Similarity != 0 {
		t.Errorf("constraint: got %+v, want similarity 1 and no result for phone_number", got)
	}
}

func TestExplainCompleted(t *testing.T) {
	trajectory := chat("hello", "it is 21.5 degrees")
	environment(trajectory, `{"tool_name": "weather", "arguments": {}, "result": {"current_temperature": 21.5}}`)
	trajectory.Messages = append(trajectory.Messages, Message{Sender: Agent, Recipient: User, Content: new("It is 21.5 degrees.")})
	tell := func(text string) Constraint {
		return Constraint{
			Table: world.Sandbox, Measure: ToolTraceDependant, Reference: reference(0), FillTo: "content",
			Extractor: "search_weather_around_lat_lon_temperature_extractor",
			Target:    [][]Cell{targetRow(Cell{"sender", String("AGENT")}, Cell{"content", String(text)})},
		}
	}
	weather := callConstraint(`{"tool_name": "weather", "arguments": {}}`)
	got := Explain(trajectory, compile(t, weather, tell("It is {temperature} degrees")), nil).Milestones[1].Match
	constraint := got.Constraints[0]
	if got.Index != 3 || constraint.Similarity != 1 || constraint.GetReferenceIndex() != 2 {
		t.Errorf("constraint: got %+v at %d, want similarity 1 at 3 since 2", constraint, got.Index)
	}
	if diff := cmp.Diff([]*evaluatorv1.ExtractedValue{{Name: "temperature", Value: "21.5"}}, constraint.Extracted, protocmp.Transform()); diff != "" {
		t.Errorf("extracted (-want +got):\n%s", diff)
	}
	if text := constraint.Rows[0].Cells[1].Wanted; text.GetText() != "It is 21.5 degrees" {
		t.Errorf("wanted: got %v, want it completed", text)
	}
	broken := Explain(trajectory, compile(t, weather, tell("It is {hot}")), nil).Milestones[1].Match.Constraints[0]
	if broken.Problem != "nothing can complete the wanted text" || len(broken.Rows) != 1 {
		t.Errorf("text that cannot be completed: got %+v, want a problem and the row", broken)
	}
	none := Explain(trajectory, compile(t, say("hello"), tell("It is {temperature}")), nil).Milestones[1].Match.Constraints[0]
	if none.Problem != "no call at message 0 gives temperature" {
		t.Errorf("without a call: got %q, want a problem", none.Problem)
	}
}

func TestExplainGuardrails(t *testing.T) {
	trajectory := chat("hello", "one", "two")
	before, after := contact("1", "Ann", "1"), contact("1", "Ann", "2")
	bob := contact("2", "Bob", "2")
	store(trajectory, world.Contact, []Version{{0, [][]Value{before}}, {2, [][]Value{after}}})
	store(trajectory, world.Messaging, []Version{{0, [][]Value{}}})
	got := Explain(trajectory, compile(t, say("hello"), say("two")), nil).Milestones[1]
	if got.Best == nil || got.Match.Similarity != 0 {
		t.Fatalf("second node: got %+v, want similarity 0 and a nearest message", got)
	}
	guard := got.Best.Guardrails[1]
	wanted := &evaluatorv1.ConstraintExplanation{
		Table: world.Contact, Measure: Guardrail, Reference: proto.Int32(0), ReferenceIndex: proto.Int32(0),
		Changes: []*evaluatorv1.RowChange{{Before: wireRow(before), After: wireRow(after), Columns: []string{"phone_number"}}},
	}
	if diff := cmp.Diff(wanted, guard, protocmp.Transform()); got.Best.Index != 2 || diff != "" {
		t.Errorf("guardrail at %d (-want +got):\n%s", got.Best.Index, diff)
	}
	store(trajectory, world.Contact, []Version{{0, [][]Value{before, bob}}, {1, [][]Value{bob, before}}})
	order := Constraint{Table: world.Contact, Measure: Guardrail, Reference: reference(0)}
	graph, err := compileDefinition(testDefinition{Edges: chain(2), Nodes: []Node{
		{Constraints: []Constraint{say("hello")}}, {Constraints: []Constraint{say("two"), order}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got = Explain(trajectory, graph, nil).Milestones[1]
	if problem := got.Best.Constraints[1].Problem; problem != "the same rows stand in another order" {
		t.Errorf("guardrail over another order: got problem %q", problem)
	}
	same := Constraint{Table: world.Sandbox, Measure: Guardrail, Reference: reference(0)}
	got = Explain(trajectory, compile(t, say("hello"), same), nil).Milestones[1]
	if got.Match.Similarity != 1 || got.Match.Constraints[0].Changes != nil {
		t.Errorf("guardrail of messages: got %+v, want it to hold at message 0", got.Match)
	}
	graph, err = compileDefinition(testDefinition{Edges: chain(2), Nodes: []Node{
		{Constraints: []Constraint{say("hello")}}, {Constraints: []Constraint{say("one"), same}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	columns := Explain(trajectory, graph, nil).Milestones[1].Best.Constraints[1].Changes
	if diff := cmp.Diff([]*evaluatorv1.RowChange{{Columns: []string{"sender", "recipient", "content"}}}, columns, protocmp.Transform()); diff != "" {
		t.Errorf("changed messages (-want +got):\n%s", diff)
	}
}

// TestExplainBest checks that Best is the best message for a node alone if the order of the graph
// excludes it.
func TestExplainBest(t *testing.T) {
	trajectory := chat("hello", "milk", "hello", "bread")
	got := Explain(trajectory, compile(t, say("bread"), say("milk")), nil)
	for node, wanted := range []struct{ match, best int32 }{{3, -1}, {3, 1}} {
		best := int32(-1)
		if got.Milestones[node].Best != nil {
			best = got.Milestones[node].Best.Index
		}
		if index := got.Milestones[node].Match.Index; index != wanted.match || best != wanted.best {
			t.Errorf("node %d: got match %d and best %d, want %d and %d", node, index, best, wanted.match, wanted.best)
		}
	}
}

func TestExplainWithout(t *testing.T) {
	graph := compile(t, say("a"), say("b"))
	for name, trajectory := range map[string]*Trajectory{"no message": new(Trajectory), "no user": {Messages: []Message{{Sender: System, Recipient: Agent}}}} {
		got := Explain(trajectory, graph, nil)
		if diff := cmp.Diff([]*evaluatorv1.NodeExplanation{{Node: 0}, {Node: 1}}, got.Milestones, protocmp.Transform()); diff != "" || len(got.Minefields) != 0 {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
	lonely, err := compileDefinition(testDefinition{Edges: []Edge{{0, 1}}, Nodes: []Node{
		{Constraints: []Constraint{say("hello")}}, {Constraints: []Constraint{say("hello")}},
		{Constraints: []Constraint{say("milk")}}, {Constraints: []Constraint{{Table: world.Contact, Measure: Addition, Reference: reference(2)}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := Explain(chat("hello", "milk"), lonely, nil).Milestones
	if got[2].Match != nil || got[2].Best == nil || got[2].Best.Index != 1 || got[3].Best != nil {
		t.Errorf("nodes without an edge: got %+v and %+v, want no match, best 1 and none", got[2], got[3])
	}
}
