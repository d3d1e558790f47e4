package score

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// chat returns a trajectory of alternating messages of user and agent.
func chat(texts ...string) *Trajectory {
	t := new(Trajectory)
	roles := [2]Role{User, Agent}
	for i, text := range texts {
		t.Messages = append(t.Messages, Message{
			Sender: roles[i%2], Recipient: roles[1-i%2], Content: new(text), VisibleTo: []Role{User, Agent},
		})
	}
	return t
}

// compile compiles a chain of nodes with one constraint each.
func compile(tb testing.TB, constraints ...Constraint) *Graph {
	tb.Helper()
	d := testDefinition{Name: "milestones", Edges: chain(len(constraints))}
	for _, c := range constraints {
		d.Nodes = append(d.Nodes, Node{Constraints: []Constraint{c}})
	}
	graph, err := compileDefinition(d)
	if err != nil {
		tb.Fatal(err)
	}
	return graph
}

func TestScoreExplains(t *testing.T) {
	trajectory := chat("hello", "milk", "thanks")
	on, off := [][]Value{{String("d"), Bool(true), Bool(true), Bool(true), Bool(false), Number(1), Number(2)}}, [][]Value{}
	store(trajectory, world.Setting, []Version{{Index: 0, Rows: on}, {Index: 2, Rows: off}})
	got := Score(trajectory, compile(t, say("milk"), say("thanks")), compile(t, say("nothing")))
	want := Result{
		Milestones: GraphResult{Similarity: 0.5, Matches: []Match{
			{Matched: true, Index: 1, Similarity: 1, Constraints: []float64{1}, Guardrails: []float64{}},
			{Matched: true, Index: 1, Similarity: 0, Constraints: []float64{0}, Guardrails: []float64{1, 1, 1, 1}},
		}},
		Minefields: GraphResult{Matches: []Match{
			{Matched: true, Index: 0, Constraints: []float64{0}, Guardrails: []float64{}},
		}},
		Similarity: 0.5, TurnCount: 3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Score (-want +got):\n%s", diff)
	}
}

func TestScoreWithoutGraphs(t *testing.T) {
	for name, graph := range map[string]*Graph{"nil": nil, "empty": compile(t)} {
		got := Score(chat("hello"), graph, graph)
		want := Result{Milestones: GraphResult{Similarity: 1}, Similarity: 1, TurnCount: 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: Score (-want +got):\n%s", name, diff)
		}
	}
	if got := Score(new(Trajectory), compile(t, say("a")), nil); got.Similarity != 0 || got.Milestones.Matches[0].Matched {
		t.Errorf("Score of nothing = %+v, want similarity 0 and no match", got)
	}
}

func TestUnmentionedNodesCount(t *testing.T) {
	graph, err := compileDefinition(testDefinition{Edges: []Edge{{0, 1}}, Nodes: []Node{
		{Constraints: []Constraint{say("hello")}}, {Constraints: []Constraint{say("milk")}}, {Constraints: []Constraint{say("milk")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := Score(chat("hello", "milk"), graph, nil)
	if want := 2.0 / 3; got.Similarity != want || got.Milestones.Matches[2].Matched {
		t.Errorf("Score = %+v, want similarity %v and node 2 not matched", got, want)
	}
}

func TestMinefieldZeroesScore(t *testing.T) {
	got := Score(chat("hello", "milk"), compile(t, say("hello")), compile(t, say("milk")))
	if got.Similarity != 0 || got.Milestones.Similarity != 1 || got.Minefields.Similarity != 1 {
		t.Errorf("Score = %+v, want 0 of 1 and 1", got)
	}
}

func TestCompareDirect(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name  string
		cell  cell
		value Value
		want  float64
	}{
		{"equal", cell{measure: Exact, value: String("a")}, String("a"), 1},
		{"different", cell{measure: Exact, value: String("a")}, String("b"), 0},
		{"null target and cell", cell{measure: Exact}, Null(), 1},
		{"null target", cell{measure: Exact}, Number(0), 0},
		{"null cell", cell{measure: Exact, value: Number(0)}, Null(), nan},
		{"null cell, close", cell{measure: Close, value: Number(0), tolerance: 1}, Null(), 0},
		{"within", cell{measure: Close, value: Number(1), tolerance: 0.5}, Number(1.5), 1},
		{"outside", cell{measure: Close, value: Number(1), tolerance: 0.5}, Number(1.51), 0},
		{"no tolerance", cell{measure: Close, value: Number(1), tolerance: -1}, Number(1), 1},
		{"contained", cell{measure: Contains, value: String("b")}, String("abc"), 1},
		{"one", cell{measure: One, value: String("b")}, Null(), 1},
		{"list", cell{measure: Exact, value: List("USER")}, List("USER"), 1},
	} {
		if got := test.cell.compareDirect(test.value); got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("%s: compareDirect = %v, want %v", test.name, got, test.want)
		}
	}
}

// acceptedTraces compiles a target of traces.
func acceptedTraces(t *testing.T, text string, tolerances map[string]float64) []traceTarget {
	t.Helper()
	override := Override{Column: "tool_trace", Measure: ToolTrace}
	for name, absolute := range tolerances {
		override.Tolerances = append(override.Tolerances, Tolerance{name, absolute})
	}
	return compile(t, Constraint{
		Table: world.Sandbox, Measure: Snapshot, Overrides: []Override{override}, Target: [][]Cell{{{"tool_trace", String(text)}}},
	}).nodes[0].constraints[0].target[0][0].accepted
}

func TestAnyMatches(t *testing.T) {
	tolerances := map[string]float64{"near": 0.5, "any": math.Inf(1)}
	for _, test := range []struct {
		target, trace string
		want          bool
	}{
		{`{"tool_name": "f", "arguments": {}}`, `{"tool_name": "f", "arguments": {"a": 1}, "result": [1, "}"]}`, true},
		{`{"tool_name": "f", "arguments": {}}`, `{"tool_name": "g", "arguments": {}}`, false},
		{`{"tool_name": "f", "arguments": {"a": 1}}`, `{"tool_name": "f", "arguments": {"a": 1.0}}`, true},
		{`{"tool_name": "f", "arguments": {"a": 1}}`, `{"tool_name": "f", "arguments": {"a": true}}`, true},
		{`{"tool_name": "f", "arguments": {"a": null}}`, `{"tool_name": "f", "arguments": {}}`, false},
		{`{"tool_name": "f", "arguments": {"a": null}}`, `{"tool_name": "f", "arguments": {"a": null}}`, true},
		{`{"tool_name": "f", "arguments": {"near": 1}}`, `{"tool_name": "f", "arguments": {"near": 1.5}}`, true},
		{`{"tool_name": "f", "arguments": {"near": 1}}`, `{"tool_name": "f", "arguments": {"near": "1"}}`, false},
		{`{"tool_name": "f", "arguments": {"any": 1}}`, `{"tool_name": "f", "arguments": {"any": -1e300}}`, true},
		{`{"tool_name": "f", "arguments": {"any": 1}}`, `{"tool_name": "f", "arguments": {}}`, false},
		{`[{"tool_name": "g", "arguments": {}}, {"tool_name": "f", "arguments": {}}]`, `{"tool_name": "f", "arguments": {}}`, true},
		{`[]`, `{"tool_name": "f", "arguments": {}}`, false},
		{`{"tool_name": "f", "arguments": {"a": [1, {"b": 2}]}}`, `{"tool_name": "f", "arguments": {"a": [1.0, {"b": 2}]}}`, true},
		{`{"tool_name": "f", "arguments": {"a": 9007199254740993}}`, `{"tool_name": "f", "arguments": {"a": 9007199254740992}}`, false},
		{`{"tool_name": "f", "arguments": {"a": "\u00fc\ud83d\ude00"}}`, `{"tool_name": "f", "arguments": {"a": "ü😀"}}`, true},
		{`{"tool_name": "f", "arguments": {"a": NaN}}`, `{"tool_name": "f", "arguments": {"a": NaN}}`, false},
		{`{"tool_name": "f", "arguments": {"a": 1}}`, `{"tool_name": "f", "arguments": {"a": 1}`, false},
	} {
		accepted := acceptedTraces(t, test.target, tolerances)
		var calls []call
		if c, ok := newCall(toolTraces(test.trace)[0]); ok {
			calls = append(calls, c)
		}
		if got := anyMatches(accepted, calls); got != test.want {
			t.Errorf("%s matches %s = %v, want %v", test.trace, test.target, got, test.want)
		}
	}
}

// TestTraceText checks that the column tool_trace holds a trace as JSON.
func TestTraceText(t *testing.T) {
	const text = `{"tool_name": "f \"ü\"", "arguments": {"a": [1.0, null]}, "result": "ü"}`
	m := Message{Traces: toolTraces(text)}
	if got, ok := m.cell(columnToolTrace).Texts(); !ok || len(got) != 1 || got[0] != text {
		t.Errorf("got %q, want %q", got, text)
	}
	if got := new(Message).cell(columnToolTrace); !got.IsNull() {
		t.Errorf("without traces: got %v, want null", got)
	}
}

func TestExtractors(t *testing.T) {
	for _, test := range []struct{ extractor, template, result, want string }{
		{"result_to_timestamp0_extractor", "at {timestamp_0}", "1716399000", "at 1716399000.0"},
		{"result_to_timestamp1_extractor", "{timestamp_1}", "1e300", "1e+300"},
		{"result_to_timestamp1_extractor", "{timestamp_1}", `"later"`, ""},
		{"result_to_reminder_timestamp_lowerbound_extractor", "{reminder_timestamp_lowerbound}", "0.5", "0.5"},
		{"days_extractor", "{{{days}}} days", `{"days": 217, "seconds": 0}`, "{217} days"},
		{"days_extractor", "{days}", `{"days": -1.5}`, "-1"},
		{"days_extractor", "{days}", `{"days": -0.3}`, "0"},
		{"days_extractor", "{days}", `{"days": 9007199254740993}`, "9007199254740993"},
		{"days_extractor", "{days}", `{"days": true}`, "1"},
		{"days_extractor", "{days}", `{"days": NaN}`, ""},
		{"days_extractor", "{days}", `{"days": 1e22}`, "10000000000000000000000"},
		{"days_extractor", "{days}", `{"seconds": 0}`, ""},
		{"days_extractor", "{days}", `5`, ""},
		{"days_extractor", "{days}", `{"days": `, ""},
		{"lat_lon_dict_extractor", "{latitude},{longitude}", `{"latitude": 1, "longitude": 2.5}`, "1,2.5"},
		{"lat_lon_dict_extractor", "{latitude}", `{"latitude": 1}`, ""},
		{"lat_lon_dict_extractor", "{latitude}", `{"latitude": "1", "longitude": 2}`, "1"},
		{"lat_lon_dict_extractor", "{latitude}", `{"latitude": null, "longitude": 2}`, ""},
		{"lat_lon_dict_extractor", "{latitude}", `{"latitude": true, "latitude": false, "longitude": 2}`, "False"},
		{"current_temperature_extractor", "{amount}", `{"current_temperature": 21.5}`, "21.5"},
		{"min_temperature_amount_extractor", "{amount}", `{"min_temperature": 3}`, "3.0"},
		{"search_weather_around_lat_lon_temperature_extractor", "{temperature}", `{"current_temperature": 2.5}`, "2|2.5|2.50|2.500"},
		{"result_to_temperature_extractor", "{temperature}", "21.25", "21|21.2|21.25|21.250"},
		{"min_temperature_extractor", "{min_temperature}", "54.13999999999996", "54|54.1|54.14|54.140"},
		{"min_temperature_extractor", "{min_temperature}", "-0.4", "-0|-0.4|-0.40|-0.400"},
		{"min_temperature_extractor", "{min_temperature}", "-Infinity", "-inf|-inf|-inf|-inf"},
		{"min_temperature_extractor", "{min_temperature}", "NaN", "nan|nan|nan|nan"},
		{"min_temperature_extractor", "{min_temperature}", `["5"]`, ""},
	} {
		x := measure.BuiltIn(test.extractor)
		parsed, err := measure.ParseTemplate(test.template)
		if err != nil {
			t.Fatal(err)
		}
		completed := template(parsed)
		var texts []string
		c, _ := newCall(&worldv1.ToolTrace{Tool: "t", ArgumentsJson: "{}", ResultJson: test.result})
		for _, values := range (&preparedTrajectory{}).extract(&c, x).alternatives {
			texts = append(texts, completed.fill(values))
		}
		if got := strings.Join(texts, "|"); got != test.want {
			t.Errorf("%s of %s = %q, want %q", test.extractor, test.result, got, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	trajectory := chat("hello")
	store(trajectory, world.Contact, []Version{{Index: 0, Rows: [][]Value{{String("id")}}}})
	if err, want := trajectory.Validate(), "validate trajectory: row 0 of CONTACT at 0 has 1 cells, expected 5"; err == nil || err.Error() != want {
		t.Errorf("Validate: %v, want %s", err, want)
	}
	store(trajectory, world.Contact, []Version{{Index: 1}, {Index: 1}})
	if err, want := trajectory.Validate(), "validate trajectory: CONTACT: version 1 follows 1"; err == nil || err.Error() != want {
		t.Errorf("Validate: %v, want %s", err, want)
	}
}
