package vector

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/score"
)

// message is a SANDBOX row; null fields may be left out.
type message struct {
	Index             int
	Sender, Recipient string
	Content           *string
	Conversation      *bool    `json:"conversation_active"`
	ToolCallID        *string  `json:"openai_tool_call_id"`
	FunctionName      *string  `json:"openai_function_name"`
	Exception         *string  `json:"tool_call_exception"`
	ToolTrace         []string `json:"tool_trace"`
	VisibleTo         []string `json:"visible_to"`
}

// version is a stored table version.
type version struct {
	Index int
	Rows  []map[string]any
}

// fill appends messages and versions to a trajectory.
func fill(t *score.Trajectory, messages []message, tables map[string][]version) error {
	for i := range messages {
		source := &messages[i]
		if source.Index != len(t.Messages) {
			return fmt.Errorf("message %d: index %d", len(t.Messages), source.Index)
		}
		decoded, err := source.decode()
		if err != nil {
			return fmt.Errorf("message %d: %w", source.Index, err)
		}
		t.Messages = append(t.Messages, decoded)
	}
	if t.Tables == nil {
		t.Tables = make(map[string][]score.Version)
	}
	for name, versions := range tables {
		table, ok := world.Builtin().Table(name)
		if !ok || name == world.Sandbox {
			return fmt.Errorf("unknown table %q", name)
		}
		for _, v := range versions {
			rows, err := v.decode(table)
			if err != nil {
				return fmt.Errorf("table %s at %d: %w", name, v.Index, err)
			}
			t.Tables[name] = append(t.Tables[name], score.Version{Index: v.Index, Rows: rows})
		}
	}
	return nil
}

// decode returns the message.
func (m *message) decode() (score.Message, error) {
	decoded := score.Message{
		Content: optional(m.Content), ToolCallID: optional(m.ToolCallID), FunctionName: optional(m.FunctionName),
		Exception: optional(m.Exception), ToolTrace: m.ToolTrace,
	}
	if m.Conversation != nil {
		decoded.Active = score.Bool(*m.Conversation)
	}
	var ok bool
	if decoded.Sender, ok = score.ParseRole(m.Sender); !ok {
		return decoded, fmt.Errorf("unknown sender %q", m.Sender)
	}
	if decoded.Recipient, ok = score.ParseRole(m.Recipient); !ok {
		return decoded, fmt.Errorf("unknown recipient %q", m.Recipient)
	}
	for _, name := range m.VisibleTo {
		role, ok := score.ParseRole(name)
		if !ok {
			return decoded, fmt.Errorf("unknown role %q", name)
		}
		decoded.VisibleTo = append(decoded.VisibleTo, role)
	}
	return decoded, nil
}

// optional returns a text or null.
func optional(text *string) score.Value {
	if text == nil {
		return score.Null()
	}
	return score.String(*text)
}

// decode returns the rows with their cells in column order.
func (v *version) decode(table world.Table) ([][]score.Value, error) {
	columns := table.Columns
	rows := make([][]score.Value, 0, len(v.Rows))
	for i, source := range v.Rows {
		if len(source) > len(columns) {
			return nil, fmt.Errorf("row %d: unknown columns", i)
		}
		row := make([]score.Value, len(columns))
		for j, column := range columns {
			cell, err := value(source[column.Name], column.Kind)
			if err != nil {
				return nil, fmt.Errorf("row %d: %s: %w", i, column.Name, err)
			}
			row[j] = cell
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// value returns a JSON value as a cell; in a number column the texts NaN, Infinity and -Infinity
// are numbers.
func value(source any, kind world.Kind) (score.Value, error) {
	switch source := source.(type) {
	case nil:
		return score.Null(), nil
	case bool:
		return score.Bool(source), nil
	case float64:
		return score.Number(source), nil
	case string:
		if kind == world.KindNumber {
			n, err := number(source)
			return score.Number(n), err
		}
		return score.String(source), nil
	case []any:
		texts := make([]string, len(source))
		for i, item := range source {
			text, ok := item.(string)
			if !ok {
				return score.Null(), fmt.Errorf("item %d is no text", i)
			}
			texts[i] = text
		}
		return score.List(texts...), nil
	}
	return score.Null(), fmt.Errorf("unexpected %T", source)
}

// number reads a number that JSON lacks.
func number(text string) (float64, error) {
	switch text {
	case "NaN":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	return 0, fmt.Errorf("%q is no number", text)
}

// graph is a milestone or minefield graph.
type graph struct {
	Nodes []struct {
		Constraints     []constraint
		GuardrailTables []string `json:"guardrail_tables"`
		Guardrails      []struct {
			Table     string
			Reference int
		}
	}
	Edges [][2]int
}

// constraint is one constraint.
type constraint struct {
	Table, Measure   string
	MeasureArguments struct {
		FillTo    string `json:"fill_to"`
		Extractor string
	} `json:"measure_arguments"`
	Reference *int
	Target    []map[string]any
	Columns   map[string]struct {
		Measure   string
		Arguments struct {
			Tolerances map[string]any `json:"atol_dict"`
		}
	}
}

// decode returns the graph; name begins the paths of its errors.
func (g *graph) decode(name string) (Graph, error) {
	result := Graph{Definition: score.Definition{Name: name}, Guardrails: make([][]score.AutomaticGuardrail, len(g.Nodes))}
	for i := range g.Nodes {
		source := &g.Nodes[i]
		node := score.Node{Guard: score.Guard{Mode: score.GuardOnly}}
		for j := range source.Constraints {
			decoded, err := source.Constraints[j].decode()
			if err != nil {
				return result, fmt.Errorf("%s[%d].constraints[%d]: %w", name, i, j, err)
			}
			node.Constraints = append(node.Constraints, decoded)
		}
		node.Guard.Tables = append(node.Guard.Tables, source.GuardrailTables...)
		for _, guard := range source.Guardrails {
			result.Guardrails[i] = append(result.Guardrails[i],
				score.AutomaticGuardrail{Table: guard.Table, Reference: guard.Reference})
		}
		result.Definition.Nodes = append(result.Definition.Nodes, node)
	}
	for _, edge := range g.Edges {
		result.Definition.Edges = append(result.Definition.Edges, score.Edge{Before: edge[0], After: edge[1]})
	}
	return result, nil
}

// decode returns the constraint.
func (c *constraint) decode() (score.Constraint, error) {
	result := score.Constraint{
		Table: c.Table, Reference: c.Reference, FillTo: c.MeasureArguments.FillTo, Extractor: c.MeasureArguments.Extractor,
	}
	table, ok := world.Builtin().Table(c.Table)
	if !ok {
		return result, fmt.Errorf("unknown table %q", c.Table)
	}
	if result.Measure, ok = snapshotMeasure(c.Measure); !ok {
		return result, fmt.Errorf("unknown measure %q", c.Measure)
	}
	kinds := make(map[string]world.Kind)
	for _, column := range table.Columns {
		kinds[column.Name] = column.Kind
	}
	for _, source := range c.Target {
		row := make([]score.Cell, 0, len(source))
		for _, name := range sortedKeys(source) {
			cell, err := value(source[name], kinds[name])
			if err != nil {
				return result, fmt.Errorf("target: %s: %w", name, err)
			}
			row = append(row, score.Cell{Column: name, Value: cell})
		}
		result.Target = append(result.Target, row)
	}
	for _, name := range sortedKeys(c.Columns) {
		source := c.Columns[name]
		override := score.Override{Column: name}
		if override.Measure, ok = columnMeasure(source.Measure); !ok {
			return result, fmt.Errorf("columns: %s: unknown measure %q", name, source.Measure)
		}
		for _, key := range sortedKeys(source.Arguments.Tolerances) {
			tolerance, err := value(source.Arguments.Tolerances[key], world.KindNumber)
			absolute, ok := tolerance.Float()
			if err != nil || !ok {
				return result, fmt.Errorf("columns: %s: tolerance of %s is no number", name, key)
			}
			override.Tolerances = append(override.Tolerances, score.Tolerance{Name: key, Absolute: absolute})
		}
		result.Overrides = append(result.Overrides, override)
	}
	return result, nil
}

// sortedKeys returns the keys of a map, sorted.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// snapshotMeasure returns the measure of the original's name.
func snapshotMeasure(name string) (score.SnapshotMeasure, bool) {
	switch name {
	case "snapshot_similarity":
		return score.Snapshot, true
	case "addition_similarity":
		return score.Addition, true
	case "removal_similarity":
		return score.Removal, true
	case "update_similarity":
		return score.Update, true
	case "tool_trace_dependant_similarity":
		return score.ToolTraceDependant, true
	case "guardrail_similarity":
		return score.Guardrail, true
	}
	return 0, false
}

// columnMeasure returns the measure of the original's name.
func columnMeasure(name string) (score.ColumnMeasure, bool) {
	switch name {
	case "column_exact_match_similarity":
		return score.Exact, true
	case "column_close_similarity":
		return score.Close, true
	case "column_one_similarity":
		return score.One, true
	case "column_contains_similarity":
		return score.Contains, true
	case "column_rouge_l_similarity":
		return score.RougeL, true
	case "column_tool_trace_exact_match_similarity":
		return score.ToolTrace, true
	}
	return 0, false
}

// result is the printed score.
type result struct {
	ExceptionType string                        `json:"exception_type"`
	Milestone     float64                       `json:"milestone_similarity"`
	Minefield     float64                       `json:"minefield_similarity"`
	Similarity    float64                       `json:"similarity"`
	TurnCount     int                           `json:"turn_count"`
	Milestones    map[string][2]json.RawMessage `json:"milestone_mapping"`
	Minefields    map[string][2]json.RawMessage `json:"minefield_mapping"`
}

// decode returns the score.
func (r *result) decode() (Want, error) {
	want := Want{
		Raised: r.ExceptionType, Milestone: r.Milestone, Minefield: r.Minefield, Similarity: r.Similarity,
		TurnCount: r.TurnCount,
	}
	var err error
	if want.Milestones, err = mapping(r.Milestones); err != nil {
		return want, fmt.Errorf("milestone_mapping: %w", err)
	}
	if want.Minefields, err = mapping(r.Minefields); err != nil {
		return want, fmt.Errorf("minefield_mapping: %w", err)
	}
	return want, nil
}

// mapping reads node → [message index, similarity].
func mapping(source map[string][2]json.RawMessage) (map[int]Match, error) {
	matches := make(map[int]Match, len(source))
	for key, pair := range source {
		node, err := strconv.Atoi(key)
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", key, err)
		}
		var match Match
		if err := json.Unmarshal(pair[0], &match.Index); err != nil {
			return nil, fmt.Errorf("node %q: index: %w", key, err)
		}
		if err := json.Unmarshal(pair[1], &match.Similarity); err != nil {
			return nil, fmt.Errorf("node %q: similarity: %w", key, err)
		}
		matches[node] = match
	}
	return matches, nil
}
