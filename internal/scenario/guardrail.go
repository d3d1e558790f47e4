package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
)

// Guardrail is one that the evaluator adds to a milestone or minefield by itself: the node counts
// only at a message where the table is as it was at the reference.
type Guardrail struct {
	Table string
	// Reference is a node's number, or −1 for the first message of the user.
	Reference int
}

// Guardrails returns the automatic guardrails of a node of a valid graph, by reference and table:
// since each node that it refers to or that comes directly before it, each table that no constraint
// of these names. A reference to the start takes the tables of the graph's last node out as well,
// as in the original.
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
		for _, table := range schema.Stored() {
			named := slices.ContainsFunc(naming, func(n int) bool { return namesOutright(nodes[n], table.Name) })
			if guardable(nodes[i], table.Name) && !named {
				out = append(out, Guardrail{table.Name, r})
			}
		}
	}
	return out
}

// namesOutright says whether a constraint of a node that is no guardrail looks at a table.
func namesOutright(node *evaluationv1.Node, table string) bool {
	return slices.ContainsFunc(node.GetConstraints(), func(c *evaluationv1.Constraint) bool {
		return c.GetTable() == table && c.GetMeasure() != evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL
	})
}

// SwitchedOff says of each automatic guardrail since the start that switches a minefield off how it
// does: a call that the minefield itself wants changes the table, or the oracle does. It goes by
// the names of tools. Where another node is matched, and so what its guardrails forbid, is known
// only when the scenario has been played.
func SwitchedOff(s *scenariov1.Scenario, minefield int) []string {
	graph := s.GetEvaluation().GetMinefields()
	node := graph.GetNodes()[minefield]
	var out []string
	var tables []string
	for _, guard := range Guardrails(world.SchemaOf(s.GetSetup().GetSchema()), graph, minefield) {
		name := guard.Table
		switch {
		case guard.Reference != startNode:
			continue
		case calls(node, guard.Table):
			out = append(out, fmt.Sprintf("the call that it wants changes %s, which an automatic guardrail forbids since the start: it counts only where the call changes nothing", name))
		case changes(s.GetSetup().GetOracleScript(), guard.Table) > 0:
			out = append(out, fmt.Sprintf("the oracle changes %s, which an automatic guardrail forbids since the start: nothing triggers it after that", name))
		default:
			continue
		}
		if !slices.Contains(tables, guard.Table) {
			tables = append(tables, guard.Table)
		}
	}
	if len(out) > 0 {
		out = append(out, Unguard(tables))
	}
	return out
}

// Since says since when a guardrail's table must not change.
func (g Guardrail) Since(graph *evaluationv1.Graph) string {
	if g.Reference == startNode {
		return "the start"
	}
	if name := graph.GetNodes()[g.Reference].GetName(); name != "" {
		return fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("number %d", g.Reference)
}

// Unguard says what to write so that tables are not guarded.
func Unguard(tables []string) string {
	var names []string
	for _, table := range tables {
		names = append(names, world.AuthorText(table))
	}
	return "to trigger it all the same, write guardrails: {except: [" + strings.Join(names, ", ") + "]}"
}
