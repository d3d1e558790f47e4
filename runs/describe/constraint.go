package describe

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// title names a node of a graph: its number and name, if any.
func title(graph *evaluationv1.Graph, node int) string {
	if name := graph.GetNodes()[node].GetName(); name != "" {
		return strconv.Itoa(node) + " " + name
	}
	return strconv.Itoa(node)
}

// constraints describes each constraint of a node in one text. Times are in the zone.
func constraints(graph *evaluationv1.Graph, node *evaluationv1.Node, zone *time.Location) []string {
	p := &printer{zone: zone}
	var out []string
	for _, c := range node.GetConstraints() {
		text := p.constraint(c)
		if c.Reference != nil {
			text += ", since " + reference(graph, int(c.GetReference()))
		}
		for _, override := range c.GetOverrides() {
			text += ", " + override.GetColumn() + " by " + cmp.Or(override.GetPackMeasure(), evaluation.MeasureName(override.GetMeasure()))
			for _, tolerance := range override.GetTolerances() {
				text += fmt.Sprintf(" (%s ±%s)", tolerance.GetName(), number(tolerance.GetAbsolute()))
			}
		}
		out = append(out, text)
	}
	return out
}

// Constraints describes each constraint of a node of a scenario's graph in one text.
func Constraints(graph *evaluationv1.Graph, node *evaluationv1.Node, setup *setupv1.Setup) []string {
	return constraints(graph, node, zone(setup))
}

func reference(graph *evaluationv1.Graph, node int) string {
	if node < 0 || node >= len(graph.GetNodes()) {
		return "the first user message"
	}
	return title(graph, node)
}

// constraint describes a constraint; the two common ones in the authors' form.
func (p *printer) constraint(c *evaluationv1.Constraint) string {
	table := c.GetTable()
	rows := p.rows(c)
	switch c.GetMeasure() {
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT:
		if text, ok := p.message(c); ok {
			return text
		}
		return table + " is " + rows
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION:
		return table + " gets " + rows
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_REMOVAL:
		return table + " loses " + rows
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UPDATE:
		return table + " is changed to " + rows
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL:
		return table + " is as before"
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT:
		return table + " has " + rows + ", " + c.GetFillTo() + " filled by " + cmp.Or(c.GetExtractor(), c.GetExtractorExpression())
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_PACK:
		return table + " is " + rows + " by " + c.GetPackMeasure()
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UNSPECIFIED:
	}
	return table + " " + rows
}

// message describes a call or a text; ok is false for any other row of SANDBOX.
func (p *printer) message(c *evaluationv1.Constraint) (text string, ok bool) {
	if c.GetTable() != world.Sandbox || len(c.GetTarget()) != 1 || len(c.GetTarget()[0].GetCells()) != 3 {
		return "", false
	}
	cells := make(map[string]string)
	for _, cell := range c.GetTarget()[0].GetCells() {
		cells[cell.GetColumn()] = cell.GetValue().GetText()
	}
	switch {
	case cells["tool_trace"] != "" && cells["recipient"] == world.RoleName(worldv1.Role_ROLE_AGENT):
		return "the agent calls " + cells["tool_trace"], true
	case cells["content"] != "" && cells["sender"] == world.RoleName(worldv1.Role_ROLE_AGENT) && cells["recipient"] == world.RoleName(worldv1.Role_ROLE_USER):
		return "the agent says " + strconv.Quote(cells["content"]), true
	}
	return "", false
}

// rows writes wanted rows.
func (p *printer) rows(c *evaluationv1.Constraint) string {
	var rows []string
	for _, row := range c.GetTarget() {
		var cells []string
		for _, cell := range row.GetCells() {
			cells = append(cells, cell.GetColumn()+": "+p.cell(cell.GetColumn(), cell.GetValue()))
		}
		rows = append(rows, "{"+strings.Join(cells, ", ")+"}")
	}
	return strings.Join(rows, " and ")
}

// cell writes a cell; times are local.
func (p *printer) cell(column string, v *worldv1.Value) string {
	if at, ok := v.GetKind().(*worldv1.Value_Number); ok && strings.HasSuffix(column, "_timestamp") {
		return p.time(at.Number)
	}
	return world.Literal(v)
}
