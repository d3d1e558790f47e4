package score

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

const packSource = `from typing import Any, Dict, List, Optional


def part(wanted: str, found: str) -> bool:
    """Gives 1 for a text that contains the wanted one."""
    return wanted in found


def starts(wanted: str, found: str) -> bool:
    """Gives 1 for a text that starts with the wanted one."""
    return found.startswith(wanted)


def anything(wanted: List[Dict[str, Any]], found: List[Dict[str, Any]]) -> bool:
    """Gives 1 for any rows."""
    return True


def near(wanted: float, found: float) -> float:
    """Gives less the further a number is off."""
    return max(0.0, 1 - abs(wanted - found) / 10)


def maybe(wanted: Optional[str], found: Optional[str]) -> float:
    """Gives a half where either is nothing."""
    return 0.5 if wanted is None or found is None else 1


def division(wanted: float, found: float) -> float:
    """Fails for 0."""
    return min(1.0, wanted / found)


def slow(wanted: str, found: str) -> float:
    """Takes many steps."""
    for i in range(10000):
        pass
    return 0.0


def share(wanted: List[Dict[str, Any]], found: List[Dict[str, Any]]) -> float:
    """Gives the share of the wanted names that are there."""
    names = [row["name"] for row in found]
    return sum(row["name"] in names for row in wanted) / len(wanted)


def digits(tool_name: str, arguments: Dict[str, Any], result: Any) -> List[Dict[str, Any]]:
    """Takes a number with and without decimals."""
    return [{"n": float(result)}, {"n": int(result)}]


def odd(tool_name: str, arguments: Dict[str, Any], result: Any) -> List[Dict[str, Any]]:
    """Takes a lone surrogate, or another name."""
    return [{"n": "\ud800"}] if result == "surrogate" else [{"m": 1}]
`

// packSet compiles packSource.
func packSet(tb testing.TB) *measure.Set {
	tb.Helper()
	set, err := measure.Compile([]*evaluationv1.MeasureModule{{Name: "mine", Source: packSource}})
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// packGraph compiles a chain of nodes with one constraint each.
func packGraph(tb testing.TB, constraints ...Constraint) *Graph {
	tb.Helper()
	d := testDefinition{Name: "milestones", Edges: chain(len(constraints)), Measures: packSet(tb)}
	for _, c := range constraints {
		d.Nodes = append(d.Nodes, Node{Constraints: []Constraint{c}, Guard: Guard{Mode: GuardOnly}})
	}
	graph, err := compileDefinition(d)
	if err != nil {
		tb.Fatal(err)
	}
	return graph
}

// person returns a row of CONTACT.
func person(id, name string) []Value {
	return []Value{String(id), String(name), String("+1"), Null(), Bool(false)}
}

// packConstraint compares the rows of a table by a pack's measure in one column.
func packConstraint(kind SnapshotMeasure, table, column, own string, values ...Value) Constraint {
	c := Constraint{Table: table, Measure: kind, Overrides: []Override{{Column: column, Measure: PackColumn, Own: own}}}
	if kind != Snapshot {
		c.Reference = reference(FirstUserMessage)
	}
	for _, v := range values {
		c.Target = append(c.Target, []Cell{{Column: column, Value: v}})
	}
	return c
}

// TestPackMeasuresEqualBuiltin checks that a pack's measure with the behaviour of a built-in one
// has the same matching.
func TestPackMeasuresEqualBuiltin(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for trial := range 60 {
		trajectory := chat(strings.Split(strings.Repeat("hello ", 5+random.IntN(6)), " ")...)
		var versions []Version
		for index := range len(trajectory.Messages) {
			if index > 0 && random.IntN(2) == 0 {
				continue
			}
			rows := make([][]Value, random.IntN(5))
			for i := range rows {
				rows[i] = person(fmt.Sprint(i), strings.Repeat("ab", random.IntN(3))+"c")
			}
			versions = append(versions, Version{Index: index, Rows: rows})
		}
		store(trajectory, world.Contact, versions)
		var own, builtIn []Constraint
		for range 1 + random.IntN(4) {
			kind := []SnapshotMeasure{Snapshot, Addition, Removal, Update}[random.IntN(4)]
			var values []Value
			for range random.IntN(3) {
				values = append(values, String([]string{"a", "b", "abab", "c"}[random.IntN(4)]))
			}
			c := packConstraint(kind, world.Contact, "name", "part", values...)
			own = append(own, c)
			c.Overrides = []Override{{Column: "name", Measure: Contains}}
			builtIn = append(builtIn, c)
		}
		want, got := Score(trajectory, packGraph(t, builtIn...), nil), Score(trajectory, packGraph(t, own...), nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("trial %d: by own measures (-built-in +own):\n%s", trial, diff)
		}
	}
}

func TestPackColumnMeasure(t *testing.T) {
	reminder := func(content Value, due Value) []Value {
		return []Value{String("1"), content, Number(0), due, Null(), Null()}
	}
	for _, test := range []struct {
		name       string
		constraint Constraint
		row        []Value
		want       float64
	}{
		{"graded", packConstraint(Snapshot, world.Reminder, "reminder_timestamp", "near", Number(10)), reminder(String("a"), Number(13)), roundToFloat32(0.7)},
		{"truth value", packConstraint(Snapshot, world.Reminder, "content", "starts", String("Buy")), reminder(String("Buy milk"), Null()), 1},
		{"null cell", packConstraint(Snapshot, world.Reminder, "reminder_timestamp", "near", Number(10)), reminder(String("a"), Null()), 0},
		{"null target", packConstraint(Snapshot, world.Reminder, "reminder_timestamp", "near", Null()), reminder(String("a"), Number(1)), 0},
		{"null twice", packConstraint(Snapshot, world.Reminder, "reminder_timestamp", "near", Null()), reminder(String("a"), Null()), 1},
		{"accepts null", packConstraint(Snapshot, world.Reminder, "content", "maybe", String("a")), reminder(Null(), Null()), 0.5},
		{"huge", packConstraint(Snapshot, world.Reminder, "reminder_timestamp", "near", Number(-1e308)), reminder(Null(), Number(1e308)), 0},
	} {
		trajectory := chat("hello", "hello")
		store(trajectory, world.Reminder, []Version{{Index: 0, Rows: [][]Value{test.row}}})
		if got := Score(trajectory, packGraph(t, test.constraint), nil); got.Err != nil || got.Similarity != test.want {
			t.Errorf("%s: got %v and %v, want %v", test.name, got.Similarity, got.Err, test.want)
		}
	}
	said := say("Milk")
	said.Overrides = []Override{{Column: "content", Measure: PackColumn, Own: "part"}}
	if got := Score(chat("hello", "Milk bought"), packGraph(t, said), nil); got.Similarity != 1 {
		t.Errorf("text by an own measure: got %v, want 1", got.Similarity)
	}
}

func TestPackRowMeasure(t *testing.T) {
	trajectory := chat("hello", "hello")
	store(trajectory, world.Contact, []Version{{Index: 0, Rows: [][]Value{person("1", "Ann"), person("2", "Bob"), person("3", "Cy")}}})
	share := Constraint{Table: world.Contact, Measure: PackSnapshot, Own: "share", Target: [][]Cell{
		{{Column: "name", Value: String("Bob")}}, {{Column: "name", Value: String("Eve")}},
	}}
	graph := packGraph(t, share)
	if got := Score(trajectory, graph, nil); got.Err != nil || got.Similarity != 0.5 {
		t.Errorf("got %v and %v, want 0.5", got.Similarity, got.Err)
	}
	e := Explain(trajectory, graph, nil).Milestones[0].GetMatch().GetConstraints()[0]
	if e.GetMeasure() != PackSnapshot || e.GetPackMeasure() != "share" || e.GetSimilarity() != 0.5 || len(e.GetRows()) != 5 {
		t.Errorf("explanation: got %v, want 2 wanted and 3 found rows by share", e)
	}
}

// TestPackMeasureFailure checks that a failing measure prevents a score, also in explanations.
func TestPackMeasureFailure(t *testing.T) {
	trajectory := chat("hello", "hello", "hello")
	row := func(n float64) [][]Value {
		return [][]Value{{String("1"), Null(), Null(), Number(n), Null(), Null()}}
	}
	store(trajectory, world.Reminder, []Version{{Index: 0, Rows: row(2)}, {Index: 1, Rows: row(0)}})
	c := packConstraint(Snapshot, world.Reminder, "reminder_timestamp", "division", Number(1))
	want := "measures/mine.py:29: division(wanted=1.0, found=0.0): ZeroDivisionError: float division by zero"
	for _, graphs := range [][2]*Graph{{packGraph(t, c), nil}, {nil, packGraph(t, c)}, {packGraph(t, c, c, c), packGraph(t, say("x"))}} {
		got := Score(trajectory, graphs[0], graphs[1])
		if got.Err == nil || got.Err.Error() != want || !measure.IsFailure(got.Err) {
			t.Errorf("got %v, want %s", got.Err, want)
		}
	}
	store(trajectory, world.Reminder, []Version{{Index: 1, Rows: row(4)}})
	if got := Score(trajectory, packGraph(t, c), nil); got.Err != nil || got.Similarity != 0.25 {
		t.Errorf("without 0: got %v and %v, want 0.25", got.Similarity, got.Err)
	}
}

// packTable returns a trajectory with a table of rows that does not change, with a version at each
// message, and a constraint on all rows.
func packTable(rows int, own string, name func(i int) string) (*Trajectory, Constraint) {
	return packTableAt(4, rows, own, name)
}

// packTableAt is packTable with a number of messages.
func packTableAt(messages, rows int, own string, name func(i int) string) (*Trajectory, Constraint) {
	trajectory := chat(slices.Repeat([]string{"hello"}, messages)...)
	var found [][]Value
	var want []Value
	for i := range rows {
		found = append(found, person(fmt.Sprint(i), name(i)))
		want = append(want, String(name(i)))
	}
	var versions []Version
	for index := range trajectory.Messages {
		versions = append(versions, Version{Index: index, Rows: found})
	}
	store(trajectory, world.Contact, versions)
	return trajectory, packConstraint(Snapshot, world.Contact, "name", own, want...)
}

// TestPackMeasureIsCached checks that equal values are compared once.
func TestPackMeasureIsCached(t *testing.T) {
	trajectory, c := packTable(500, "slow", func(int) string { return "a" })
	if got := Score(trajectory, packGraph(t, c), nil); got.Err != nil || got.Similarity != 0 {
		t.Errorf("got %v and %v, want 0", got.Similarity, got.Err)
	}
}

// TestLongPackMeasureBounds checks that 500 different rows are compared, and that too many steps
// fail.
func TestLongPackMeasureBounds(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf("name %d", i) }
	trajectory, c := packTable(500, "part", name)
	if got := Score(trajectory, packGraph(t, c), nil); got.Err != nil || got.Similarity != 1 {
		t.Errorf("got %v and %v, want 1", got.Similarity, got.Err)
	}
	trajectory, c = packTable(500, "slow", name)
	if got := Score(trajectory, packGraph(t, c), nil); !errors.Is(got.Err, measure.ErrSteps) {
		t.Errorf("slow measure: got %v, want %v", got.Err, measure.ErrSteps)
	}
}

// TestCellsCountAsSteps checks that the cells of a measure of rows count as steps.
func TestCellsCountAsSteps(t *testing.T) {
	contact, _ := world.Builtin().Table(world.Contact)
	rows := [][]Value{person("1", "Ann"), person("2", "Al")}
	fn := packSet(t).Find("anything", measure.Rows)
	cells := measure.CellSteps * len(rows) * len(contact.Columns)
	m := packMeasures{steps: measure.MaxSteps - cells - measure.CallSteps - 1000}
	if got, err := m.compareRows(fn, nil, rows, contact.Columns); err != nil || got != 1 {
		t.Errorf("with steps left: got %v and %v, want 1", got, err)
	}
	m = packMeasures{steps: measure.MaxSteps - cells + 1}
	if _, err := m.compareRows(fn, nil, rows, contact.Columns); !errors.Is(err, measure.ErrSteps) {
		t.Errorf("without steps left: got %v, want %v", err, measure.ErrSteps)
	}
}

// TestPackMeasureOfManyRows checks that a measure of the rows of a large table returns a score or
// an error. Its values are bounded.
func TestPackMeasureOfManyRows(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf("name %d", i) }
	for _, test := range []struct {
		packMeasure string
		rows        int
		want        string
	}{
		{"anything", 1000, ""},
		{"anything", 10000, "MemoryError: more than "},
		{"share", 10000, "MemoryError: more than "},
	} {
		trajectory, c := packTableAt(4, test.rows, test.packMeasure, name)
		c.Measure, c.Own, c.Overrides, c.Target = PackSnapshot, test.packMeasure, nil, c.Target[:1]
		got := Score(trajectory, packGraph(t, c), nil)
		switch {
		case test.want == "" && (got.Err != nil || got.Similarity != 1):
			t.Errorf("%s, %d rows: got %v and %v, want 1", test.packMeasure, test.rows, got.Similarity, got.Err)
		case test.want != "" && (got.Err == nil || !strings.Contains(got.Err.Error(), test.want)):
			t.Errorf("%s, %d rows: got %v and %v, want %s", test.packMeasure, test.rows, got.Similarity, got.Err, test.want)
		}
	}
}

func TestPackExtractor(t *testing.T) {
	trajectory := chat("hello", "hello", "hello", "It is 5 in all")
	trajectory.Messages[1] = Message{Sender: ExecutionEnvironment, Recipient: Agent, Traces: toolTraces(`{"tool_name": "t", "arguments": {}, "result": 5}`)}
	derived := func(extractor string) Constraint {
		return Constraint{
			Table: world.Sandbox, Measure: ToolTraceDependant, Reference: reference(0), FillTo: "content", Extractor: extractor,
			Target: [][]Cell{{{Column: "sender", Value: String("AGENT")}, {Column: "content", Value: String("It is {n} in all")}}},
		}
	}
	called := Constraint{Table: world.Sandbox, Measure: Snapshot, Target: [][]Cell{{{Column: "tool_trace", Value: String(`{"tool_name": "t", "arguments": {}}`)}}}}
	graph := packGraph(t, called, derived("digits"))
	if got := Score(trajectory, graph, nil); got.Err != nil || got.Similarity != 1 {
		t.Errorf("got %v and %v, want 1", got.Similarity, got.Err)
	}
	for result, want := range map[string]string{
		`"x"`: "no call at message 1 gives n; t: measures/mine.py:", "null": "TypeError", `"surrogate"`: "",
	} {
		trajectory.Messages[1].Traces = toolTraces(`{"tool_name": "t", "arguments": {}, "result": ` + result + `}`)
		name := "digits"
		if want == "" {
			name = "odd"
		}
		got := Explain(trajectory, packGraph(t, called, derived(name)), nil)
		e := got.Milestones[1].GetMatch().GetConstraints()[0]
		if got.Result.Err != nil || !strings.Contains(e.GetProblem(), want) {
			t.Errorf("%s: got %v, %q, want a problem with %q", result, got.Result.Err, e.GetProblem(), want)
		}
		if want == "" && (len(e.GetExtracted()) != 1 || e.GetExtracted()[0].GetValue() != "\uFFFD") {
			t.Errorf("%s: got %v, want a text in UTF-8", result, e.GetExtracted())
		}
	}
	trajectory.Messages[1].Traces = toolTraces(`{"tool_name": "t", "arguments": {}, "result": 1}`)
	e := Explain(trajectory, packGraph(t, called, derived("odd")), nil).Milestones[1].GetMatch().GetConstraints()[0]
	if e.GetSimilarity() != 0 || e.GetProblem() != "no call at message 1 gives n" {
		t.Errorf("without the placeholder's value: got %v, %q", e.GetSimilarity(), e.GetProblem())
	}
}

func TestPackMeasureErrors(t *testing.T) {
	columns := []Override{{Column: "name", Measure: PackColumn, Own: "part"}}
	for _, test := range []struct {
		constraint Constraint
		want       string
	}{
		{packConstraint(Snapshot, world.Contact, "name", "missing", String("a")), `overrides[0].measure: unknown measure "missing"`},
		{packConstraint(Snapshot, world.Contact, "name", "near", String("a")), "near does not compare the cells of name, which is a text"},
		{packConstraint(Snapshot, world.Contact, "name", "share", String("a")), "share compares the rows of a table, expected a name of what is about two cells"},
		{packConstraint(Snapshot, world.Sandbox, "visible_to", "part", Null()), "part does not compare the cells of visible_to, which is a list of texts"},
		{Constraint{Table: world.Contact, Measure: PackSnapshot, Own: "part"}, "measure: part compares two cells, expected a name of what is about the rows of a table"},
		{Constraint{Table: world.Sandbox, Measure: PackSnapshot, Own: "share", Target: [][]Cell{{{Column: "content", Value: String("a")}}}}, "table: is sandbox, but share compares stored tables"},
		{Constraint{Table: world.Contact, Measure: PackSnapshot, Own: "share", Overrides: columns}, "share compares whole rows and reads no measures of columns"},
	} {
		d := testDefinition{Name: "milestones", Measures: packSet(t), Nodes: []Node{{Constraints: []Constraint{test.constraint}}}}
		if _, err := compileDefinition(d); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want an error with %q", err, test.want)
		}
	}
}
