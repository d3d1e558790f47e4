package evaluator

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// chain returns a graph that orders nodes one after the other.
func chain(nodes ...*evaluationv1.Node) *evaluationv1.Graph {
	graph := &evaluationv1.Graph{Nodes: nodes}
	for i := 1; i < len(nodes); i++ {
		graph.Edges = append(graph.Edges, &evaluationv1.Edge{Before: int32(i - 1), After: int32(i)})
	}
	return graph
}

// withReference sets the reference of a node's only constraint.
func withReference(node *evaluationv1.Node, reference int32) *evaluationv1.Node {
	node.GetConstraints()[0].Reference = proto.Int32(reference)
	return node
}

// changeConstraint edits the only constraint of a node.
func changeConstraint(node *evaluationv1.Node, edit func(*evaluationv1.Constraint)) *evaluationv1.Graph {
	edit(node.GetConstraints()[0])
	return &evaluationv1.Graph{Nodes: []*evaluationv1.Node{node}}
}

// withTarget replaces the target by one cell.
func withTarget(column string, value *worldv1.Value) func(*evaluationv1.Constraint) {
	return func(c *evaluationv1.Constraint) {
		c.Target = []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{{Column: column, Value: value}}}}
	}
}

// withMeasure overrides the measure of a column.
func withMeasure(column string, measure evaluationv1.ColumnMeasure, tolerances ...*evaluationv1.Tolerance) func(*evaluationv1.Constraint) {
	return func(c *evaluationv1.Constraint) {
		c.Overrides = []*evaluationv1.ColumnOverride{{Column: column, Measure: measure, Tolerances: tolerances}}
	}
}

// dependant changes a constraint's measure to tool_trace_dependant.
func dependant(fill, extractor string) func(*evaluationv1.Constraint) {
	return func(c *evaluationv1.Constraint) {
		c.Measure, c.Reference = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT, proto.Int32(-1)
		c.FillTo, c.Extractor = fill, extractor
	}
}

// crossingReferences returns 16 nodes after 16 others, with crossing references to them.
func crossingReferences() *evaluationv1.Graph {
	graph := &evaluationv1.Graph{}
	for i := range int32(32) {
		node := adds("Ann")
		if i >= 16 {
			graph.Edges = append(graph.Edges, &evaluationv1.Edge{Before: i - 16, After: i})
			node.Constraints = nil
			for _, reference := range []int32{i - 16, (i*5 + 3) % 16, (i*7 + 1) % 16, (i*3 + 5) % 16} {
				node.Constraints = append(node.Constraints, withReference(adds("Ann"), reference).GetConstraints()[0])
			}
		}
		graph.Nodes = append(graph.Nodes, node)
	}
	return graph
}

type badGraph struct {
	name  string
	graph *evaluationv1.Graph
	want  string
}

// badGraphs returns invalid graphs of milestones.
func badGraphs() []badGraph {
	circle := chain(says("a"), says("b"))
	circle.Edges = append(circle.Edges, &evaluationv1.Edge{Before: 1, After: 0})
	beyond := chain(says("a"), says("b"))
	beyond.GetEdges()[0].After = 5
	named := chain(says("a"), says("b"))
	named.GetNodes()[0].Name, named.GetNodes()[1].Name = "x", "x"
	guarded := chain(says("a"))
	guarded.GetNodes()[0].UnguardedTables = []string{"NOTE"}
	many := chain(slices.Repeat([]*evaluationv1.Node{says("a")}, 65)...)
	fork := chain(says("a"), adds("b"), adds("c"))
	fork.GetEdges()[1].Before = 0
	withReference(fork.GetNodes()[1], 2)
	withReference(fork.GetNodes()[2], 1)
	return append([]badGraph{
		{"cycle", circle, "milestones.edges[1]: the order has a cycle: number 0 before number 1 before number 0"},
		{"edge to nowhere", beyond, "milestones.edges[0]: leads from 0 to 5, expected numbers below 2"},
		{"unknown reference", chain(says("a"), withReference(adds("b"), 7)), "milestones.nodes[1].constraints[0].reference: is 7, expected -1 or a number below 2"},
		{"later reference", chain(withReference(adds("a"), 1), adds("b")), `milestones.nodes[0].constraints[0].reference: "number 1" does not come before "number 0"`},
		{"own reference", chain(says("a"), withReference(adds("b"), 1)), `milestones.nodes[1].constraints[0].reference: "number 1" refers to itself`},
		{"parallel references", fork, "milestones.nodes[1].constraints[0].reference: \"number 2\" does not come before \"number 1\""},
		{"duplicate name", named, `milestones.nodes[1].name: "x" is the name of number 0 too`},
		{"unknown guarded table", guarded, `milestones.nodes[0]: guardrails name an unknown table "NOTE"`},
		{"too many nodes", many, "milestones.nodes[64]: the graph has 65 nodes; at most 64 are scored"},
		{"too tangled", crossingReferences(), "too many references cross each other"},
	}, badConstraints()...)
}

// badConstraints returns graphs of one node with an invalid constraint.
func badConstraints() []badGraph {
	const at = "milestones.nodes[0].constraints[0]"
	const cell = at + ".target[0].cells[0]"
	addition := evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION
	closely, rouge := evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE, evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L
	return []badGraph{
		{"unknown table", changeConstraint(adds("a"), func(c *evaluationv1.Constraint) { c.Table = "" }), "constraints[0].table"},
		{"unknown measure", changeConstraint(adds("a"), func(c *evaluationv1.Constraint) { c.Measure = 77 }), "constraints[0].measure"},
		{"unknown column", changeConstraint(adds("a"), withTarget("nam", world.Text("a"))), cell + `.column: contact has no column "nam"; did you mean "name"?`},
		{"text for a boolean", changeConstraint(adds("a"), withTarget("is_self", world.Text("a"))), cell + ": is_self must be a boolean"},
		{"number for a text", changeConstraint(adds("a"), withTarget("name", world.Number(1))), cell + ": name must be a text"},
		{"boolean for a trace", changeConstraint(says("a"), withTarget("tool_trace", world.Bool(true))), cell + ": is no tool trace in JSON"},
		{"unknown role", changeConstraint(says("a"), withTarget("sender", world.Text("BOSS"))), cell + `: unknown role "BOSS"; expected one of SYSTEM, USER, AGENT, EXECUTION_ENVIRONMENT`},
		{"trace that is no JSON", changeConstraint(says("a"), withTarget("tool_trace", world.Text("{"))), cell + ": is no tool trace in JSON: {"},
		{"trace without a tool", changeConstraint(says("a"), withTarget("tool_trace", world.Text("{}"))), cell + ": a tool trace needs tool_name and arguments: {}"},
		{"unknown extractor", changeConstraint(says("a"), dependant("content", "x")), at + `.extractor: unknown extractor "x"`},
		{"fills another column", changeConstraint(says("a"), dependant("sender", "days_extractor")), at + `.fill_to: is "sender", expected tool_trace or content`},
		{"fills what is not there", changeConstraint(says("a"), dependant("tool_trace", "days_extractor")), at + ".target[0]: has no tool_trace, which into says is to be filled"},
		{"no reference", changeConstraint(adds("a"), func(c *evaluationv1.Constraint) { c.Reference = nil }), at + ": has no reference, which addition needs: a name or start"},
		{"addition of messages", changeConstraint(says("a"), func(c *evaluationv1.Constraint) { c.Measure, c.Reference = addition, proto.Int32(-1) }),
			at + ".measure: is addition, which compares stored tables; messages are in sandbox"},
		{"no target", changeConstraint(says("a"), func(c *evaluationv1.Constraint) { c.Target = nil }), at + ": says nothing to expect: give expect, call or says"},
		{"guardrail with a target", changeConstraint(adds("a"), func(c *evaluationv1.Constraint) {
			c.Measure = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL
		}), at + ": compares with its reference only and takes nothing to expect"},
		{"measure of an unknown column", changeConstraint(adds("a"), withMeasure("x", rouge)), at + `.overrides[0]: contact has no column "x"`},
		{"measure that does not fit", changeConstraint(adds("a"), withMeasure("is_self", rouge)), at + ".overrides[0]: rouge_l compares texts, and is_self is a boolean"},
		{"negative tolerance", changeConstraint(adds("a"), withMeasure("name", closely, &evaluationv1.Tolerance{Name: "name", Absolute: -1})),
			"tolerances[0].absolute"},
		{"tolerance that is no number", changeConstraint(adds("a"), withMeasure("name", closely, &evaluationv1.Tolerance{Name: "name", Absolute: math.NaN()})),
			"tolerances[0].absolute"},
		{"tolerance of another column", changeConstraint(adds("a"), withMeasure("name", closely, &evaluationv1.Tolerance{Name: "x", Absolute: 1})),
			at + `.overrides[0]: has a tolerance for "x", expected "name"`},
	}
}

func TestBadGraphs(t *testing.T) {
	_, client := start(t)
	for _, test := range badGraphs() {
		t.Run(test.name, func(t *testing.T) {
			bad := &evaluationv1.Evaluation{Milestones: test.graph}
			_, put := client.PutEvaluations(within(t), &evaluatorv1.PutEvaluationsRequest{
				Evaluations: []*evaluatorv1.NamedEvaluation{{Scenario: "bad", Evaluation: bad}},
			})
			_, score := client.ScoreTrajectory(within(t), &evaluatorv1.ScoreTrajectoryRequest{Evaluation: bad, Messages: messages()})
			for call, err := range map[string]error{"PutEvaluations": put, "ScoreTrajectory": score} {
				if status.Code(err) != codes.InvalidArgument || !strings.Contains(fmt.Sprint(err), test.want) {
					t.Errorf("%s: got %v, want %v with %q", call, err, codes.InvalidArgument, test.want)
				}
			}
		})
	}
}
