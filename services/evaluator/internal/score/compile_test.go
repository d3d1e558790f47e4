package score

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/world"
)

// reference returns a reference to a node.
func reference(node int) *int { return &node }

// say is a constraint on the text of a message.
func say(text string) Constraint {
	return Constraint{Table: world.Sandbox, Measure: Snapshot, Target: [][]Cell{{{"content", String(text)}}}}
}

func TestGuardModes(t *testing.T) {
	for mode, tables := range map[GuardMode][]string{
		GuardAll:    {world.Setting, world.Contact, world.Messaging, world.Reminder},
		GuardOnly:   {world.Contact},
		GuardExcept: {world.Setting, world.Messaging, world.Reminder},
	} {
		var want []evaluation.Guardrail
		for _, table := range tables {
			want = append(want, evaluation.Guardrail{Table: world.Builtin().TableIndex(table)})
		}
		graph, err := compileDefinition(testDefinition{Edges: chain(2), Nodes: []Node{
			{Constraints: []Constraint{say("a")}},
			{Constraints: []Constraint{say("b")}, Guard: Guard{Mode: mode, Tables: []string{world.Sandbox, world.Contact}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, graph.nodes[1].guards); diff != "" {
			t.Errorf("mode %d: guardrails (-want +got):\n%s", mode, diff)
		}
	}
}
