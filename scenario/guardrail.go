package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
)

// Guardrail is an automatic guardrail of a milestone or minefield: the node matches only at a
// message at which the table is unchanged since the reference.
type Guardrail struct {
	Table string
	// Reference is a node's number, or −1 for the first user message.
	Reference int
}

// Guardrails returns the automatic guardrails of a node of a valid graph, by reference and table.
func Guardrails(schema *world.Schema, graph *evaluationv1.Graph, i int) []Guardrail {
	compiled, _ := evaluation.Compile(graph, schema, nil) // guardrails do not depend on measures
	var out []Guardrail
	for _, guard := range compiled.Guardrails(i) {
		out = append(out, Guardrail{schema.Tables()[guard.Table].Name, guard.Reference})
	}
	return out
}

// DisablingGuardrails explains each automatic guardrail since the start that disables a minefield:
// a call that the minefield expects changes the table, or the oracle does. The names of tools
// determine the tables. Guardrails since other nodes depend on the rollout and are not considered.
func DisablingGuardrails(s *scenariov1.Scenario, minefield int) []string {
	graph := s.GetEvaluation().GetMinefields()
	node := graph.GetNodes()[minefield]
	var out []string
	var tables []string
	for _, guard := range Guardrails(world.SchemaOrBuiltin(s.GetSetup().GetSchema()), graph, minefield) {
		name := guard.Table
		switch {
		case guard.Reference != startNode:
			continue
		case wantsChange(node, guard.Table):
			out = append(out, fmt.Sprintf("the call that it wants changes %s, which an automatic guardrail forbids since the start: it counts only where the call changes nothing", name))
		case countChanges(s.GetSetup().GetOracleScript(), guard.Table) > 0:
			out = append(out, fmt.Sprintf("the oracle changes %s, which an automatic guardrail forbids since the start: nothing triggers it after that", name))
		default:
			continue
		}
		if !slices.Contains(tables, guard.Table) {
			tables = append(tables, guard.Table)
		}
	}
	if len(out) > 0 {
		out = append(out, ExcludeHint(tables))
	}
	return out
}

// ReferenceText returns the reference of a guardrail as text.
func (g Guardrail) ReferenceText(graph *evaluationv1.Graph) string {
	if g.Reference == startNode {
		return "the start"
	}
	if name := graph.GetNodes()[g.Reference].GetName(); name != "" {
		return fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("number %d", g.Reference)
}

// ExcludeHint returns the YAML that excludes tables from automatic guardrails.
func ExcludeHint(tables []string) string {
	var names []string
	for _, table := range tables {
		names = append(names, world.AuthorName(table))
	}
	return "to trigger it all the same, write guardrails: {except: [" + strings.Join(names, ", ") + "]}"
}
