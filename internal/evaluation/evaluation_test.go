package evaluation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// These are measures.
const (
	snapshot  = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT
	addition  = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION
	derived   = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT
	guardrail = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL
	ofPack    = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_PACK

	exact   = evaluationv1.ColumnMeasure_COLUMN_MEASURE_EXACT
	closely = evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE
	one     = evaluationv1.ColumnMeasure_COLUMN_MEASURE_ONE
	rougeL  = evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L
	traces  = evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE
	column  = evaluationv1.ColumnMeasure_COLUMN_MEASURE_PACK
)

// packSource has a measure of each kind and an extractor.
const packSource = `from typing import Dict, List


def near(wanted: float, found: float) -> bool:
    """Compares numbers."""
    return abs(wanted - found) < 2


def same(wanted: str, found: str) -> bool:
    """Compares texts."""
    return wanted == found


def rows(wanted: List[Dict], found: List[Dict]) -> bool:
    """Compares tables."""
    return len(wanted) == len(found)


def take(tool_name: str, arguments: dict, result: str) -> List[Dict]:
    """Takes a value."""
    return [{"n": result}]
`

// packMeasures compiles packSource.
func packMeasures(tb testing.TB) *measure.Set {
	tb.Helper()
	set, err := measure.Compile([]*evaluationv1.MeasureModule{{Name: "mine", Source: packSource}})
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// row returns a target row of columns and values in turn.
func row(columnsAndValues ...any) *evaluationv1.TargetRow {
	out := &evaluationv1.TargetRow{}
	for i := 0; i < len(columnsAndValues); i += 2 {
		value := world.Null()
		switch v := columnsAndValues[i+1].(type) {
		case string:
			value = world.Text(v)
		case float64:
			value = world.Number(v)
		case bool:
			value = world.Bool(v)
		}
		out.Cells = append(out.Cells, &evaluationv1.TargetCell{Column: fmt.Sprint(columnsAndValues[i]), Value: value})
	}
	return out
}

// says returns a constraint on the text of a message, with changes.
func says(change func(c *evaluationv1.Constraint)) *evaluationv1.Constraint {
	c := &evaluationv1.Constraint{Table: world.Sandbox, Measure: snapshot, Target: []*evaluationv1.TargetRow{row("content", "x")}}
	if change != nil {
		change(c)
	}
	return c
}

// stored returns a constraint on a stored table.
func stored(table string, target ...*evaluationv1.TargetRow) *evaluationv1.Constraint {
	return &evaluationv1.Constraint{Table: table, Measure: snapshot, Target: target}
}

// with returns a constraint with an override.
func with(c *evaluationv1.Constraint, override *evaluationv1.ColumnOverride) *evaluationv1.Constraint {
	c.Overrides = append(c.Overrides, override)
	return c
}

// override returns an override with a tolerance unless its name is empty.
func override(name string, m evaluationv1.ColumnMeasure, tolerance string, absolute float64) *evaluationv1.ColumnOverride {
	o := &evaluationv1.ColumnOverride{Column: name, Measure: m}
	if tolerance != "" {
		o.Tolerances = []*evaluationv1.Tolerance{{Name: tolerance, Absolute: absolute}}
	}
	return o
}

// chain returns a graph that orders nodes of one constraint one after the other.
func chain(constraints ...*evaluationv1.Constraint) *evaluationv1.Graph {
	graph := &evaluationv1.Graph{}
	for i, c := range constraints {
		graph.Nodes = append(graph.Nodes, &evaluationv1.Node{Constraints: []*evaluationv1.Constraint{c}})
		if i > 0 {
			graph.Edges = append(graph.Edges, &evaluationv1.Edge{Before: int32(i - 1), After: int32(i)})
		}
	}
	return graph
}

// These are values of Problem.Scored.
const scored, fatal = true, false

// constraintProblem is a constraint with a mistake. The path is that within the constraint.
type constraintProblem struct {
	name       string
	constraint *evaluationv1.Constraint
	want       Problem
}

// fieldProblems returns constraints with a mistake in their fields.
func fieldProblems() []constraintProblem {
	return []constraintProblem{
		{"unknown table", stored("NOTE"), Problem{"table", `unknown table "NOTE"`, fatal}},
		{"no measure", says(func(c *evaluationv1.Constraint) { c.Measure = 0 }), Problem{"measure", "is missing", fatal}},
		{"unknown measure", says(func(c *evaluationv1.Constraint) { c.Measure = 77 }), Problem{"measure", "is unknown", fatal}},
		{"unknown reference", says(func(c *evaluationv1.Constraint) { c.Reference = proto.Int32(3) }), Problem{"reference", "is 3, expected -1 or a number below 3", fatal}},
		{"own reference", says(func(c *evaluationv1.Constraint) { c.Reference = proto.Int32(1) }), Problem{"reference", `"number 1" refers to itself`, fatal}},
		{"later reference", says(func(c *evaluationv1.Constraint) { c.Reference = proto.Int32(2) }),
			Problem{"reference", `"number 2" does not come before "number 1", so there would be nothing to refer to; name it in after`, fatal}},
		{"no reference", &evaluationv1.Constraint{Table: world.Contact, Measure: addition, Target: []*evaluationv1.TargetRow{row("name", "a")}},
			Problem{"", "has no reference, which addition needs: a name or start", fatal}},
		{"addition of messages", says(func(c *evaluationv1.Constraint) { c.Measure, c.Reference = addition, proto.Int32(0) }),
			Problem{"measure", "is addition, which compares stored tables; messages are in sandbox", fatal}},
		{"no message", says(func(c *evaluationv1.Constraint) { c.Target = nil }), Problem{"", "says nothing to expect: give expect, call or says", fatal}},
		{"no rows", stored(world.Contact), Problem{"", "says nothing to expect: give expect, call or says", scored}},
		{"two messages", says(func(c *evaluationv1.Constraint) { c.Target = append(c.Target, c.GetTarget()[0]) }),
			Problem{"target[1]", "is a second row, but one message is compared at a time", fatal}},
		{"guardrail with a target", says(func(c *evaluationv1.Constraint) { c.Measure, c.Reference = guardrail, proto.Int32(0) }),
			Problem{"", "compares with its reference only and takes nothing to expect", fatal}},
	}
}

// trace returns a constraint on calls in JSON.
func trace(text string) *evaluationv1.Constraint {
	return says(func(c *evaluationv1.Constraint) { c.Target[0] = row("tool_trace", text) })
}

// targetProblems returns constraints with a mistake in their target.
func targetProblems() []constraintProblem {
	return []constraintProblem{
		{"empty row", stored(world.Contact, row()), Problem{"target[0]", "wants no column, so it says nothing", scored}},
		{"other columns", stored(world.Contact, row("name", "a"), row("relationship", "b")),
			Problem{"target[1]", "lists other columns than the first row; all rows list the same, in the same order", fatal}},
		{"other order", stored(world.Contact, row("name", "a", "relationship", "b"), row("relationship", "b", "name", "a")),
			Problem{"target[1]", "lists other columns than the first row; all rows list the same, in the same order", scored}},
		{"unknown column", stored(world.Setting, row("wify", true)), Problem{"target[0].cells[0].column", `setting has no column "wify"; did you mean "wifi"?`, fatal}},
		{"column twice", stored(world.Setting, row("wifi", true, "wifi", true)), Problem{"target[0].cells[1].column", `"wifi" is given twice`, fatal}},
		{"wrong type", stored(world.Setting, row("wifi", 1.0)), Problem{"target[0].cells[0]", "wifi must be a boolean", fatal}},
		{"wrong type without comparison", with(stored(world.Setting, row("wifi", 1.0)), override("wifi", one, "", 0)),
			Problem{"target[0].cells[0]", "wifi must be a boolean", scored}},
		{"list of texts", says(func(c *evaluationv1.Constraint) { c.Target[0] = row("visible_to", "USER") }), Problem{"target[0].cells[0]", "visible_to cannot be compared", fatal}},
		{"null for a list of texts", says(func(c *evaluationv1.Constraint) { c.Target[0] = row("visible_to", nil) }),
			Problem{"target[0].cells[0]", "visible_to cannot be compared", scored}},
		{"traces by another measure", with(trace(`{"tool_name": "f", "arguments": {}}`), override("tool_trace", exact, "", 0)),
			Problem{"target[0].cells[0]", "tool_trace cannot be compared", fatal}},
		{"unknown role", says(func(c *evaluationv1.Constraint) { c.Target[0] = row("sender", "AGNT") }), Problem{"target[0].cells[0]", `unknown role "AGNT"; did you mean "AGENT"?`, fatal}},
		{"part of a role", with(says(func(c *evaluationv1.Constraint) { c.Target[0] = row("sender", "AGNT") }), override("sender", rougeL, "", 0)),
			Problem{"target[0].cells[0]", `unknown role "AGNT"; did you mean "AGENT"?`, scored}},
		{"trace that is no JSON", trace(`{"tool_name"`), Problem{"target[0].cells[0]", `is no tool trace in JSON: {"tool_name"`, fatal}},
		{"trace without arguments", trace(`[{"tool_name": "f"}]`), Problem{"target[0].cells[0]", `a tool trace needs tool_name and arguments: [{"tool_name": "f"}]`, fatal}},
		{"no traces", trace(`[]`), Problem{"target[0].cells[0]", "lists no tool trace", scored}},
	}
}

// overrideProblems returns constraints with a mistake in a measure.
func overrideProblems() []constraintProblem {
	pack := func(table, name string) *evaluationv1.Constraint {
		return &evaluationv1.Constraint{Table: table, Measure: ofPack, PackMeasure: name, Target: []*evaluationv1.TargetRow{row()}}
	}
	return []constraintProblem{
		{"override of an unknown column", with(stored(world.Contact, row("name", "a")), override("nam", exact, "", 0)),
			Problem{"overrides[0]", `contact has no column "nam"; did you mean "name"?`, fatal}},
		{"override twice", with(with(stored(world.Contact, row("name", "a")), override("name", exact, "", 0)), override("name", rougeL, "", 0)),
			Problem{"overrides[1]", `overrides "name" twice`, scored}},
		{"unsuitable measure", with(stored(world.Contact, row("name", "a")), override("is_self", rougeL, "", 0)),
			Problem{"overrides[0]", "rouge_l compares texts, and is_self is a boolean", fatal}},
		{"no column measure", with(stored(world.Contact, row("relationship", "a")), override("name", 0, "", 0)), Problem{"overrides[0]", "has no measure", fatal}},
		{"tolerance that is no number", with(stored(world.Setting, row("wifi", true)), override("latitude", closely, "latitude", math.NaN())),
			Problem{"overrides[0]", `the tolerance of "latitude" is NaN, expected 0 or more`, fatal}},
		{"tolerance of another column", with(stored(world.Setting, row("wifi", true)), override("latitude", closely, "longitude", 1)),
			Problem{"overrides[0]", `has a tolerance for "longitude", expected "latitude"`, fatal}},
		{"tolerance of an exact measure", with(stored(world.Setting, row("wifi", true)), override("latitude", exact, "latitude", 1)),
			Problem{"overrides[0]", "exact takes no tolerance, only close and tool_trace do", fatal}},
		{"override of another column", with(stored(world.Contact, row("name", "a")), override("relationship", exact, "", 0)),
			Problem{"overrides[0]", `overrides "relationship", which the constraint does not expect`, scored}},
		{"tolerance of an unknown argument", with(trace(`{"tool_name": "f", "arguments": {"amount": 1}}`), override("tool_trace", traces, "amuont", 1)),
			Problem{"overrides[0]", `has a tolerance for "amuont", which no wanted call has; did you mean "amount"?`, scored}},
		{"tolerance of a text", with(trace(`{"tool_name": "f", "arguments": {"unit": "mile"}}`), override("tool_trace", traces, "unit", 1)),
			Problem{"overrides[0]", `has a tolerance for "unit", which is wanted and no number`, scored}},
		{"unknown measure of the pack", with(stored(world.Setting, row("wifi", true)), &evaluationv1.ColumnOverride{Column: "latitude", Measure: column, PackMeasure: "neer"}),
			Problem{"overrides[0].measure", `unknown measure "neer"; did you mean "near"?`, fatal}},
		{"unsuitable measure of the pack", with(stored(world.Setting, row("wifi", true)), &evaluationv1.ColumnOverride{Column: "latitude", Measure: column, PackMeasure: "same"}),
			Problem{"overrides[0].measure", "same does not compare the cells of latitude, which is a number", fatal}},
		{"measure of cells for rows", pack(world.Contact, "near"), Problem{"measure", "near compares two cells, expected a name of what is about the rows of a table", fatal}},
	}
}

// extractorProblems returns constraints with a mistake in an extractor or in what it fills.
func extractorProblems() []constraintProblem {
	fill := func(into, extractor string, cells ...any) *evaluationv1.Constraint {
		return &evaluationv1.Constraint{
			Table: world.Sandbox, Measure: derived, Reference: proto.Int32(0), FillTo: into, Extractor: extractor,
			Target: []*evaluationv1.TargetRow{row(cells...)},
		}
	}
	return []constraintProblem{
		{"unknown extractor", fill("content", "day_extractor", "content", "{days}"), Problem{"extractor", `unknown extractor "day_extractor"; did you mean "days_extractor"?`, fatal}},
		{"no extractor", fill("content", "", "content", "{days}"), Problem{"extractor", "is empty, expected the name of an extractor or {python: expression}", fatal}},
		{"fills another column", fill("sender", "days_extractor", "content", "{days}"), Problem{"fill_to", `is "sender", expected tool_trace or content`, fatal}},
		{"fills what is not there", fill("tool_trace", "days_extractor", "content", "x"), Problem{"target[0]", "has no tool_trace, which into says is to be filled", fatal}},
		{"unknown place", fill("content", "days_extractor", "content", "{a}"), Problem{"target[0].cells[0]", "has a place for a, but the extractor gives days", scored}},
		{"no place", fill("content", "days_extractor", "content", "x"),
			Problem{"target[0].cells[0]", "has no place for what the extractor gives, which is days; write {days}", scored}},
		{"unpaired brace", fill("content", "days_extractor", "content", "{days"),
			Problem{"target[0].cells[0]", "has an unpaired brace; write {{ or }} for a brace itself", scored}},
		{"no place for an extractor of the pack", fill("content", "take", "content", "x"),
			Problem{"target[0].cells[0]", "has no place for what the extractor gives; write the name of a value in braces", scored}},
	}
}

// TestConstraintProblems compiles constraints of node 1 of 3.
func TestConstraintProblems(t *testing.T) {
	for _, test := range slices.Concat(fieldProblems(), targetProblems(), overrideProblems(), extractorProblems()) {
		t.Run(test.name, func(t *testing.T) {
			graph, problems := Compile(chain(says(nil), test.constraint, says(nil)), world.Builtin(), packMeasures(t))
			test.want.Path = strings.TrimSuffix("nodes[1].constraints[0]."+test.want.Path, ".")
			if !slices.Contains(problems, test.want) || graph == nil {
				t.Errorf("problems (-want +got):\n%s", cmp.Diff([]Problem{test.want}, problems))
			}
		})
	}
}

// TestAllProblems checks that one mistake hides no other.
func TestAllProblems(t *testing.T) {
	graph := chain(
		stored(world.Contact, row("nam", "a", "is_self", "b")),
		says(func(c *evaluationv1.Constraint) {
			c.Measure, c.Overrides = 77, []*evaluationv1.ColumnOverride{override("x", exact, "", 0)}
		}),
		says(func(c *evaluationv1.Constraint) { c.Reference = proto.Int32(2) }),
	)
	_, problems := Compile(graph, world.Builtin(), nil)
	var got []string
	for _, problem := range problems {
		got = append(got, problem.Path)
	}
	want := []string{
		"nodes[0].constraints[0].target[0].cells[0].column", "nodes[0].constraints[0].target[0].cells[1]",
		"nodes[1].constraints[0].measure", "nodes[1].constraints[0].overrides[0]", "nodes[2].constraints[0].reference",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestGraphProblems(t *testing.T) {
	refer := func(node int32) *evaluationv1.Constraint {
		return says(func(c *evaluationv1.Constraint) { c.Reference = proto.Int32(node) })
	}
	edges := func(graph *evaluationv1.Graph, pairs ...int32) *evaluationv1.Graph {
		graph.Edges = nil
		for i := 0; i < len(pairs); i += 2 {
			graph.Edges = append(graph.Edges, &evaluationv1.Edge{Before: pairs[i], After: pairs[i+1]})
		}
		return graph
	}
	empty := chain(says(nil))
	empty.GetNodes()[0].Constraints = nil
	guarded := chain(says(nil))
	guarded.GetNodes()[0].GuardrailTables = []string{"NOTE"}
	named := chain(says(nil), says(nil))
	named.GetNodes()[0].Name, named.GetNodes()[1].Name = "x", "x"
	before := func(a, b int) string {
		return fmt.Sprintf(`"number %d" does not come before "number %d", so there would be nothing to refer to; name it in after`, a, b)
	}
	for _, test := range []struct {
		name  string
		graph *evaluationv1.Graph
		want  []Problem
	}{
		{"none", chain(says(nil), refer(0)), nil},
		{"cycle", edges(chain(says(nil), says(nil)), 0, 1, 1, 0), []Problem{
			{"edges[1]", "the order has a cycle: number 0 before number 1 before number 0", false},
		}},
		{"edge to nowhere", edges(chain(says(nil)), 0, 7), []Problem{{"edges[0]", "leads from 0 to 7, expected numbers below 1", false}}},
		{"no constraint", empty, []Problem{{"nodes[0].constraints", "has no constraint, so nothing says when it is reached", false}}},
		{"unknown guarded table", guarded, []Problem{{"nodes[0]", `guardrails name an unknown table "NOTE"`, false}}},
		{"name twice", named, []Problem{{"nodes[1].name", `"x" is the name of number 0 too`, false}}},
		{"without edges", edges(chain(says(nil), says(nil), says(nil)), 0, 1), []Problem{{"nodes[2]", "has no edge, so it is never matched", true}}},
		{"reference to what is never matched", edges(chain(says(nil), refer(2), says(nil)), 0, 1), []Problem{
			{"nodes[2]", "has no edge, so it is never matched", true}, {"nodes[1].constraints[0].reference", before(2, 1), false},
		}},
		{"reference aside", edges(chain(says(nil), says(nil), refer(1)), 0, 1, 0, 2), []Problem{{"nodes[2].constraints[0].reference", before(1, 2), true}}},
		{"references in a circle", edges(chain(refer(1), refer(0), says(nil)), 0, 2, 1, 2), []Problem{
			{"nodes[0].constraints[0].reference", before(1, 0), false}, {"nodes[1].constraints[0].reference", before(0, 1), false},
		}},
		{"too many", chain(slices.Repeat([]*evaluationv1.Constraint{says(nil)}, 65)...), []Problem{
			{"nodes[64]", "the graph has 65 nodes; at most 64 are scored", false},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, problems := Compile(test.graph, world.Builtin(), nil)
			if diff := cmp.Diff(test.want, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestIncompleteMeasures checks that names in files with mistakes cause no further problems.
func TestIncompleteMeasures(t *testing.T) {
	set, err := measure.Compile([]*evaluationv1.MeasureModule{{Name: "mine", Source: "def near(wanted: float, found: float) -> bool:\n    return True\n"}})
	if err == nil {
		t.Fatal("got no mistakes, want a missing docstring")
	}
	c := with(stored(world.Setting, row("latitude", 1.0)), &evaluationv1.ColumnOverride{Column: "latitude", Measure: column, PackMeasure: "other"})
	if _, problems := Compile(chain(c), world.Builtin(), set); len(problems) > 0 {
		t.Errorf("got %v, want no problem", problems)
	}
}

func TestCheckSchema(t *testing.T) {
	schema, err := world.NewSchema([]*worldv1.TableSchema{{Name: "ITEM", Columns: []*worldv1.Column{
		{Name: "item_id", Type: worldv1.CellType_CELL_TYPE_TEXT, Measure: "exact"},
		{Name: "price", Type: worldv1.CellType_CELL_TYPE_NUMBER, Measure: "contains"},
		{Name: "weight", Type: worldv1.CellType_CELL_TYPE_NUMBER, Measure: "near"},
		{Name: "size", Type: worldv1.CellType_CELL_TYPE_NUMBER, Measure: "same"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Problem{
		{"schema", "item.price: contains compares texts, and price is a number", false},
		{"schema", "item.size: same does not compare the cells of size, which is a number", false},
	}
	if diff := cmp.Diff(want, CheckSchema(schema, packMeasures(t))); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestWantedTraces(t *testing.T) {
	c := &evaluationv1.Constraint{Target: []*evaluationv1.TargetRow{
		row("content", "a", "tool_trace", `[{"tool_name": "a", "arguments": {"b": 1}}, {"tool_name": "c"}, {"tool_name": "", "arguments": {}}]`),
		row("tool_trace", "no JSON"), row("tool_trace", `{"tool_name": "d", "arguments": {}}`),
	}}
	var got []string
	for _, trace := range WantedTraces(c) {
		got = append(got, trace.Tool+python.JSON(trace.Arguments.Value()))
	}
	if diff := cmp.Diff([]string{`a{"b": 1}`, "d{}"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzTraces compiles any text as a wanted trace: it is refused, or each trace has a tool.
func FuzzTraces(f *testing.F) {
	for _, text := range []string{`{"tool_name": "a", "arguments": {"b": [1, -2.5e3, "\ud800"]}, "result": null}`, `[{"tool_name": "a", "arguments": {}}]`, `{"a" 1}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		graph, problems := Compile(chain(says(func(c *evaluationv1.Constraint) { c.Target[0] = row("tool_trace", text) })), world.Builtin(), nil)
		if slices.ContainsFunc(problems, func(p Problem) bool { return !p.Scored }) {
			return
		}
		for _, trace := range graph.Nodes[0].Constraints[0].Target[0][0].Traces {
			if trace.Tool == "" || trace.Arguments == nil {
				t.Errorf("%q: got %v, want a tool and arguments", text, trace)
			}
		}
	})
}
