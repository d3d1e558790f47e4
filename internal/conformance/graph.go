package conformance

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// recordedGraph is a milestone or minefield graph.
type recordedGraph struct {
	Nodes []recordedNode
	Edges [][2]int32
}

// recordedNode is a node. The guardrails that the original derived are not read: the evaluator derives its own.
type recordedNode struct {
	Constraints     []recordedConstraint
	GuardrailTables *[]string `json:"guardrail_tables"`
}

type recordedConstraint struct {
	Table, Measure   string
	MeasureArguments struct {
		FillTo    string `json:"fill_to"`
		Extractor string
	} `json:"measure_arguments"`
	Reference *int32
	Target    []object
	Columns   object
}

type recordedOverride struct {
	Measure   string
	Arguments struct {
		Tolerances object `json:"atol_dict"`
	}
}

// decodeEvaluation decodes both graphs of a scenario.
func decodeEvaluation(milestones, minefields *recordedGraph) (*evaluationv1.Evaluation, error) {
	evaluation := &evaluationv1.Evaluation{}
	var err error
	if evaluation.Milestones, err = milestones.graph(); err != nil {
		return nil, fmt.Errorf("milestones: %w", err)
	}
	if evaluation.Minefields, err = minefields.graph(); err != nil {
		return nil, fmt.Errorf("minefields: %w", err)
	}
	return evaluation, nil
}

func (g *recordedGraph) graph() (*evaluationv1.Graph, error) {
	graph := &evaluationv1.Graph{}
	for i := range g.Nodes {
		node, err := g.Nodes[i].node()
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
		graph.Nodes = append(graph.Nodes, node)
	}
	for _, edge := range g.Edges {
		graph.Edges = append(graph.Edges, &evaluationv1.Edge{Before: edge[0], After: edge[1]})
	}
	return graph, nil
}

func (n *recordedNode) node() (*evaluationv1.Node, error) {
	node := &evaluationv1.Node{RestrictGuardrails: n.GuardrailTables != nil}
	for i := range n.Constraints {
		constraint, err := n.Constraints[i].constraint()
		if err != nil {
			return nil, fmt.Errorf("constraint %d: %w", i, err)
		}
		node.Constraints = append(node.Constraints, constraint)
	}
	if n.GuardrailTables == nil {
		return node, nil
	}
	for _, text := range *n.GuardrailTables {
		name, err := tableOf(text)
		if err != nil {
			return nil, fmt.Errorf("guardrail_tables: %w", err)
		}
		node.GuardrailTables = append(node.GuardrailTables, name)
	}
	return node, nil
}

func (c *recordedConstraint) constraint() (*evaluationv1.Constraint, error) {
	name, err := tableOf(c.Table)
	if err != nil {
		return nil, err
	}
	constraint := &evaluationv1.Constraint{
		Table: name, Measure: snapshotMeasure(c.Measure), Reference: c.Reference,
		FillTo: c.MeasureArguments.FillTo, Extractor: c.MeasureArguments.Extractor,
	}
	if constraint.GetMeasure() == evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UNSPECIFIED {
		return nil, fmt.Errorf("unknown measure %q", c.Measure)
	}
	schema, _ := world.SchemaOf(name)
	for i, row := range c.Target {
		target := &evaluationv1.TargetRow{}
		for _, cell := range row {
			value, err := decodeTarget(schema, cell)
			if err != nil {
				return nil, fmt.Errorf("target %d: %s: %w", i, cell.name, err)
			}
			target.Cells = append(target.Cells, &evaluationv1.TargetCell{Column: cell.name, Value: value})
		}
		constraint.Target = append(constraint.Target, target)
	}
	for _, column := range c.Columns {
		override, err := decodeOverride(column)
		if err != nil {
			return nil, fmt.Errorf("columns: %s: %w", column.name, err)
		}
		constraint.Overrides = append(constraint.Overrides, override)
	}
	return constraint, nil
}

func decodeTarget(schema world.Schema, cell field) (*worldv1.Value, error) {
	column := schema.Column(cell.name)
	if column < 0 {
		return nil, errors.New("unknown column")
	}
	return decodeCell(cell.value, schema.Columns[column].Kind)
}

func decodeOverride(column field) (*evaluationv1.ColumnOverride, error) {
	var recorded recordedOverride
	if err := json.Unmarshal(column.value, &recorded); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	override := &evaluationv1.ColumnOverride{Column: column.name, Measure: columnMeasure(recorded.Measure)}
	if override.GetMeasure() == evaluationv1.ColumnMeasure_COLUMN_MEASURE_UNSPECIFIED {
		return nil, fmt.Errorf("unknown measure %q", recorded.Measure)
	}
	for _, tolerance := range recorded.Arguments.Tolerances {
		absolute, err := decodeNumber(tolerance.value)
		if err != nil {
			return nil, fmt.Errorf("tolerance of %s: %w", tolerance.name, err)
		}
		override.Tolerances = append(override.Tolerances, &evaluationv1.Tolerance{Name: tolerance.name, Absolute: absolute})
	}
	return override, nil
}

// snapshotMeasure returns the measure that the original calls so.
func snapshotMeasure(name string) evaluationv1.SnapshotMeasure {
	switch name {
	case "snapshot_similarity":
		return evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT
	case "addition_similarity":
		return evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION
	case "removal_similarity":
		return evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_REMOVAL
	case "update_similarity":
		return evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UPDATE
	case "tool_trace_dependant_similarity":
		return evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT
	case "guardrail_similarity":
		return evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL
	default:
		return evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UNSPECIFIED
	}
}

// columnMeasure returns the measure that the original calls so.
func columnMeasure(name string) evaluationv1.ColumnMeasure {
	switch name {
	case "column_exact_match_similarity":
		return evaluationv1.ColumnMeasure_COLUMN_MEASURE_EXACT
	case "column_close_similarity":
		return evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE
	case "column_one_similarity":
		return evaluationv1.ColumnMeasure_COLUMN_MEASURE_ONE
	case "column_contains_similarity":
		return evaluationv1.ColumnMeasure_COLUMN_MEASURE_CONTAINS
	case "column_rouge_l_similarity":
		return evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L
	case "column_tool_trace_exact_match_similarity":
		return evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE
	default:
		return evaluationv1.ColumnMeasure_COLUMN_MEASURE_UNSPECIFIED
	}
}
