package evaluation

import (
	"slices"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// Guardrail is an automatic guardrail of a node: the table must be the same at its match and at the
// reference.
type Guardrail struct {
	// Table is the index of the table in the schema.
	Table int
	// Reference is the number of a node or FirstUserMessage.
	Reference int
}

// Guardrails derives the automatic guardrails of node i by reference and table. References are the
// nodes that its constraints refer to and the nodes directly before it. Each guards the tables that
// no constraint of the node or of a reference compares. As in the original, a reference to the
// first user message also excludes the tables of the graph's last node.
func (g *Graph) Guardrails(i int) []Guardrail {
	references := g.Nodes[i].Direct
	first := false
	for _, c := range g.Nodes[i].Constraints {
		switch {
		case c.Reference >= 0:
			references |= 1 << c.Reference
		case c.Reference == FirstUserMessage:
			first = true
		}
	}
	from := List(references)
	naming := append([]int{i}, from...)
	if first {
		from, naming = slices.Insert(from, 0, FirstUserMessage), append(naming, len(g.Nodes)-1)
	}
	tables := slices.DeleteFunc(g.guardable(i), func(table int) bool {
		return slices.ContainsFunc(naming, func(node int) bool { return g.Nodes[node].compares(table) })
	})
	var guards []Guardrail
	for _, reference := range from {
		for _, table := range tables {
			guards = append(guards, Guardrail{table, reference})
		}
	}
	return guards
}

// guardable returns the tables that may have guardrails of node i. A listed SANDBOX has no effect.
func (g *Graph) guardable(i int) []int {
	source := g.source.GetNodes()[i]
	var tables []int
	for t, table := range g.Schema.StoredTables() {
		if source.GetRestrictGuardrails() && !slices.Contains(source.GetGuardrailTables(), table.Name) ||
			!source.GetRestrictGuardrails() && slices.Contains(source.GetUnguardedTables(), table.Name) {
			continue
		}
		tables = append(tables, 1+t)
	}
	return tables
}

// compares reports whether a constraint of the node other than a guardrail compares a table.
func (n *Node) compares(table int) bool {
	return slices.ContainsFunc(n.Constraints, func(c Constraint) bool {
		return c.Table == table && c.Measure != evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL
	})
}
