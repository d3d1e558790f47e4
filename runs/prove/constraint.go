package prove

import (
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

const tableSandbox = world.Sandbox

// nodeText names a milestone or minefield for people.
func nodeText(node *evaluationv1.Node, number int) string {
	if node.GetName() != "" {
		return strconv.Quote(node.GetName())
	}
	return "number " + strconv.Itoa(number)
}

// onlyTables returns whether a node looks at no message.
func onlyTables(node *evaluationv1.Node) bool {
	return !slices.ContainsFunc(node.GetConstraints(), func(c *evaluationv1.Constraint) bool { return c.GetTable() == tableSandbox })
}

// milestoneArguments returns, for each tool that a milestone wants called, the named arguments.
func (s *candidate) milestoneArguments() map[string]map[string]bool {
	named := make(map[string]map[string]bool)
	for _, node := range s.scenario.GetEvaluation().GetMilestones().GetNodes() {
		for _, c := range node.GetConstraints() {
			for _, t := range evaluation.WantedTraces(c) {
				if named[t.Tool] == nil {
					named[t.Tool] = make(map[string]bool)
				}
				for _, item := range t.Arguments.Items() {
					named[t.Tool][item.Key] = true
				}
			}
		}
	}
	return named
}

// tolerance returns the largest tolerance of any milestone for a column or argument of that name.
func (s *candidate) tolerance(name string) float64 {
	largest := 0.0
	for _, node := range s.scenario.GetEvaluation().GetMilestones().GetNodes() {
		for _, c := range node.GetConstraints() {
			for _, o := range c.GetOverrides() {
				for _, t := range o.GetTolerances() {
					if t.GetName() == name {
						largest = max(largest, t.GetAbsolute())
					}
				}
			}
		}
	}
	return largest
}

// texts returns the wanted texts of a node.
func texts(node *evaluationv1.Node) []string {
	var out []string
	for _, c := range node.GetConstraints() {
		if c.GetTable() != tableSandbox {
			continue
		}
		for _, row := range c.GetTarget() {
			for _, cell := range row.GetCells() {
				if cell.GetColumn() == "content" {
					out = append(out, cell.GetValue().GetText())
				}
			}
		}
	}
	return out
}

// expectsText returns whether a milestone of a step wants a text of some kind.
func (s *candidate) expectsText(st *step, sort func(text string) bool) bool {
	for _, number := range st.milestones {
		for _, text := range texts(s.scenario.GetEvaluation().GetMilestones().GetNodes()[number]) {
			if strings.Contains(text, "{") || sort(text) { // braces hold the place of a tool's value
				return true
			}
		}
	}
	return false
}

// checkConstraints reports constraints that always hold.
func (s *candidate) checkConstraints() {
	evaluation := s.scenario.GetEvaluation()
	for _, part := range []struct {
		rule  string
		graph *evaluationv1.Graph
	}{{ruleMilestone, evaluation.GetMilestones()}, {ruleMinefield, evaluation.GetMinefields()}} {
		for i, node := range part.graph.GetNodes() {
			for j, c := range node.GetConstraints() {
				if vacuous(c) {
					s.fail(part.rule, "constraint %d of %s compares nothing: name a column that matters", j+1, nodeText(node, i))
				}
			}
		}
	}
}

// vacuous returns whether no column of a constraint can differ. Sender and recipient do not count,
// because every message has them.
func vacuous(c *evaluationv1.Constraint) bool {
	if c.GetMeasure() == evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL {
		return false
	}
	if c.GetTable() != tableSandbox && c.GetMeasure() != evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT {
		return false // an added, removed or changed row is a difference
	}
	free := []string{"sender", "recipient", "openai_tool_call_id", "openai_function_name", "tool_call_exception"}
	for _, row := range c.GetTarget() {
		for _, cell := range row.GetCells() {
			name := cell.GetColumn()
			at := slices.IndexFunc(c.GetOverrides(), func(o *evaluationv1.ColumnOverride) bool { return o.GetColumn() == name })
			switch {
			case at >= 0 && c.GetOverrides()[at].GetMeasure() == evaluationv1.ColumnMeasure_COLUMN_MEASURE_ONE:
			case at < 0 && c.GetTable() == tableSandbox && slices.Contains(free, name):
			default:
				return false
			}
		}
	}
	return true
}
