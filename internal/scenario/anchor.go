package scenario

import (
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// anchor lets the last milestones ask that no table has changed since the milestone before them
// that names it, or since the start if none does. Without that, a change that nobody asked for
// would go unseen after the last milestone that looks at the table, and anywhere if a snapshot
// holds both before and after it. Left out are tables that the author leaves unguarded, those that
// the oracle or the user may change without a milestone that names them, and those of which it
// depends on the order of the milestones when they change. solution is what both do.
func anchor(schema *world.Schema, graph *evaluationv1.Graph, solution []*worldv1.Turn) {
	nodes := graph.GetNodes()
	next := make([][]int, len(nodes))
	for _, edge := range graph.GetEdges() {
		next[edge.GetBefore()] = append(next[edge.GetBefore()], int(edge.GetAfter()))
	}
	if findCircle(next) != nil {
		return // Validate says so
	}
	comes := make([][]int, len(nodes)) // what comes after each
	for i := range nodes {
		comes[i] = reachable(next, i)
	}
	for i, node := range nodes {
		if len(next[i]) > 0 || len(node.GetConstraints()) == 0 {
			continue
		}
		var anchors []*evaluationv1.Constraint
		loose := false
		for _, stored := range schema.Stored() {
			table := stored.Name
			if !guardable(node, table) || compares(node, table) || calls(node, table) {
				continue
			}
			changes := changes(solution, table)
			reference, ok := lastNaming(nodes, comes, i, table, changes)
			loose = loose || changes > 0 && !(ok && reference != startNode && compares(nodes[reference], table))
			if ok {
				anchors = append(anchors, &evaluationv1.Constraint{
					Table: table, Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL, Reference: proto.Int32(int32(reference)),
				})
			}
		}
		for _, c := range anchors {
			// A reference to the start brings automatic guardrails since the start with it, for a
			// loose table too.
			if c.GetReference() != startNode || !loose {
				node.Constraints = append(node.Constraints, c)
			}
		}
	}
}

// guardable says whether automatic guardrails of a node may guard a table.
func guardable(node *evaluationv1.Node, table string) bool {
	return table != world.Sandbox && !slices.Contains(node.GetUnguardedTables(), table) &&
		(!node.GetRestrictGuardrails() || slices.Contains(node.GetGuardrailTables(), table))
}

// compares says whether a constraint of a node looks at a table.
func compares(node *evaluationv1.Node, table string) bool {
	return slices.ContainsFunc(node.GetConstraints(), func(c *evaluationv1.Constraint) bool { return c.GetTable() == table })
}

// calls says whether a constraint of a node wants a call that changes a table.
func calls(node *evaluationv1.Node, table string) bool {
	return slices.ContainsFunc(node.GetConstraints(), func(c *evaluationv1.Constraint) bool {
		return slices.ContainsFunc(wantedTools(c), func(tool string) bool { return changed(tool) == table })
	})
}

// hands returns one call of each tool that the user has of its own: a simulated user may make it,
// whatever the script says.
func hands(tools *setupv1.ToolSelection) []*worldv1.Turn {
	turn := &worldv1.Turn{}
	for _, tool := range tools.GetUser() {
		turn.Calls = append(turn.Calls, &worldv1.ToolCall{Tool: tool})
	}
	return []*worldv1.Turn{turn}
}

// changes returns how many calls of a script may change a table.
func changes(script []*worldv1.Turn, table string) int {
	count := 0
	for _, turn := range script {
		for _, call := range turn.GetCalls() {
			if changed(call.GetTool()) == table {
				count++
			}
		}
	}
	return count
}

// changed returns the table that a tool changes, going by its name: add_contact changes CONTACT.
func changed(tool string) string {
	switch verb, object, _ := strings.Cut(tool, "_"); {
	case verb == "set":
		return world.Setting
	case verb == "send":
		return world.Messaging
	case verb == "add" || verb == "modify" || verb == "remove":
		return world.Name(object)
	default:
		return ""
	}
}

// lastNaming returns the node that names a table and comes before node i and after all others that
// name it, or the start if none does and nothing changes the table. Not ok means that it cannot be
// told when the table changes last.
func lastNaming(nodes []*evaluationv1.Node, comes [][]int, i int, table string, changes int) (reference int, ok bool) {
	var naming []int
	for n := range nodes {
		if n != i && (compares(nodes[n], table) || calls(nodes[n], table)) {
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

// wantedTools returns the tools whose calls a constraint accepts.
func wantedTools(c *evaluationv1.Constraint) []string {
	var tools []string
	for _, row := range c.GetTarget() {
		for _, cell := range row.GetCells() {
			text := strings.TrimSpace(cell.GetValue().GetText())
			if cell.GetColumn() != "tool_trace" {
				continue
			}
			if !strings.HasPrefix(text, "[") {
				text = "[" + text + "]"
			}
			var traces []struct {
				Tool string `json:"tool_name"`
			}
			if err := json.Unmarshal([]byte(text), &traces); err != nil {
				continue // Validate says so
			}
			for _, trace := range traces {
				tools = append(tools, trace.Tool)
			}
		}
	}
	return tools
}
