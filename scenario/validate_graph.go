package scenario

import (
	"encoding/json"
	"fmt"
	"strings"

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
			where := fmt.Sprintf("%s.nodes[%d].constraints[%d]", path, i, k)
			c.wantedCalls(where, constraint)
			c.fillsTraces(where, constraint, compiled.Nodes[i].Constraints[k].Extractor)
			c.probe(where, &compiled.Nodes[i].Constraints[k])
			if !c.opts.AllowUnreachable {
				c.reachable(where, tools, constraint)
			}
		}
	}
}

// WantedCall is a tool trace in a target.
type WantedCall struct {
	Tool      string                     `json:"tool_name"`
	Arguments map[string]json.RawMessage `json:"arguments"`
}

// WantedCalls returns the calls that a constraint accepts. An invalid tool trace wants none.
func WantedCalls(c *evaluationv1.Constraint) []WantedCall {
	var calls []WantedCall
	for _, row := range c.GetTarget() {
		for _, cell := range row.GetCells() {
			if cell.GetColumn() == toolTraceColumn {
				calls = append(calls, traces(cell.GetValue().GetText())...)
			}
		}
	}
	return calls
}

// traces decodes expected tool traces, one object or a list of alternatives; nil for other values.
func traces(text string) []WantedCall {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	out := []WantedCall{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil
	}
	return out
}

// wantedCalls checks tools and arguments of the calls that a constraint accepts.
func (c *checker) wantedCalls(path string, constraint *evaluationv1.Constraint) {
	for i, row := range constraint.GetTarget() {
		for j, cell := range row.GetCells() {
			if cell.GetColumn() != toolTraceColumn {
				continue
			}
			at := fmt.Sprintf("%s.target[%d].cells[%d]", path, i, j)
			for _, t := range traces(cell.GetValue().GetText()) {
				if t.Tool != "" && t.Arguments != nil {
					c.tool(at, t.Tool)
					c.arguments(at, t.Tool, t.Arguments, false)
				}
			}
		}
	}
}
