package scenario

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// startReference is the name of the first user message.
	startReference = "start"
	// startNode is the number of the first user message.
	startNode = -1
)

// graphBuilder builds one graph.
type graphBuilder struct {
	*builder
	start *startWorld
	nodes []field
	names []string
	// current is the number of the current node.
	current int
}

// graph reads milestones or minefields in order.
func (b *builder) graph(nodes []field, guardrails *value, path string, start *startWorld) *evaluationv1.Graph {
	g := &graphBuilder{builder: b, start: start, nodes: nodes, names: fieldNames(nodes)}
	graph := &evaluationv1.Graph{}
	for i, item := range nodes {
		g.current = i
		at := path + ".nodes[" + strconv.Itoa(i) + "]"
		graph.Nodes = append(graph.Nodes, g.node(item, guardrails, at))
		graph.Edges = append(graph.Edges, g.edges(item.value, i, path+".edges", len(graph.GetEdges()))...)
	}
	return graph
}

// nodeFormAt returns the form of a node. Only a minefield has triggered_by.
func nodeFormAt(path string) form {
	if strings.HasPrefix(path, minefieldsPath) {
		return minefieldForm()
	}
	return nodeForm()
}

// node reads one node: a list of constraints, or one constraint.
func (g *graphBuilder) node(f field, guardrails *value, path string) *evaluationv1.Node {
	v := f.value
	g.recordSource(path, f.position)
	node := &evaluationv1.Node{Name: f.key}
	if g.object(v, nodeFormAt(path)) == nil {
		return node
	}
	if explicit := v.get("guardrails"); explicit != nil {
		guardrails = explicit
	}
	g.guardrails(guardrails, node)
	g.unguardEvents(node)
	list := v.get("constraints")
	if list == nil {
		node.Constraints = append(node.Constraints, g.constraint(v, path+".constraints[0]"))
		return node
	}
	for _, key := range constraintForm().names() {
		if other := v.get(key); other != nil {
			g.fail(other, "cannot stand beside constraints; make it one of them")
		}
	}
	g.recordSource(path+".constraints", list)
	for i, item := range g.items(list) {
		if g.object(item, constraintForm()) != nil {
			node.Constraints = append(node.Constraints, g.constraint(item, path+".constraints["+strconv.Itoa(i)+"]"))
		}
	}
	return node
}

// guardrails reads the tables of automatic guardrails.
func (g *graphBuilder) guardrails(v *value, node *evaluationv1.Node) {
	if g.object(v, guardrailsForm()) == nil {
		return
	}
	if only := v.get("only"); only != nil {
		node.RestrictGuardrails = true
		for _, item := range g.items(only) {
			node.GuardrailTables = append(node.GuardrailTables, g.table(item))
		}
	}
	for _, item := range g.items(v.get("except")) {
		node.UnguardedTables = append(node.UnguardedTables, g.table(item))
	}
}

// unguardEvents excludes the table of events, which the environment changes itself, unless the
// author lists it.
func (g *graphBuilder) unguardEvents(node *evaluationv1.Node) {
	if g.world().HasEvents() && isGuardable(node, world.Event) && !node.GetRestrictGuardrails() {
		node.UnguardedTables = append(node.UnguardedTables, world.Event)
	}
}

// edges reads the nodes before node i: those in after, by default the previous node in the file.
func (g *graphBuilder) edges(v *value, i int, path string, count int) []*evaluationv1.Edge {
	var edges []*evaluationv1.Edge
	add := func(before int, at *value) {
		g.recordSource(path+"["+strconv.Itoa(count+len(edges))+"]", at)
		edges = append(edges, &evaluationv1.Edge{Before: int32(before), After: int32(i)})
	}
	if v.get("after") == nil {
		if i > 0 {
			add(i-1, v)
		}
		return edges
	}
	for _, item := range g.items(v.get("after")) {
		before := i - 1 // after a mistake use the default, to avoid further errors
		if g.checkShape(item, shapeText) {
			if number := g.nodeNumber(item); number >= 0 {
				before = number
			}
		}
		if before >= 0 {
			add(before, item)
		}
	}
	return edges
}

// nodeNumber returns the number of the node with a name, or -1 after recording a mistake.
func (g *graphBuilder) nodeNumber(v *value) int {
	at := slices.Index(g.names, v.text)
	if at < 0 {
		g.fail(v, "nothing here is named %q%s", v.text, hint(v.text, g.names))
		return -1
	}
	return at
}

// constraint reads one constraint: a call, a text of the agent, or rows of a table.
func (g *graphBuilder) constraint(v *value, path string) *evaluationv1.Constraint {
	g.recordSource(path, v)
	g.expandChange(v)
	c := &evaluationv1.Constraint{Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT}
	call, says := v.get("call"), v.get("says")
	if call != nil || says != nil {
		g.exclusive(v, call, says)
		c.Table = world.Sandbox
	} else {
		g.require(v, "table")
		c.Table = g.table(v.get("table"))
		g.recordSource(path+".table", v.get("table"))
	}
	if measure := v.get("measure"); g.checkShape(measure, shapeText) {
		c.Measure = evaluation.SnapshotMeasure(measure.text)
		if c.GetMeasure() == evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_PACK {
			c.PackMeasure = measure.text
		}
	}
	g.recordSource(path+".measure", v.get("measure"))
	c.Reference = g.reference(v.get("reference"), path)
	switch {
	case call != nil:
		c.Target = g.callTarget(call, path, c)
	case says != nil:
		g.recordSource(path+".target[0].cells[2]", says)
		c.Target = []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{
			roleCell("sender", worldv1.Role_ROLE_AGENT), roleCell("recipient", worldv1.Role_ROLE_USER),
			{Column: "content", Value: world.Text(g.text(says))},
		}}}
	default:
		c.Target = g.target(v.get("expect"), c.GetTable(), path)
	}
	c.Overrides = append(c.Overrides, g.overrides(v.get("overrides"), path)...)
	c.FillTo = g.text(v.get("into"))
	g.recordSource(path+".fill_to", v.get("into"))
	g.extractor(v.get("extractor"), path, c)
	return c
}

// reference reads the name of another node, or start. It returns nil without one or after a
// mistake. Validate checks the order of nodes.
func (g *graphBuilder) reference(v *value, path string) *int32 {
	if v == nil || v.shape == shapeBroken {
		return nil
	}
	g.recordSource(path+".reference", v)
	if v.shape == shapeText && v.text == startReference {
		return proto.Int32(startNode)
	}
	if at := slices.Index(g.names, v.text); v.shape == shapeText && at >= 0 {
		return proto.Int32(int32(at))
	}
	found := v.shapeName()
	if v.shape == shapeText {
		found = strconv.Quote(v.text)
	}
	allowed := []string{startReference}
	for _, number := range g.comesBefore(g.current) {
		allowed = append(allowed, strconv.Quote(g.names[number]))
	}
	g.fail(v, "is %s, expected %s", found, strings.Join(allowed, " or "))
	return nil
}

// comesBefore returns the numbers of all earlier nodes, in order.
func (g *graphBuilder) comesBefore(i int) []int {
	seen := make([]bool, len(g.nodes))
	var visit func(i int)
	visit = func(i int) {
		var before []int
		if after := g.nodes[i].value.get("after"); after == nil {
			before = append(before, i-1)
		} else {
			for _, item := range after.list {
				before = append(before, slices.Index(g.names, item.text))
			}
		}
		for _, number := range before {
			if number >= 0 && number != g.current && !seen[number] {
				seen[number] = true
				visit(number)
			}
		}
	}
	visit(i)
	var out []int
	for number := range seen {
		if seen[number] {
			out = append(out, number)
		}
	}
	return out
}

// exclusive records fields that exclude each other.
func (g *graphBuilder) exclusive(v, call, says *value) {
	if call != nil && says != nil {
		g.fail(says, "cannot stand beside call; write two constraints")
	}
	for _, key := range []string{"table", "expect"} {
		if other := v.get(key); other != nil {
			g.fail(other, "cannot stand beside call or says, which stand for a row of sandbox")
		}
	}
}

func roleCell(column string, role worldv1.Role) *evaluationv1.TargetCell {
	return &evaluationv1.TargetCell{Column: column, Value: world.Text(world.RoleName(role))}
}

// callTarget reads a successful call, or a list of alternatives.
func (g *graphBuilder) callTarget(v *value, path string, c *evaluationv1.Constraint) []*evaluationv1.TargetRow {
	var trace string
	if v.shape != shapeList {
		trace = g.trace(v, c)
	} else {
		var traces []string
		for _, item := range v.list {
			traces = append(traces, g.trace(item, c))
		}
		trace = "[" + strings.Join(traces, ", ") + "]"
	}
	g.recordSource(path+".target[0].cells[2]", v)
	return []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{
		roleCell("sender", worldv1.Role_ROLE_EXECUTION_ENVIRONMENT), roleCell("recipient", worldv1.Role_ROLE_AGENT),
		{Column: "tool_trace", Value: world.Text(trace)},
	}}}
}

// trace reads a wanted trace as JSON text. Its tolerances become an override of the constraint.
func (g *graphBuilder) trace(v *value, c *evaluationv1.Constraint) string {
	if g.object(v, wantedCallForm()) == nil {
		return "null"
	}
	arguments := "{}"
	if mapping := v.get("arguments"); g.checkShape(mapping, shapeMapping) {
		arguments = jsonText(mapping)
	}
	if tolerances := g.tolerances(v.get("tolerances")); len(tolerances) > 0 {
		c.Overrides = append(c.Overrides, &evaluationv1.ColumnOverride{
			Column: "tool_trace", Measure: evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE, Tolerances: tolerances,
		})
	}
	return `{"tool_name": ` + jsonString(g.text(v.get("tool"))) + `, "arguments": ` + arguments + `}`
}

// target reads one expected row, or a list.
func (g *graphBuilder) target(v *value, table string, path string) []*evaluationv1.TargetRow {
	if !g.checkShape(v, shapeMapping, shapeList) {
		return nil
	}
	items := v.list
	if v.shape == shapeMapping {
		items = []*value{v}
	}
	var rows []*evaluationv1.TargetRow
	for i, item := range items {
		row := &evaluationv1.TargetRow{}
		rowPath := path + ".target[" + strconv.Itoa(i) + "]"
		g.recordSource(rowPath, item)
		if g.checkShape(item, shapeMapping) {
			for j, f := range item.fields {
				cellPath := rowPath + ".cells[" + strconv.Itoa(j) + "]"
				g.recordSource(cellPath+".column", f.position)
				g.recordSource(cellPath, f.value)
				row.Cells = append(row.Cells, &evaluationv1.TargetCell{Column: f.key, Value: g.targetCell(f, table)})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// targetCell reads an expected cell. Validate checks the column.
func (g *graphBuilder) targetCell(f field, table string) *worldv1.Value {
	schema, _ := g.world().Table(table)
	at := schema.Column(f.key)
	switch {
	case f.key == "tool_trace" && (f.value.shape == shapeMapping || f.value.shape == shapeList):
		return world.Text(jsonText(f.value))
	case at < 0 || schema.Columns[at].Kind == world.KindTexts:
		if f.value.shape == shapeText {
			return world.Text(f.value.text)
		}
		return world.Null()
	default:
		return g.cell(f.value, schema.Columns[at].Kind, g.start.zone())
	}
}

// overrides reads column measures: a name, or a mapping with tolerances.
func (g *graphBuilder) overrides(v *value, path string) []*evaluationv1.ColumnOverride {
	var out []*evaluationv1.ColumnOverride
	if !g.checkShape(v, shapeMapping) {
		return nil
	}
	for i, f := range v.fields {
		g.recordSource(path+".overrides["+strconv.Itoa(i)+"]", f.position)
		override := &evaluationv1.ColumnOverride{Column: f.key}
		measure := f.value
		if measure.shape == shapeMapping {
			g.object(measure, overrideForm())
			override.Tolerances = g.tolerances(measure.get("tolerances"))
			measure = measure.get("measure")
		}
		if g.checkShape(measure, shapeText) {
			g.recordSource(path+".overrides["+strconv.Itoa(i)+"].measure", measure)
			override.Measure = evaluation.ColumnMeasure(measure.text)
			if override.GetMeasure() == evaluationv1.ColumnMeasure_COLUMN_MEASURE_PACK {
				override.PackMeasure = measure.text
			}
		}
		out = append(out, override)
	}
	return out
}

// tolerances reads absolute tolerances by column or argument.
func (g *graphBuilder) tolerances(v *value) []*evaluationv1.Tolerance {
	var out []*evaluationv1.Tolerance
	if !g.checkShape(v, shapeMapping) {
		return nil
	}
	for _, f := range v.fields {
		absolute := g.number(f.value)
		if absolute < 0 {
			g.fail(f.value, "is %s, expected a tolerance of 0 or more", f.value.text)
		}
		out = append(out, &evaluationv1.Tolerance{Name: f.key, Absolute: absolute})
	}
	return out
}
