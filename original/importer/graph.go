package importer

import (
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Evaluation reads the two graphs of a scenario. The guardrails that the original derived are not
// read: the evaluator derives its own. The error is of type document.Errors.
func Evaluation(milestones, minefields []byte) (*evaluationv1.Evaluation, error) {
	evaluation := &evaluationv1.Evaluation{}
	var err error
	if evaluation.Milestones, err = graph("milestones", milestones); err != nil {
		return nil, err
	}
	if evaluation.Minefields, err = graph("minefields", minefields); err != nil {
		return nil, err
	}
	return evaluation, nil
}

func graph(name string, data []byte) (*evaluationv1.Graph, error) {
	r := &reader{file: name, data: data}
	graph := r.graph(r.open())
	return graph, r.err()
}

func (r *reader) graph(n *node) *evaluationv1.Graph {
	graph := &evaluationv1.Graph{}
	r.object(n, "nodes", "edges")
	for _, item := range r.list(r.required(n, "nodes")) {
		graph.Nodes = append(graph.Nodes, r.node(item))
	}
	for _, item := range r.list(r.required(n, "edges")) {
		if ends := r.list(item); len(ends) == 2 {
			graph.Edges = append(graph.Edges, &evaluationv1.Edge{Before: r.nodeNumber(ends[0], graph), After: r.nodeNumber(ends[1], graph)})
		} else {
			r.fail(item, "has %d ends, expected 2: the node before and the node after", len(ends))
		}
	}
	return graph
}

// nodeNumber reads the number of a node.
func (r *reader) nodeNumber(n *node, graph *evaluationv1.Graph) int32 {
	number := r.integer(n, 0)
	if int(number) >= len(graph.GetNodes()) {
		r.fail(n, "is %d, expected the number of a node, below %d", number, len(graph.GetNodes()))
	}
	return number
}

func (r *reader) node(n *node) *evaluationv1.Node {
	node := &evaluationv1.Node{}
	r.object(n, "constraints", "guardrail_tables", "guardrails")
	for _, item := range r.list(r.required(n, "constraints")) {
		node.Constraints = append(node.Constraints, r.constraint(item))
	}
	if candidates := n.get("guardrail_tables"); candidates != nil && candidates.shape != shapeNull {
		node.RestrictGuardrails = true
		for _, item := range r.list(candidates) {
			node.GuardrailTables = append(node.GuardrailTables, r.table(item, r.text(item)))
		}
	}
	return node
}

func (r *reader) constraint(n *node) *evaluationv1.Constraint {
	r.object(n, "table", "measure", "measure_arguments", "reference", "target", "columns")
	constraint := &evaluationv1.Constraint{Measure: choice(r, r.required(n, "measure"), "measure", snapshotMeasures())}
	if table := r.required(n, "table"); table != nil {
		constraint.Table = r.table(table, r.text(table))
	}
	if arguments := n.get("measure_arguments"); arguments != nil && arguments.shape != shapeNull {
		r.object(arguments, "fill_to", "extractor")
		constraint.FillTo, constraint.Extractor = r.text(arguments.get("fill_to")), r.text(arguments.get("extractor"))
	}
	if reference := n.get("reference"); reference != nil && reference.shape != shapeNull {
		number := r.integer(reference, -1)
		constraint.Reference = &number
	}
	schema, ok := world.Builtin().Table(constraint.GetTable())
	if !ok {
		return constraint
	}
	for _, item := range r.list(n.get("target")) {
		constraint.Target = append(constraint.Target, r.target(schema, item))
	}
	if columns := n.get("columns"); columns != nil && columns.shape != shapeNull && r.hasShape(columns, shapeObject) {
		for i, name := range columns.names {
			r.column(schema, columns.items[i], name)
			constraint.Overrides = append(constraint.Overrides, r.override(columns.items[i], name))
		}
	}
	return constraint
}

func (r *reader) target(schema world.Table, n *node) *evaluationv1.TargetRow {
	row := &evaluationv1.TargetRow{}
	if !r.hasShape(n, shapeObject) {
		return row
	}
	for i, name := range n.names {
		row.Cells = append(row.Cells, &evaluationv1.TargetCell{Column: name, Value: r.targetCell(schema, n.items[i], name)})
	}
	return row
}

// targetCell reads a wanted cell. Lists of texts are given as text: roles by name, traces as JSON.
func (r *reader) targetCell(schema world.Table, n *node, name string) *worldv1.Value {
	position := r.column(schema, n, name)
	if position < 0 {
		return world.Null()
	}
	kind := schema.Columns[position].Kind
	switch {
	case kind == world.KindTexts:
		kind = world.KindText
	case !r.strict && n.shape == shapeBool: // a recorded evaluation may have cells of wrong kinds
		kind = world.KindBool
	case !r.strict && n.shape == shapeNumber:
		kind = world.KindNumber
	case !r.strict && n.shape == shapeText && kind == world.KindBool:
		kind = world.KindText
	}
	return r.cell(n, kind)
}

func (r *reader) override(n *node, column string) *evaluationv1.ColumnOverride {
	r.object(n, "measure", "arguments")
	override := &evaluationv1.ColumnOverride{Column: column, Measure: choice(r, r.required(n, "measure"), "measure", columnMeasures())}
	arguments := n.get("arguments")
	if arguments == nil || arguments.shape == shapeNull {
		return override
	}
	r.object(arguments, "atol_dict")
	tolerances := arguments.get("atol_dict")
	if tolerances == nil || tolerances.shape == shapeNull || !r.hasShape(tolerances, shapeObject) {
		return override
	}
	for i, name := range tolerances.names {
		override.Tolerances = append(override.Tolerances,
			&evaluationv1.Tolerance{Name: name, Absolute: r.number(tolerances.items[i])})
	}
	return override
}

// snapshotMeasures returns the measures by the names that the original gives them.
func snapshotMeasures() map[string]evaluationv1.SnapshotMeasure {
	return map[string]evaluationv1.SnapshotMeasure{
		"snapshot_similarity":             evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT,
		"addition_similarity":             evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION,
		"removal_similarity":              evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_REMOVAL,
		"update_similarity":               evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UPDATE,
		"tool_trace_dependant_similarity": evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT,
		"guardrail_similarity":            evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL,
	}
}

// columnMeasures returns the measures by the names that the original gives them.
func columnMeasures() map[string]evaluationv1.ColumnMeasure {
	return map[string]evaluationv1.ColumnMeasure{
		"column_exact_match_similarity":            evaluationv1.ColumnMeasure_COLUMN_MEASURE_EXACT,
		"column_close_similarity":                  evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE,
		"column_one_similarity":                    evaluationv1.ColumnMeasure_COLUMN_MEASURE_ONE,
		"column_contains_similarity":               evaluationv1.ColumnMeasure_COLUMN_MEASURE_CONTAINS,
		"column_rouge_l_similarity":                evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L,
		"column_tool_trace_exact_match_similarity": evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE,
	}
}
