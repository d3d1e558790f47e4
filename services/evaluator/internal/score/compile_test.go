package score

import (
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
