package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/graphwidth"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// toolTraceColumn is the column with traces of successful calls.
const toolTraceColumn = "tool_trace"

// graph checks names, order and constraints of one graph.
func (c *checker) graph(path string, graph *evaluationv1.Graph, tools *setupv1.ToolSelection) {
	nodes := graph.GetNodes()
	if len(nodes) > graphwidth.MaxNodes {
		c.fail(fmt.Sprintf("%s.nodes[%d]", path, graphwidth.MaxNodes), "is one too many, at most %d are scored; there are %d", graphwidth.MaxNodes, len(nodes))
		return
	}
	for i, node := range nodes {
		at := fmt.Sprintf("%s.nodes[%d]", path, i)
		for j := range i {
			if node.GetName() != "" && nodes[j].GetName() == node.GetName() {
				c.fail(at+".name", "%q is the name of number %d too", node.GetName(), j)
			}
		}
		for _, name := range append(slices.Clone(node.GetGuardrailTables()), node.GetUnguardedTables()...) {
			if _, ok := c.world.Table(name); !ok {
				c.fail(at, "guardrails name an unknown table")
			}
		}
	}
	before, ok := c.order(path, graph)
	if ok {
		c.checkWidth(path, graph)
	}
	for i, node := range nodes {
		at := fmt.Sprintf("%s.nodes[%d]", path, i)
		if len(node.GetConstraints()) == 0 {
			c.fail(at+".constraints", "has no constraint, so nothing says when it is reached")
		}
		for k, constraint := range node.GetConstraints() {
			where := fmt.Sprintf("%s.constraints[%d]", at, k)
			c.constraint(where, constraint)
			if !c.opts.AllowUnreachable {
				c.reachable(where, tools, constraint)
			}
			if ok {
				c.reference(where+".reference", nodes, before, i, constraint)
			}
		}
	}
}

// checkWidth checks that the graph does not need too much work to score.
func (c *checker) checkWidth(path string, graph *evaluationv1.Graph) {
	nodes := make([]graphwidth.Node, len(graph.GetNodes()))
	for _, edge := range graph.GetEdges() {
		nodes[edge.GetAfter()].After |= 1 << edge.GetBefore()
	}
	for i, node := range graph.GetNodes() {
		for _, constraint := range node.GetConstraints() {
			if r := int(constraint.GetReference()); constraint.Reference != nil && r >= 0 && r < len(nodes) {
				nodes[i].References |= 1 << r
			}
		}
	}
	var tangled *graphwidth.Error
	if errors.As(graphwidth.Check(nodes), &tangled) {
		c.fail(fmt.Sprintf("%s.nodes[%d]", path, tangled.Node), "%v", tangled)
	}
}

// order checks the edges. It returns the nodes before each node. ok is false if the edges are
// invalid.
func (c *checker) order(path string, graph *evaluationv1.Graph) (before []map[int]bool, ok bool) {
	count := len(graph.GetNodes())
	next := make([][]int, count)
	mentioned := make([]bool, count)
	ok = true
	for i, edge := range graph.GetEdges() {
		from, to := int(edge.GetBefore()), int(edge.GetAfter())
		if from < 0 || to < 0 || from >= count || to >= count {
			c.fail(fmt.Sprintf("%s.edges[%d]", path, i), "leads from %d to %d, expected numbers below %d", from, to, count)
			ok = false
			continue
		}
		next[from] = append(next[from], to)
		mentioned[from], mentioned[to] = true, true
	}
	if !ok {
		return nil, false
	}
	if circle := findCycle(next); circle != nil {
		names := make([]string, len(circle))
		for i, node := range circle {
			names[i] = nodeText(graph.GetNodes(), node)
		}
		at := slices.IndexFunc(graph.GetEdges(), func(edge *evaluationv1.Edge) bool {
			return int(edge.GetBefore()) == circle[len(circle)-2] && int(edge.GetAfter()) == circle[len(circle)-1]
		})
		c.fail(fmt.Sprintf("%s.edges[%d]", path, at), "the order goes in a circle: %s", strings.Join(names, " before "))
		return nil, false
	}
	for i := range mentioned {
		if !mentioned[i] && count > 1 {
			c.fail(fmt.Sprintf("%s.nodes[%d]", path, i), "stands in no order to any other, so it would never be matched")
		}
	}
	before = make([]map[int]bool, count)
	for i := range before {
		before[i] = map[int]bool{}
	}
	for from := range next {
		for _, to := range reachable(next, from) {
			before[to][from] = true
		}
	}
	return before, true
}

// nodeText returns the name of a node for messages.
func nodeText(nodes []*evaluationv1.Node, i int) string {
	if name := nodes[i].GetName(); name != "" {
		return name
	}
	return fmt.Sprintf("number %d", i)
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

// findCycle returns a shortest cycle, nil without one.
func findCycle(next [][]int) []int {
	for start := range next {
		from := slices.Repeat([]int{-1}, len(next)) // predecessor of each node, -1 if not yet reached
		queue := []int{start}
		for len(queue) > 0 && from[start] < 0 {
			node := queue[0]
			queue = queue[1:]
			for _, to := range next[node] {
				if from[to] < 0 {
					from[to] = node
					queue = append(queue, to)
				}
			}
		}
		if from[start] < 0 {
			continue
		}
		circle := []int{start}
		for at := from[start]; at != start; at = from[at] {
			circle = append(circle, at)
		}
		circle = append(circle, start)
		slices.Reverse(circle)
		return circle
	}
	return nil
}

// reference checks that a constraint's reference is always matched before its node.
func (c *checker) reference(path string, nodes []*evaluationv1.Node, before []map[int]bool, i int, constraint *evaluationv1.Constraint) {
	if constraint.Reference == nil {
		return
	}
	reference := int(constraint.GetReference())
	switch {
	case reference == startNode:
	case reference < startNode || reference >= len(nodes):
		c.fail(path, "is %d, expected -1 or a number below %d", reference, len(nodes))
	case reference == i:
		c.fail(path, "%q refers to itself", nodeText(nodes, i))
	case !before[i][reference]:
		c.fail(path, "%q does not come before %q, so there would be nothing to refer to; name it in after",
			nodeText(nodes, reference), nodeText(nodes, i))
	}
}

// constraint checks one constraint.
func (c *checker) constraint(path string, constraint *evaluationv1.Constraint) {
	schema, ok := c.world.Table(constraint.GetTable())
	if !ok {
		c.fail(path+".table", "names no table")
		return
	}
	c.measure(path, constraint)
	for i, row := range constraint.GetTarget() {
		at := fmt.Sprintf("%s.target[%d]", path, i)
		if len(row.GetCells()) == 0 {
			c.fail(at, "wants no column, so it says nothing")
		}
		c.targetRow(at, schema, row)
		if first := constraint.GetTarget()[0]; !slices.EqualFunc(first.GetCells(), row.GetCells(), func(a, b *evaluationv1.TargetCell) bool {
			return a.GetColumn() == b.GetColumn()
		}) {
			c.fail(at, "lists other columns than the first row; all rows list the same, in the same order")
		}
	}
	c.probe(path, schema, constraint)
	for i, override := range constraint.GetOverrides() {
		at := fmt.Sprintf("%s.overrides[%d]", path, i)
		if column := c.column(at, schema, override.GetColumn()); column >= 0 {
			c.override(at, schema.Columns[column], override)
		}
		for j := range i {
			if constraint.GetOverrides()[j].GetColumn() == override.GetColumn() {
				c.fail(at, "overrides %q twice", override.GetColumn())
			}
		}
	}
}

// override checks that a measure fits a column, and that tolerances fit the measure.
func (c *checker) override(path string, column world.Column, override *evaluationv1.ColumnOverride) {
	measure := override.GetMeasure()
	if measure == evaluationv1.ColumnMeasure_COLUMN_MEASURE_PACK {
		c.packOverride(path, column, override)
		return
	}
	name := form.MeasureName(form.ColumnPrefix, measure.String())
	if reason := unsuited(measure, column); reason != "" {
		c.fail(path, "%s", reason)
	}
	for _, tolerance := range override.GetTolerances() {
		switch {
		case !(tolerance.GetAbsolute() >= 0):
			c.fail(path, "the tolerance of %q is %v, expected 0 or more", tolerance.GetName(), tolerance.GetAbsolute())
		case measure == evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE:
		case measure != evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE:
			c.fail(path, "%s takes no tolerance, only close and tool_trace do", name)
		case tolerance.GetName() != column.Name:
			c.fail(path, "has a tolerance for %q, expected %q", tolerance.GetName(), column.Name)
		}
	}
}

// unsuited explains why a measure cannot compare the cells of a column, empty if it can.
func unsuited(measure evaluationv1.ColumnMeasure, column world.Column) string {
	name := form.MeasureName(form.ColumnPrefix, measure.String())
	switch measure {
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_EXACT, evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE,
		evaluationv1.ColumnMeasure_COLUMN_MEASURE_ONE:
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_CONTAINS, evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L:
		if column.Kind != world.KindText {
			return fmt.Sprintf("%s compares texts, and %s is a %s", name, column.Name, column.Kind)
		}
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE:
		if column.Name != toolTraceColumn || column.Kind != world.KindTexts {
			return fmt.Sprintf("%s compares the column %s, not %s", name, toolTraceColumn, column.Name)
		}
	default:
		return "has no measure"
	}
	return ""
}

// measure checks the other fields that a measure needs.
func (c *checker) measure(path string, constraint *evaluationv1.Constraint) {
	needsReference, needsTarget := true, true
	switch constraint.GetMeasure() {
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT:
		needsReference = false
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_PACK:
		needsReference = false
		c.packRowMeasure(path, constraint)
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION, evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_REMOVAL,
		evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UPDATE:
		if constraint.GetTable() == world.Sandbox {
			c.fail(path+".measure", "is %s, which compares stored tables; messages are in sandbox", measureText(constraint.GetMeasure()))
		}
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT:
		if constraint.GetTable() != world.Sandbox {
			c.fail(path+".table", "is %s, but derived compares messages, which are in sandbox", world.AuthorName(constraint.GetTable()))
		}
		if fill := constraint.GetFillTo(); fill != "tool_trace" && fill != "content" {
			c.fail(path+".fill_to", "is %q, expected tool_trace or content", fill)
		}
		c.extractor(path, constraint)
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL:
		needsTarget = false
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UNSPECIFIED:
		c.fail(path+".measure", "is missing")
		return
	default:
		c.fail(path+".measure", "is unknown")
		return
	}
	if needsReference && constraint.Reference == nil {
		c.fail(path, "has no reference, which %s needs: a name or start", measureText(constraint.GetMeasure()))
	}
	if needsTarget && len(constraint.GetTarget()) == 0 {
		c.fail(path, "says nothing to expect: give expect, call or says")
	}
	if rows := len(constraint.GetTarget()); rows > 1 && constraint.GetTable() == world.Sandbox {
		c.fail(path+".target[1]", "is a second row, but one message is compared at a time")
	}
	if !needsTarget && len(constraint.GetTarget()) > 0 {
		c.fail(path, "compares with its reference only and takes nothing to expect")
	}
}

func measureText(m evaluationv1.SnapshotMeasure) string {
	return form.MeasureName(form.SnapshotPrefix, m.String())
}

// targetRow checks the cells of an expected row.
func (c *checker) targetRow(path string, schema world.Table, row *evaluationv1.TargetRow) {
	for j, cell := range row.GetCells() {
		at := fmt.Sprintf("%s.cells[%d]", path, j)
		column := c.column(at+".column", schema, cell.GetColumn())
		if column < 0 {
			continue
		}
		kind := schema.Columns[column].Kind
		text, isText := cell.GetValue().GetKind().(*worldv1.Value_Text)
		switch {
		case cell.GetColumn() == "tool_trace":
			c.trace(at, cell.GetValue())
		case kind == world.KindTexts:
			c.fail(at, "%s cannot be compared", cell.GetColumn())
		case !world.Fits(cell.GetValue(), kind):
			c.fail(at, "%s must be a %s", cell.GetColumn(), kind)
		case isText && (cell.GetColumn() == "sender" || cell.GetColumn() == "recipient"):
			if _, ok := world.ParseRole(text.Text); !ok {
				c.fail(at, "unknown role %q%s", text.Text, document.Hint(text.Text, form.Roles()))
			}
		}
	}
}

// column returns the position of a column, or -1 after recording a mistake.
func (c *checker) column(path string, schema world.Table, name string) int {
	at := schema.Column(name)
	if at < 0 {
		c.fail(path, "%s has no column %q%s", world.AuthorName(schema.Name), name, document.Hint(name, schema.ColumnNames()))
	}
	return at
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

// trace checks an expected tool trace.
func (c *checker) trace(path string, value *worldv1.Value) {
	if value.GetKind() == nil {
		return
	}
	wanted := traces(value.GetText())
	switch {
	case wanted == nil:
		c.fail(path, "is no tool trace in JSON: %s", document.Truncate(value.GetText()))
	case len(wanted) == 0:
		c.fail(path, "lists no tool trace")
	}
	for _, t := range wanted {
		if t.Tool == "" || t.Arguments == nil {
			c.fail(path, "a tool trace needs tool_name and arguments: %s", document.Truncate(value.GetText()))
			continue
		}
		c.tool(path, t.Tool)
		c.arguments(path, t.Tool, t.Arguments, false)
	}
}
