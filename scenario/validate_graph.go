package scenario

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// toolTraceColumn is the column with traces of successful calls.
const toolTraceColumn = "tool_trace"

// graph checks one graph, and that the agent's tools reach it.
func (c *checker) graph(path string, graph *evaluationv1.Graph, tools *setupv1.ToolSelection) {
	compiled, problems := evaluation.Compile(graph, c.world, c.opts.packMeasures.set)
	for _, problem := range problems {
		c.fail(path+"."+problem.Path, "%s", problem.Reason)
	}
	if compiled == nil {
		return
	}
	for i, node := range graph.GetNodes() {
		for k, constraint := range node.GetConstraints() {
			where, check := fmt.Sprintf("%s.nodes[%d].constraints[%d]", path, i, k), &compiled.Nodes[i].Constraints[k]
			c.wantedCalls(where, check)
			if constraint.GetFillTo() == toolTraceColumn {
				c.fillsTraces(where, check)
			}
			c.probe(where, check)
			if !c.opts.AllowUnreachable {
				c.reachable(where, tools, constraint, check)
			}
		}
	}
}

// wantedCalls checks tools and arguments of the calls that a constraint accepts.
func (c *checker) wantedCalls(path string, constraint *evaluation.Constraint) {
	for i, row := range constraint.Target {
		for j := range row {
			at := fmt.Sprintf("%s.target[%d].cells[%d]", path, i, j)
			for _, t := range row[j].Traces {
				if t.Arguments != nil {
					c.tool(at, t.Tool)
					c.arguments(at, t.Tool, t.Arguments, false)
				}
			}
		}
	}
}
