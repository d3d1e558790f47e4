package scenario

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
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
	nodes []document.Field
	names []string
	// current is the number of the current node.
	current int
}

// graph reads milestones or minefields in order.
func (b *builder) graph(nodes []document.Field, guardrails *document.Value, path string, start *startWorld) *evaluationv1.Graph {
	g := &graphBuilder{builder: b, start: start, nodes: nodes, names: fieldNames(nodes)}
	graph := &evaluationv1.Graph{}
	for i, item := range nodes {
		g.current = i
		if item.Key == startReference {
			g.Fail(item.Position, "is what references call the first user message; take another name")
		}
		at := path + ".nodes[" + strconv.Itoa(i) + "]"
		graph.Nodes = append(graph.Nodes, g.node(item, guardrails, at))
		graph.Edges = append(graph.Edges, g.edges(item.Value, i, path+".edges", len(graph.GetEdges()))...)
	}
	return graph
}

// nodeFormAt returns the form of a node. Only a minefield has triggered_by.
func nodeFormAt(path string) form.Form {
	if strings.HasPrefix(path, minefieldsPath) {
		return form.Minefield()
	}
	return form.Node()
}

// node reads one node: a list of constraints, or one constraint.
func (g *graphBuilder) node(f document.Field, guardrails *document.Value, path string) *evaluationv1.Node {
	v := f.Value
	g.recordSource(path, f.Position)
	node := &evaluationv1.Node{Name: f.Key}
	if g.object(v, nodeFormAt(path)) == nil {
		return node
	}
	if explicit := v.Get("guardrails"); explicit != nil {
		guardrails = explicit
	}
	g.guardrails(guardrails, node)
	g.unguardEvents(node)
	list := v.Get("constraints")
	if list == nil {
		node.Constraints = append(node.Constraints, g.constraint(v, path+".constraints[0]"))
		return node
	}
	for _, key := range form.Constraint().Names() {
		if other := v.Get(key); other != nil {
			g.Fail(other, "cannot stand beside constraints; make it one of them")
		}
	}
	g.recordSource(path+".constraints", list)
	for i, item := range g.Items(list) {
		if g.object(item, form.Constraint()) != nil {
			node.Constraints = append(node.Constraints, g.constraint(item, path+".constraints["+strconv.Itoa(i)+"]"))
		}
	}
	return node
}

// guardrails reads the tables of automatic guardrails.
func (g *graphBuilder) guardrails(v *document.Value, node *evaluationv1.Node) {
	if g.object(v, form.Guardrails()) == nil {
		return
	}
	only, except := v.Get("only"), v.Get("except")
	node.RestrictGuardrails = only != nil
	node.GuardrailTables, node.UnguardedTables = g.knownTables(only), g.knownTables(except)
}

// knownTables reads a list of tables, without those that are unknown.
func (g *graphBuilder) knownTables(v *document.Value) []string {
	var names []string
	for _, item := range g.Items(v) {
		if name := g.table(item); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// unguardEvents excludes the table of events, which the environment changes itself, unless the
// author lists it.
func (g *graphBuilder) unguardEvents(node *evaluationv1.Node) {
	if g.schema.HasEvents() && isGuardable(node, world.Event) && !node.GetRestrictGuardrails() {
		node.UnguardedTables = append(node.UnguardedTables, world.Event)
	}
}

// edges reads the nodes before node i: those in after, by default the previous node in the file.
func (g *graphBuilder) edges(v *document.Value, i int, path string, count int) []*evaluationv1.Edge {
	var edges []*evaluationv1.Edge
	add := func(before int, at *document.Value) {
		g.recordSource(path+"["+strconv.Itoa(count+len(edges))+"]", at)
		edges = append(edges, &evaluationv1.Edge{Before: int32(before), After: int32(i)})
	}
	if v.Get("after") == nil {
		if i > 0 {
			add(i-1, v)
		}
		return edges
	}
	for _, item := range g.Items(v.Get("after")) {
		before := i - 1 // after a mistake use the default, to avoid further errors
		if g.CheckShape(item, document.ShapeText) {
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
func (g *graphBuilder) nodeNumber(v *document.Value) int {
	at := slices.Index(g.names, v.Text)
	if at < 0 {
		g.Fail(v, "nothing here is named %q%s", v.Text, spelling.Hint(v.Text, g.names))
		return -1
	}
	return at
}

// constraint reads one constraint: a call, a text of the agent, or rows of a table.
func (g *graphBuilder) constraint(v *document.Value, path string) *evaluationv1.Constraint {
	g.recordSource(path, v)
	g.expandChange(v)
	c := &evaluationv1.Constraint{Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT}
	call, says := v.Get("call"), v.Get("says")
	if call != nil || says != nil {
		g.exclusive(v, call, says)
		c.Table = world.Sandbox
	} else {
		g.Require(v, "table")
		c.Table = g.table(v.Get("table"))
		g.recordSource(path+".table", v.Get("table"))
	}
	if measure := v.Get("measure"); g.CheckShape(measure, document.ShapeText) {
		c.Measure = evaluation.SnapshotMeasure(measure.Text)
		if c.GetMeasure() == evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_PACK {
			c.PackMeasure = measure.Text
		}
	}
	g.recordSource(path+".measure", v.Get("measure"))
	c.Reference = g.reference(v.Get("reference"), path)
	switch {
	case call != nil:
		c.Target = g.callTarget(call, path, c)
	case says != nil:
		g.recordSource(path+".target[0].cells[2]", says)
		c.Target = []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{
			roleCell("sender", worldv1.Role_ROLE_AGENT), roleCell("recipient", worldv1.Role_ROLE_USER),
			{Column: "content", Value: world.Text(g.Text(says))},
		}}}
	default:
		c.Target = g.target(v.Get("expect"), c.GetTable(), path)
	}
	c.Overrides = append(c.Overrides, g.overrides(v.Get("overrides"), path, len(c.GetOverrides()))...)
	c.FillTo = g.Text(v.Get("into"))
	g.recordSource(path+".fill_to", v.Get("into"))
	g.extractor(v.Get("extractor"), path, c)
	return c
}

// reference reads the name of another node, or start. It returns nil without one or after a
// mistake. Validate checks the order of nodes.
func (g *graphBuilder) reference(v *document.Value, path string) *int32 {
	if v == nil || v.Shape == document.ShapeBroken {
		return nil
	}
	g.recordSource(path+".reference", v)
	if v.Shape == document.ShapeText && v.Text == startReference {
		return proto.Int32(startNode)
	}
	if at := slices.Index(g.names, v.Text); v.Shape == document.ShapeText && at >= 0 {
		return proto.Int32(int32(at))
	}
	found := v.ShapeName()
	if v.Shape == document.ShapeText {
		found = strconv.Quote(v.Text)
	}
	allowed := []string{startReference}
	for _, number := range g.comesBefore(g.current) {
		allowed = append(allowed, strconv.Quote(g.names[number]))
	}
	g.Fail(v, "is %s, expected %s", found, strings.Join(allowed, " or "))
	return nil
}

// comesBefore returns the numbers of all earlier nodes, in order.
func (g *graphBuilder) comesBefore(i int) []int {
	seen := make([]bool, len(g.nodes))
	var visit func(i int)
	visit = func(i int) {
		var before []int
		if after := g.nodes[i].Value.Get("after"); after == nil {
			before = append(before, i-1)
		} else {
			for _, item := range after.List {
				before = append(before, slices.Index(g.names, item.Text))
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
func (g *graphBuilder) exclusive(v, call, says *document.Value) {
	if call != nil && says != nil {
		g.Fail(says, "cannot stand beside call; write two constraints")
	}
	for _, key := range []string{"table", "expect"} {
		if other := v.Get(key); other != nil {
			g.Fail(other, "cannot stand beside call or says, which stand for a row of sandbox")
		}
	}
}

func roleCell(column string, role worldv1.Role) *evaluationv1.TargetCell {
	return &evaluationv1.TargetCell{Column: column, Value: world.Text(world.RoleName(role))}
}

// callTarget reads a successful call, or a list of alternatives.
func (g *graphBuilder) callTarget(v *document.Value, path string, c *evaluationv1.Constraint) []*evaluationv1.TargetRow {
	var trace string
	if v.Shape != document.ShapeList {
		trace = g.trace(v, path, c)
	} else {
		var traces []string
		for _, item := range v.List {
			traces = append(traces, g.trace(item, path, c))
		}
		trace = "[" + strings.Join(traces, ", ") + "]"
	}
	g.recordSource(path+".target[0].cells[2]", v)
	return []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{
		roleCell("sender", worldv1.Role_ROLE_EXECUTION_ENVIRONMENT), roleCell("recipient", worldv1.Role_ROLE_AGENT),
		{Column: "tool_trace", Value: world.Text(trace)},
	}}}
}

// trace reads a wanted trace as JSON text. Its tolerances become an override of the constraint,
// which the traces of a list share.
func (g *graphBuilder) trace(v *document.Value, path string, c *evaluationv1.Constraint) string {
	if g.object(v, form.WantedCall()) == nil {
		return "null"
	}
	arguments := "{}"
	if mapping := v.Get("arguments"); g.CheckShape(mapping, document.ShapeMapping) {
		arguments = document.JSON(mapping)
	}
	if v.Get("tolerances") != nil {
		if len(c.GetOverrides()) == 0 {
			g.recordSource(path+".overrides[0]", v.Get("tolerances"))
			c.Overrides = append(c.Overrides, &evaluationv1.ColumnOverride{
				Column: toolTraceColumn, Measure: evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE,
			})
		}
		g.shareTolerances(v.Get("tolerances"), c.GetOverrides()[0])
	}
	return `{"tool_name": ` + document.Quote(g.Text(v.Get("tool"))) + `, "arguments": ` + arguments + `}`
}

// shareTolerances adds the tolerances of one trace to those of the traces before it.
func (g *graphBuilder) shareTolerances(v *document.Value, override *evaluationv1.ColumnOverride) {
	for _, tolerance := range g.tolerances(v) {
		at := slices.IndexFunc(override.GetTolerances(), func(other *evaluationv1.Tolerance) bool { return other.GetName() == tolerance.GetName() })
		switch {
		case at < 0:
			override.Tolerances = append(override.Tolerances, tolerance)
		case override.GetTolerances()[at].GetAbsolute() != tolerance.GetAbsolute():
			g.Fail(v.Get(tolerance.GetName()), "differs from the tolerance of another call of the list; they hold for all its calls")
		}
	}
}

// target reads one expected row, or a list.
func (g *graphBuilder) target(v *document.Value, table string, path string) []*evaluationv1.TargetRow {
	if !g.CheckShape(v, document.ShapeMapping, document.ShapeList) {
		return nil
	}
	items := v.List
	if v.Shape == document.ShapeMapping {
		items = []*document.Value{v}
	}
	var rows []*evaluationv1.TargetRow
	for i, item := range items {
		row := &evaluationv1.TargetRow{}
		rowPath := path + ".target[" + strconv.Itoa(i) + "]"
		g.recordSource(rowPath, item)
		if g.CheckShape(item, document.ShapeMapping) {
			for j, f := range item.Fields {
				cellPath := rowPath + ".cells[" + strconv.Itoa(j) + "]"
				g.recordSource(cellPath+".column", f.Position)
				g.recordSource(cellPath, f.Value)
				row.Cells = append(row.Cells, &evaluationv1.TargetCell{Column: f.Key, Value: g.targetCell(f, table)})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// targetCell reads an expected cell. Validate checks the column.
func (g *graphBuilder) targetCell(f document.Field, table string) *worldv1.Value {
	schema, _ := g.schema.Table(table)
	at := schema.Column(f.Key)
	switch {
	case f.Key == "tool_trace" && (f.Value.Shape == document.ShapeMapping || f.Value.Shape == document.ShapeList):
		return world.Text(document.JSON(f.Value))
	case at < 0 || schema.Columns[at].Kind == world.KindTexts:
		if f.Value.Shape == document.ShapeText {
			return world.Text(f.Value.Text)
		}
		return world.Null()
	default:
		return g.cell(f.Value, schema.Columns[at].Kind, g.start.zone())
	}
}

// overrides reads column measures: a name, or a mapping with tolerances. They follow those that the
// constraint has already.
func (g *graphBuilder) overrides(v *document.Value, path string, already int) []*evaluationv1.ColumnOverride {
	var out []*evaluationv1.ColumnOverride
	if !g.CheckShape(v, document.ShapeMapping) {
		return nil
	}
	for i, f := range v.Fields {
		at := path + ".overrides[" + strconv.Itoa(already+i) + "]"
		g.recordSource(at, f.Position)
		override := &evaluationv1.ColumnOverride{Column: f.Key}
		measure := f.Value
		if measure.Shape == document.ShapeMapping {
			g.object(measure, form.Override())
			override.Tolerances = g.tolerances(measure.Get("tolerances"))
			measure = measure.Get("measure")
		}
		if g.CheckShape(measure, document.ShapeText) {
			g.recordSource(at+".measure", measure)
			override.Measure = evaluation.ColumnMeasure(measure.Text)
			if override.GetMeasure() == evaluationv1.ColumnMeasure_COLUMN_MEASURE_PACK {
				override.PackMeasure = measure.Text
			}
		}
		out = append(out, override)
	}
	return out
}

// tolerances reads absolute tolerances by column or argument.
func (g *graphBuilder) tolerances(v *document.Value) []*evaluationv1.Tolerance {
	var out []*evaluationv1.Tolerance
	if !g.CheckShape(v, document.ShapeMapping) {
		return nil
	}
	for _, f := range v.Fields {
		absolute := g.Number(f.Value)
		if absolute < 0 {
			g.Fail(f.Value, "is %s, expected a tolerance of 0 or more", f.Value.Text)
		}
		out = append(out, &evaluationv1.Tolerance{Name: f.Key, Absolute: absolute})
	}
	return out
}
