package cause_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/cause"
)

const (
	parallel     = busv1.CauseKind_CAUSE_KIND_WRONG_PARALLEL_CALLS
	premature    = busv1.CauseKind_CAUSE_KIND_PREMATURE_CALL
	guessed      = busv1.CauseKind_CAUSE_KIND_GUESSED_ARGUMENT
	missing      = busv1.CauseKind_CAUSE_KIND_INFORMATION_MISSING
	canonical    = busv1.CauseKind_CAUSE_KIND_WRONG_CANONICALIZATION
	unauthorized = "PermissionError: Wifi cannot be turned on in low battery mode"
)

func with(id, tool, arguments string) *worldv1.Message {
	m := call(id, tool)
	m.GetCall().ArgumentsJson = arguments
	return m
}

func returned(id, json string) *worldv1.Message {
	return &worldv1.Message{Sender: env, Recipient: agent, Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{
		Id: &id, Traces: []*worldv1.ToolTrace{{ResultJson: json}},
	}}}
}

// setting is a version of the settings with wifi and low battery mode.
func setting(index int32, wifi, saving bool) *worldv1.Table {
	return &worldv1.Table{Name: "SETTING", Index: index, Rows: []*worldv1.Row{{Cells: []*worldv1.Value{
		world.Text("d1"), world.Bool(true), world.Bool(wifi), world.Bool(true), world.Bool(saving),
	}}}}
}

// calls is a milestone that wants a call.
func calls(trace string) *evaluationv1.Node {
	return &evaluationv1.Node{Constraints: []*evaluationv1.Constraint{{Table: "SANDBOX", Target: []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{
		{Column: "tool_trace", Value: world.Text(trace)},
	}}}}}}
}

// wants is a milestone that wants a cell.
func wants(table, column string, value *worldv1.Value) *evaluationv1.Node {
	return &evaluationv1.Node{Constraints: []*evaluationv1.Constraint{{Table: table, Target: []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{
		{Column: column, Value: value},
	}}}}}}
}

// classCase is a conversation after the user has said "wifi 7".
type classCase struct {
	messages   []*worldv1.Message
	tables     []*worldv1.Table
	milestones []*evaluationv1.Node // a chain
	result     *busv1.Result
	category   string
	want       []busv1.CauseKind
}

var (
	on    = with("a", "set_wifi", `{"on": true}`)
	late  = with("c", "set_wifi", `{"on": true}`)
	off   = with("b", "set_saving", `{"on": false}`)
	cases = map[string]classCase{
		"nothing": {messages: []*worldv1.Message{on, returned("a", "null")}},
		"another order raises": {
			messages: []*worldv1.Message{off, on, raised("a", unauthorized), returned("b", "null")}, want: []busv1.CauseKind{parallel},
		},
		"for want of a neighbour": {
			messages: []*worldv1.Message{on, off, raised("a", "PermissionError: not in low battery mode"), returned("b", "null")},
			tables:   []*worldv1.Table{setting(3, false, false)}, want: []busv1.CauseKind{parallel},
		},
		"repeated after the turn": {
			messages: []*worldv1.Message{on, off, raised("a", "PermissionError: no"), returned("b", "null"), late, returned("c", "null")},
			tables:   []*worldv1.Table{setting(3, false, false), setting(6, true, false)}, want: []busv1.CauseKind{parallel},
		},
		"needs the answer": {
			messages: []*worldv1.Message{
				with("a", "search", `{}`), with("b", "remove", `{"x_id": "1"}`), returned("a", `[{"x_id": "x-9"}]`), raised("b", "KeyError: 1"),
				with("c", "remove", `{"x_id": "x-9"}`), returned("c", "null"),
			},
			want: []busv1.CauseKind{guessed, parallel},
		},
		"unrelated error": {
			messages: []*worldv1.Message{on, off, raised("a", "ValueError: no"), returned("b", "null")}, tables: []*worldv1.Table{setting(3, false, false)},
		},
		"before a change": {
			messages: []*worldv1.Message{on, raised("a", unauthorized), off, returned("b", "null"), late, returned("c", "null")},
			tables:   []*worldv1.Table{setting(4, false, false), setting(6, true, false)}, want: []busv1.CauseKind{premature},
		},
		"nothing to do": {
			messages: []*worldv1.Message{
				with("z", "set_saving", `{"on": true}`), raised("z", "ValueError: already enabled"), off, returned("b", "null"),
				with("y", "set_saving", `{"on": true}`), returned("y", "null"),
			},
			tables: []*worldv1.Table{setting(4, false, false), setting(6, false, true)},
		},
		"before the milestone before it": {
			messages:   []*worldv1.Message{with("a", "modify", `{"n": 7}`), returned("a", "null"), with("b", "search", `{}`), returned("b", "null")},
			milestones: []*evaluationv1.Node{calls(`{"tool_name": "search", "arguments": {}}`), calls(`{"tool_name": "modify", "arguments": {"n": 7}}`)},
			result:     &busv1.Result{Milestones: []*busv1.Match{{Node: 0, Index: 4, Similarity: 1}, {Node: 1}}}, want: []busv1.CauseKind{premature},
		},
		"a minefield": {
			messages: []*worldv1.Message{on, returned("a", "null")}, category: "INSUFFICIENT_INFORMATION",
			result: &busv1.Result{Minefields: []*busv1.Match{{Index: 2, Similarity: 1}}}, want: []busv1.CauseKind{missing, busv1.CauseKind_CAUSE_KIND_MINEFIELD},
		},
		"a minefield of another category": {
			messages: []*worldv1.Message{on, returned("a", "null")},
			result:   &busv1.Result{Minefields: []*busv1.Match{{Index: 2, Similarity: 1}}}, want: []busv1.CauseKind{busv1.CauseKind_CAUSE_KIND_MINEFIELD},
		},
		"an unexpected change": {
			messages: []*worldv1.Message{on, returned("a", "null")}, tables: []*worldv1.Table{setting(2, true, true)},
			category: "INSUFFICIENT_INFORMATION", want: []busv1.CauseKind{missing},
		},
		"the same version again": {
			messages: []*worldv1.Message{on, raised("a", "ValueError: no")}, tables: []*worldv1.Table{setting(2, false, true)}, category: "INSUFFICIENT_INFORMATION",
		},
		"phone number": {
			messages:   []*worldv1.Message{with("a", "send", `{"phone_number": "(415) 555-0177"}`), raised("a", "ValueError: no")},
			milestones: []*evaluationv1.Node{wants("MESSAGING", "recipient_phone_number", world.Text("+14155550177"))}, want: []busv1.CauseKind{guessed, canonical},
		},
		"sign": {
			messages:   []*worldv1.Message{with("a", "search", `{"longitude": 7.5}`), returned("a", "[]")},
			milestones: []*evaluationv1.Node{calls(`{"tool_name": "search", "arguments": {"longitude": -7.5}}`)}, want: []busv1.CauseKind{guessed, canonical},
		},
		"milliseconds": {
			messages:   []*worldv1.Message{with("a", "add", `{"t": 1800000000000}`), returned("a", "null")},
			milestones: []*evaluationv1.Node{wants("REMINDER", "t", world.Number(1.8e9))}, want: []busv1.CauseKind{guessed, canonical},
		},
		"right at last": {
			messages:   []*worldv1.Message{with("a", "add", `{"n": "7"}`), raised("a", "ValueError: no"), with("b", "add", `{"n": 7}`), returned("b", "null")},
			milestones: []*evaluationv1.Node{calls(`{"tool_name": "add", "arguments": {"n": 7}}`)},
		},
	}
)

func TestClasses(t *testing.T) {
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			start := cause.NewWorld("UTC", []string{test.category}, []*worldv1.Table{setting(0, false, true)}, nil)
			trajectory := &assemble.Trajectory{
				Messages: append([]*worldv1.Message{{Sender: user, Recipient: agent, Body: &worldv1.Message_Text{Text: "wifi 7"}}}, test.messages...),
				Starting: 1, Tables: test.tables,
			}
			for i, m := range trajectory.Messages {
				m.Index = int32(i)
			}
			graph := &evaluationv1.Graph{Nodes: test.milestones}
			for i := range len(graph.GetNodes()) - 1 {
				graph.Edges = append(graph.Edges, &evaluationv1.Edge{Before: int32(i), After: int32(i + 1)})
			}
			result := test.result
			if result == nil {
				result = &busv1.Result{}
			}
			var got []busv1.CauseKind
			for _, c := range cause.Find(trajectory, result, &evaluationv1.Evaluation{Milestones: graph}, start) {
				switch c.GetKind() {
				case busv1.CauseKind_CAUSE_KIND_TOOL_ERROR:
				default:
					got = append(got, c.GetKind())
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}
