package scenario

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// addFinalGuardrails adds guardrails to the last milestones. A table must not have changed since
// the previous milestone that names it, otherwise since the start. They detect an unrequested
// change after the last milestone that compares the table, and one that a snapshot hides.
//
// Excluded are tables that the author leaves unguarded, tables that the oracle or the user may
// change without a milestone that names them, and tables whose last change depends on the order of
// the milestones. solution is the script of both.
func addFinalGuardrails(schema *world.Schema, graph *evaluationv1.Graph, solution []*worldv1.ScriptTurn) {
	nodes := graph.GetNodes()
	next := make([][]int, len(nodes))
	for _, edge := range graph.GetEdges() {
		next[edge.GetBefore()] = append(next[edge.GetBefore()], int(edge.GetAfter()))
	}
	if evaluation.FindCycle(graph) != nil {
		return // Validate reports it
	}
	comes := make([][]int, len(nodes)) // later nodes of each node
	for i := range nodes {
		comes[i] = reachable(next, i)
	}
	for i, node := range nodes {
		if len(next[i]) > 0 || len(node.GetConstraints()) == 0 {
			continue
		}
		var anchors []*evaluationv1.Constraint
		loose := false
		for _, stored := range schema.StoredTables() {
			table := stored.Name
			if !isGuardable(node, table) || compares(node, table) || wantsChange(node, table) {
				continue
			}
			changes := countChanges(solution, table)
			reference, ok := lastReference(nodes, comes, i, table, changes)
			loose = loose || changes > 0 && !(ok && reference != startNode && compares(nodes[reference], table))
			if ok {
				anchors = append(anchors, &evaluationv1.Constraint{
					Table: table, Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL, Reference: proto.Int32(int32(reference)),
				})
			}
		}
		for _, c := range anchors {
			// A reference to the start also brings automatic guardrails since the start, even for a loose
			// table.
			if c.GetReference() != startNode || !loose {
				node.Constraints = append(node.Constraints, c)
			}
		}
	}
}

// isGuardable reports whether automatic guardrails of a node may guard a table.
func isGuardable(node *evaluationv1.Node, table string) bool {
	return table != world.Sandbox && !slices.Contains(node.GetUnguardedTables(), table) &&
		(!node.GetRestrictGuardrails() || slices.Contains(node.GetGuardrailTables(), table))
}

// compares reports whether a constraint of a node compares a table.
func compares(node *evaluationv1.Node, table string) bool {
	return slices.ContainsFunc(node.GetConstraints(), func(c *evaluationv1.Constraint) bool { return c.GetTable() == table })
}

// wantsChange reports whether a constraint of a node expects a call that changes a table.
func wantsChange(node *evaluationv1.Node, table string) bool {
	return slices.ContainsFunc(node.GetConstraints(), func(c *evaluationv1.Constraint) bool {
		return slices.ContainsFunc(evaluation.WantedTraces(c), func(call evaluation.Trace) bool { return changedTable(call.Tool) == table })
	})
}

// userToolCalls returns one call of each of the user's tools. A simulated user may call them at any
// time.
func userToolCalls(tools *setupv1.ToolSelection) []*worldv1.ScriptTurn {
	turn := &worldv1.ScriptTurn{}
	for _, tool := range tools.GetUser() {
		turn.Calls = append(turn.Calls, &worldv1.ToolCall{Tool: tool})
	}
	return []*worldv1.ScriptTurn{turn}
}

// countChanges returns the number of calls in a script that may change a table.
func countChanges(script []*worldv1.ScriptTurn, table string) int {
	count := 0
	for call := range Calls(script...) {
		if changedTable(call.GetTool()) == table {
			count++
		}
	}
	return count
}

// changedTable returns the table that a tool changes according to its name: add_contact changes
// CONTACT.
func changedTable(tool string) string {
	switch verb, object, _ := strings.Cut(tool, "_"); {
	case verb == "set":
		return world.Setting
	case verb == "send":
		return world.Messaging
	case verb == "add" || verb == "modify" || verb == "remove":
		return world.TableName(object)
	default:
		return ""
	}
}

// lastReference returns the last node before node i that names a table. It is the start if none
// does and nothing changes the table. ok is false if the last change depends on the order of the
// milestones.
func lastReference(nodes []*evaluationv1.Node, comes [][]int, i int, table string, changes int) (reference int, ok bool) {
	var naming []int
	for n := range nodes {
		if n != i && (compares(nodes[n], table) || wantsChange(nodes[n], table)) {
			naming = append(naming, n)
		}
	}
	if len(naming) == 0 {
		return startNode, changes == 0
	}
	for _, n := range naming {
		last := slices.Contains(comes[n], i)
		for _, other := range naming {
			last = last && (other == n || slices.Contains(comes[other], n))
		}
		if last {
			return n, compares(nodes[n], table) || changes <= len(naming)
		}
	}
	return 0, false
}

// reachable returns the nodes that at least one edge leads to from a node.
func reachable(next [][]int, from int) []int {
	seen := make([]bool, len(next))
	queue := slices.Clone(next[from])
	var out []int
	for len(queue) > 0 {
		node := queue[0]
		queue = queue[1:]
		if !seen[node] {
			seen[node] = true
			out = append(out, node)
			queue = append(queue, next[node]...)
		}
	}
	return out
}
