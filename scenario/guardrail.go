package scenario

import (
	"fmt"
	"slices"
	"strings"

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
// References are the nodes that its constraints refer to and the nodes directly before it. Each
// guards the tables that no constraint of the reference or the node names. As in the original, a
// reference to the start also excludes the tables of the graph's last node.
func Guardrails(schema *world.Schema, graph *evaluationv1.Graph, i int) []Guardrail {
	nodes := graph.GetNodes()
	var references, naming []int
	for _, c := range nodes[i].GetConstraints() {
		if c.Reference == nil {
			continue
		}
		references = append(references, int(c.GetReference()))
		if c.GetReference() == startNode {
			naming = append(naming, len(nodes)-1)
		}
	}
	for _, edge := range graph.GetEdges() {
		if int(edge.GetAfter()) == i {
			references = append(references, int(edge.GetBefore()))
		}
	}
	slices.Sort(references)
	references = slices.Compact(references)
	for _, r := range append([]int{i}, references...) {
		if r != startNode {
			naming = append(naming, r)
		}
	}
	var out []Guardrail
	for _, r := range references {
		for _, table := range schema.StoredTables() {
			named := slices.ContainsFunc(naming, func(n int) bool { return comparesWithoutGuardrail(nodes[n], table.Name) })
			if isGuardable(nodes[i], table.Name) && !named {
				out = append(out, Guardrail{table.Name, r})
			}
		}
	}
	return out
}

// comparesWithoutGuardrail reports whether a constraint of a node other than a guardrail compares a
// table.
func comparesWithoutGuardrail(node *evaluationv1.Node, table string) bool {
	return slices.ContainsFunc(node.GetConstraints(), func(c *evaluationv1.Constraint) bool {
		return c.GetTable() == table && c.GetMeasure() != evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL
	})
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
