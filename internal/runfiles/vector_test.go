package runfiles

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/sandbox"
	"github.com/toolsandbox/toolsandbox/internal/sandbox/sandboxtest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// pairs is a JSON object in written order.
type pairs []pair

type pair struct {
	key   string
	value any
}

func (p *pairs) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		var v any
		if err := decoder.Decode(&v); err != nil {
			return err
		}
		*p = append(*p, pair{key.(string), v})
	}
	return nil
}

// The vectors' forms, as vectors/README.md describes them.
type (
	vectorScenario struct {
		Name     string
		Variants map[string]struct {
			Tools, Denied, Augmentations, Categories []string
		}
		Milestones, Minefields vectorGraph
	}
	vectorGraph struct {
		Nodes []vectorNode
		Edges [][2]int32
	}
	vectorNode struct {
		Constraints     []vectorConstraint
		GuardrailTables []string `json:"guardrail_tables"`
		Guardrails      []struct {
			Table     string
			Reference int32
		}
	}
	vectorConstraint struct {
		Table, Measure string
		Reference      *int32
		Target         []pairs
		Columns        map[string]struct{ Measure string }
	}
	vectorContext struct {
		DBs        map[string][]map[string]any `json:"_dbs"`
		Allow      []string                    `json:"tool_allow_list"`
		Deny       []string                    `json:"tool_deny_list"`
		Scrambling []string                    `json:"tool_augmentation_list"`
	}
)

func readJSON(t *testing.T, path string, into any) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return raw
}

// vectorEvaluations returns the scoring of every base scenario of the vectors.
func vectorEvaluations(t *testing.T) map[string]vectorScenario {
	t.Helper()
	var file struct{ Scenarios []vectorScenario }
	readJSON(t, vectortest.Dir(t, "scenarios.json"), &file)
	out := map[string]vectorScenario{}
	for _, s := range file.Scenarios {
		out[s.Name] = s
	}
	return out
}

func value(v any) *worldv1.Value {
	switch v := v.(type) {
	case bool:
		return world.Bool(v)
	case float64:
		return world.Number(v)
	case string:
		return world.Text(v)
	default:
		return world.Null()
	}
}

func (g vectorGraph) proto() *evaluationv1.Graph {
	out := &evaluationv1.Graph{}
	for _, edge := range g.Edges {
		out.Edges = append(out.Edges, &evaluationv1.Edge{Before: edge[0], After: edge[1]})
	}
	for _, n := range g.Nodes {
		node := &evaluationv1.Node{}
		for _, schema := range world.Builtin().Tables() {
			if !slices.Contains(n.GuardrailTables, schema.Name) {
				node.UnguardedTables = append(node.UnguardedTables, schema.Name)
			}
		}
		for _, c := range n.Constraints {
			node.Constraints = append(node.Constraints, c.proto())
		}
		out.Nodes = append(out.Nodes, node)
	}
	return out
}

func (c vectorConstraint) proto() *evaluationv1.Constraint {
	table := c.Table
	measure := evaluationv1.SnapshotMeasure_value["SNAPSHOT_MEASURE_"+strings.ToUpper(strings.TrimSuffix(c.Measure, "_similarity"))]
	out := &evaluationv1.Constraint{Table: table, Measure: evaluationv1.SnapshotMeasure(measure), Reference: c.Reference}
	for _, row := range c.Target {
		target := &evaluationv1.TargetRow{}
		for _, cell := range row {
			target.Cells = append(target.Cells, &evaluationv1.TargetCell{Column: cell.key, Value: value(cell.value)})
		}
		out.Target = append(out.Target, target)
	}
	for column, override := range c.Columns {
		for number := range evaluationv1.ColumnMeasure_name {
			if m := evaluationv1.ColumnMeasure(number); m != 0 && columnMeasure(strings.ToLower(strings.TrimPrefix(m.String(), "COLUMN_MEASURE_"))) == override.Measure {
				out.Overrides = append(out.Overrides, &evaluationv1.ColumnOverride{Column: column, Measure: m})
			}
		}
	}
	return out
}

// loadVector rebuilds one rollout from its result files and the scenario it played.
func loadVector(t *testing.T, dir string, scenarios map[string]vectorScenario) Rollout {
	t.Helper()
	var summary Summary
	readJSON(t, filepath.Join(dir, SummaryFile), &summary)
	entry := summary.Scenarios[0]
	base, suffix := entry.Name, ""
	for scenarios[base].Name == "" {
		cut := strings.LastIndex(base, "_")
		if cut < 0 {
			t.Fatalf("no scenario for %q", entry.Name)
		}
		base, suffix = base[:cut], base[cut:]+suffix
	}
	var context vectorContext
	readJSON(t, filepath.Join(dir, ContextFile), &context)
	tools := &setupv1.ToolSelection{Allow: context.Allow, Deny: context.Deny}
	for _, name := range context.Scrambling {
		tools.Augmentations = append(tools.Augmentations, setupv1.Augmentation(setupv1.Augmentation_value["AUGMENTATION_"+name]))
	}
	return Rollout{
		Scenario: &scenariov1.Scenario{
			Setup: &setupv1.Setup{Name: entry.Name, Categories: scenarios[base].Variants[suffix].Categories, Tools: tools},
			Evaluation: &evaluationv1.Evaluation{
				Milestones: scenarios[base].Milestones.proto(), Minefields: scenarios[base].Minefields.proto(),
			},
		},
		Result: vectorResult(t, entry), Messages: vectorMessages(context.DBs["SANDBOX"]), Tables: vectorTables(context.DBs),
	}
}

func vectorResult(t *testing.T, entry ScenarioResult) *busv1.Result {
	t.Helper()
	number := func(s Similarity) float64 {
		f, ok := s.Number()
		if !ok {
			t.Fatalf("%q is no similarity", s)
		}
		return f
	}
	matches := func(m Mapping) []*busv1.Match {
		var out []*busv1.Match
		for _, match := range m {
			out = append(out, &busv1.Match{Node: int32(match.Node), Index: int32(match.Index), Similarity: number(match.Similarity)})
		}
		return out
	}
	result := &busv1.Result{
		End:                 &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED},
		MilestoneSimilarity: number(entry.MilestoneSimilarity), MinefieldSimilarity: number(entry.MinefieldSimilarity),
		Similarity: number(entry.Similarity), TurnCount: int32(entry.TurnCount),
		Milestones: matches(entry.MilestoneMapping), Minefields: matches(entry.MinefieldMapping),
	}
	if entry.ExceptionType != nil {
		result.End = &busv1.End{Reason: busv1.EndReason_END_REASON_MODEL_FAILURE, ExceptionType: *entry.ExceptionType}
	}
	return result
}

func vectorMessages(rows []map[string]any) []*worldv1.Message {
	var out []*worldv1.Message
	text := func(v any) *string {
		if s, ok := v.(string); ok {
			return &s
		}
		return nil
	}
	for _, row := range rows {
		if row["sender"] == nil {
			continue
		}
		cells := sandbox.Row{
			Content: text(row["content"]), ToolCallID: text(row["openai_tool_call_id"]), FunctionName: text(row["openai_function_name"]),
			Exception: text(row["tool_call_exception"]),
		}
		if traces, ok := row["tool_trace"].([]any); ok {
			for _, trace := range traces {
				cells.ToolTrace = append(cells.ToolTrace, trace.(string))
			}
		}
		sender, _ := world.RoleByText(row["sender"].(string))
		recipient, _ := world.RoleByText(row["recipient"].(string))
		m := sandboxtest.Read(sender, recipient, cells)
		m.Index, m.ConversationActive = int32(row["sandbox_message_index"].(float64)), proto.Bool(row["conversation_active"].(bool))
		if roles, ok := row["visible_to"].([]any); ok {
			for _, name := range roles {
				role, _ := world.RoleByText(name.(string))
				m.VisibleTo = append(m.VisibleTo, role)
			}
		}
		out = append(out, m)
	}
	return out
}

func vectorTables(dbs map[string][]map[string]any) []*worldv1.Table {
	var out []*worldv1.Table
	for _, schema := range world.Builtin().Tables()[1:] {
		versions := map[int32]*worldv1.Table{}
		for _, cells := range dbs[schema.Name] {
			index := int32(cells["sandbox_message_index"].(float64))
			if versions[index] == nil {
				versions[index] = &worldv1.Table{Name: schema.Name, Index: index}
				out = append(out, versions[index])
			}
			row, blank := &worldv1.Row{}, true
			for _, column := range schema.Columns {
				row.Cells = append(row.Cells, value(cells[column.Name]))
				blank = blank && cells[column.Name] == nil
			}
			if !blank {
				versions[index].Rows = append(versions[index].Rows, row)
			}
		}
	}
	return out
}
