package score

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
)

// reference returns a reference to a node.
func reference(node int) *int { return &node }

// say is a constraint on the text of a message.
func say(text string) Constraint {
	return Constraint{Table: world.Sandbox, Measure: Snapshot, Target: [][]Cell{{{"content", String(text)}}}}
}

// sayWith returns say("x") with changes.
func sayWith(change func(*Constraint)) Constraint {
	c := say("x")
	change(&c)
	return c
}

type compileError struct {
	name       string
	constraint Constraint
	want       DefinitionError
}

// compileErrors returns invalid constraints of node 1 of 3, each with its mistake.
func compileErrors() []compileError {
	set := func(cells ...Cell) Constraint {
		return Constraint{Table: world.Setting, Measure: Snapshot, Target: [][]Cell{cells}}
	}
	return []compileError{
		{"unknown column", set(Cell{"wify", Bool(true)}), DefinitionError{Field: "target[0].wify", Problem: `SETTING has no column "wify"`}},
		{"wrong type", set(Cell{"wifi", Number(1)}), DefinitionError{Field: "target[0].wifi", Problem: "is a number, must be a boolean"}},
		{"column twice", set(Cell{"wifi", Bool(true)}, Cell{"wifi", Bool(true)}), DefinitionError{Field: "target[0].wifi", Problem: "given twice"}},
		{"unknown table", Constraint{Table: "NOTE", Measure: Snapshot}, DefinitionError{Field: "table", Problem: `unknown table "NOTE"`}},
		{"unknown measure", Constraint{Table: world.Setting}, DefinitionError{Field: "measure", Problem: "unknown measure 0"}},
		{"unknown role", sayWith(func(c *Constraint) { c.Target = [][]Cell{{{"sender", String("BOSS")}}} }), DefinitionError{Field: "target[0].sender", Problem: `unknown role "BOSS"`}},
		{"bad trace", sayWith(func(c *Constraint) { c.Target = [][]Cell{{{"tool_trace", String(`{"tool_name"`)}}} }), DefinitionError{Field: "target[0].tool_trace", Problem: "invalid JSON: Expecting ':' delimiter: line 1 column 13 (char 12)"}},
		{"trace without arguments", sayWith(func(c *Constraint) { c.Target = [][]Cell{{{"tool_trace", String(`[{"tool_name": "f"}]`)}}} }), DefinitionError{Field: "target[0].tool_trace", Problem: "trace 0 has no object arguments"}},
		{"unknown reference", sayWith(func(c *Constraint) { c.Reference = reference(3) }), DefinitionError{Field: "reference", Problem: "unknown node 3"}},
		{"no reference", Constraint{Table: world.Contact, Measure: Addition}, DefinitionError{Field: "reference", Problem: "addition needs a reference"}},
		{"own reference", sayWith(func(c *Constraint) { c.Reference = reference(1) }), DefinitionError{Field: "reference", Problem: "node 1 refers to itself"}},
		{"later reference", sayWith(func(c *Constraint) { c.Reference = reference(2) }), DefinitionError{Field: "reference", Problem: "node 2 is only matched after node 1"}},
		{"addition of messages", sayWith(func(c *Constraint) { c.Measure, c.Reference = Addition, reference(0) }), DefinitionError{Field: "table", Problem: "addition compares stored tables, not SANDBOX"}},
		{"unsuitable measure", sayWith(func(c *Constraint) {
			c.Overrides = []Override{{Column: "conversation_active", Measure: RougeL}}
		}), DefinitionError{Field: "columns.conversation_active", Problem: `measure "rouge_l" does not compare a boolean`}},
		{"negative tolerance", sayWith(func(c *Constraint) {
			c.Overrides = []Override{{Column: "content", Measure: Close, Tolerances: []Tolerance{{"content", math.NaN()}}}}
		}), DefinitionError{Field: "columns.content", Problem: `tolerance of "content" is NaN, must not be negative`}},
		{"unknown extractor", sayWith(func(c *Constraint) {
			c.Measure, c.Reference, c.FillTo = ToolTraceDependant, reference(0), "content"
		}), DefinitionError{Field: "extractor", Problem: `unknown extractor ""`}},
		{"fills nothing", sayWith(func(c *Constraint) {
			c.Measure, c.Reference, c.FillTo, c.Extractor = ToolTraceDependant, reference(0), "tool_trace", "days_extractor"
		}), DefinitionError{Field: "fill_to", Problem: "target[0] has no tool_trace"}},
		{"two messages", sayWith(func(c *Constraint) { c.Target = append(c.Target, c.Target[0]) }),
			DefinitionError{Field: "target", Problem: "has 2 rows, must be one message"}},
		{"guardrail with a target", sayWith(func(c *Constraint) { c.Measure, c.Reference = Guardrail, reference(0) }),
			DefinitionError{Field: "target", Problem: "guardrail takes none"}},
		{"tolerance of another column", Constraint{Table: world.Setting, Measure: Snapshot, Overrides: []Override{
			{Column: "latitude", Measure: Close, Tolerances: []Tolerance{{"longitude", 1}}},
		}}, DefinitionError{Field: "columns.latitude", Problem: `tolerance of "longitude", must be of "latitude"`}},
		{"tolerance of an exact measure", Constraint{Table: world.Setting, Measure: Snapshot, Overrides: []Override{
			{Column: "latitude", Measure: Exact, Tolerances: []Tolerance{{"latitude", 1}}},
		}}, DefinitionError{Field: "columns.latitude", Problem: `measure "exact" takes no tolerance`}},
		{"other columns", Constraint{Table: world.Contact, Measure: Snapshot, Target: [][]Cell{
			{{"name", String("a")}}, {{"relationship", String("b")}},
		}}, DefinitionError{Field: "target[1]", Problem: "the columns differ from those of target[0]"}},
	}
}

func TestCompileErrors(t *testing.T) {
	for _, test := range compileErrors() {
		t.Run(test.name, func(t *testing.T) {
			_, err := compileDefinition(testDefinition{Name: "milestones", Edges: chain(3), Nodes: []Node{
				{Constraints: []Constraint{say("a")}},
				{Constraints: []Constraint{say("b"), test.constraint}},
				{Constraints: []Constraint{say("c")}},
			}})
			var got *DefinitionError
			if !errors.As(err, &got) {
				t.Fatalf("Compile: %v, want a DefinitionError", err)
			}
			test.want.Node, test.want.Constraint = 1, 1
			test.want.Path = "milestones[1].constraints[1]." + test.want.Field
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("Compile (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompileGraphErrors(t *testing.T) {
	refer := func(node int) []Constraint {
		return []Constraint{sayWith(func(c *Constraint) { c.Reference = reference(node) })}
	}
	plain := []Constraint{say("a")}
	tests := []struct {
		name       string
		definition testDefinition
		want       string
	}{
		{"cycle", testDefinition{Nodes: []Node{{Constraints: plain}, {Constraints: plain}}, Edges: []Edge{{0, 1}, {1, 0}}},
			"minefields.edges: cycle through nodes [0 1]"},
		{"edge to nowhere", testDefinition{Nodes: []Node{{Constraints: plain}}, Edges: []Edge{{0, 7}}},
			"minefields.edges: edge 0 refers to an unknown node: 0, 7"},
		{"no constraint", testDefinition{Nodes: []Node{{}}}, "minefields[0].constraints: empty"},
		{"never matched", testDefinition{Nodes: []Node{{Constraints: plain}, {Constraints: refer(2)}, {Constraints: plain}}, Edges: chain(2)},
			"minefields[1].constraints[0].reference: node 2 is never matched: no edge mentions it"},
		{"references in a circle", testDefinition{
			Nodes: []Node{{Constraints: refer(1)}, {Constraints: refer(0)}, {Constraints: plain}}, Edges: []Edge{{0, 2}, {1, 2}},
		}, "minefields[0].constraints[0].reference: nodes [0 1 2] wait for each other\n" +
			"minefields[1].constraints[0].reference: nodes [0 1 2] wait for each other"},
		{"too many", testDefinition{Nodes: make([]Node, 65)}, "minefields: 65 nodes, at most 64 are allowed"},
		{"unknown guarded table", testDefinition{Nodes: []Node{{Constraints: plain, Guard: Guard{Mode: GuardOnly, Tables: []string{""}}}}},
			`minefields[0].guard.tables: unknown table ""`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.definition.Name = "minefields"
			_, err := compileDefinition(test.definition)
			if err == nil || err.Error() != test.want {
				t.Errorf("Compile: %v, want %s", err, test.want)
			}
		})
	}
}

func TestGuardModes(t *testing.T) {
	for mode, want := range map[GuardMode][]AutomaticGuardrail{
		GuardAll:    {{world.Setting, 0}, {world.Contact, 0}, {world.Messaging, 0}, {world.Reminder, 0}},
		GuardOnly:   {{world.Contact, 0}},
		GuardExcept: {{world.Setting, 0}, {world.Messaging, 0}, {world.Reminder, 0}},
	} {
		graph, err := compileDefinition(testDefinition{Edges: chain(2), Nodes: []Node{
			{Constraints: []Constraint{say("a")}},
			{Constraints: []Constraint{say("b")}, Guard: Guard{Mode: mode, Tables: []string{world.Sandbox, world.Contact}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, graph.Guardrails(1)); diff != "" {
			t.Errorf("mode %d: Guardrails (-want +got):\n%s", mode, diff)
		}
	}
}
