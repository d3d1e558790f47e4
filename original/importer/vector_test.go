package importer

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// facts is a JSON object.
type facts = map[string]any

// TestLongRoundTrip reads all of the original's scenarios, sends them through the wire form of a
// catalogue, prints them again and compares with the file: nothing but the guardrails, which the
// evaluator derives, gets lost.
func TestLongRoundTrip(t *testing.T) {
	path := vectortest.Dir(t, "scenarios.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := Read(path, data)
	if err != nil {
		t.Fatal(err)
	}
	if err := scenarios.Check(scenario.Options{AllowUnreachable: true}); err != nil {
		t.Error(err)
	}
	wire, err := proto.Marshal(&scenariov1.Catalogue{Scenarios: scenarios.All()})
	if err != nil {
		t.Fatal(err)
	}
	catalogue := &scenariov1.Catalogue{}
	if err := proto.Unmarshal(wire, catalogue); err != nil {
		t.Fatal(err)
	}
	imported := make(map[string]*scenariov1.Scenario)
	for _, s := range catalogue.GetScenarios() {
		imported[s.GetSetup().GetName()] = s
		if err := protovalidate.Validate(s); err != nil {
			t.Errorf("%s: %v", s.GetSetup().GetName(), err)
		}
	}
	if len(imported) != 1032 || scenarios.BaseCount() != 129 {
		t.Errorf("scenarios: got %d of %d bases, want 1032 of 129", len(imported), scenarios.BaseCount())
	}
	var file struct {
		Now       float64
		Timezone  string
		Scenarios []facts
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, base := range file.Scenarios {
		variants, _ := base["variants"].(facts)
		for suffix, variant := range variants {
			name, _ := base["name"].(string)
			got := imported[name+suffix]
			want := facts{
				"now": file.Now, "timezone": file.Timezone, "max_messages": base["max_messages"], "tables": base["tables"],
				"messages": base["messages"], "variant": variant,
				"milestones": withoutGuardrails(base["milestones"]), "minefields": withoutGuardrails(base["minefields"]),
			}
			if diff := cmp.Diff(want, printed(got)); diff != "" {
				t.Fatalf("%s%s (-want +got):\n%s", name, suffix, diff)
			}
		}
	}
}

// withoutGuardrails takes what the original derives out of a graph.
func withoutGuardrails(graph any) any {
	nodes, _ := graph.(facts)["nodes"].([]any)
	for _, node := range nodes {
		delete(node.(facts), "guardrails")
	}
	return graph
}

// printed prints a scenario as the exporter does.
func printed(s *scenariov1.Scenario) facts {
	setup := s.GetSetup()
	return facts{
		"now": setup.GetClock().GetNow(), "timezone": setup.GetClock().GetTimeZone(), "max_messages": float64(setup.GetMaxMessages()),
		"tables": printedTables(setup.GetTables()), "messages": each(setup.GetMessages(), printedMessage),
		"variant": facts{
			"tools": each(setup.GetTools().GetAllow(), same), "denied": orNull(each(setup.GetTools().GetDeny(), same)),
			"augmentations": each(setup.GetTools().GetAugmentations(), func(a setupv1.Augmentation) any {
				return strings.TrimPrefix(a.String(), augmentationPrefix)
			}),
			"categories": each(setup.GetCategories(), same),
		},
		"milestones": printedGraph(s.GetEvaluation().GetMilestones()), "minefields": printedGraph(s.GetEvaluation().GetMinefields()),
	}
}

func each[T any](list []T, printed func(T) any) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = printed(list[i])
	}
	return out
}

func same(text string) any { return text }

func orNull(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

func printedTables(tables []*worldv1.Table) facts {
	out := make(facts)
	for _, table := range tables {
		name := table.GetName()
		schema, _ := world.Builtin().Table(table.GetName())
		versions, _ := out[name].([]any)
		out[name] = append(versions, facts{
			"index": float64(table.GetIndex()), "rows": each(table.GetRows(), func(row *worldv1.Row) any {
				cells := make(facts)
				for i, column := range schema.Columns {
					cells[column.Name] = printedCell(row.GetCells()[i])
				}
				return cells
			}),
		})
	}
	return out
}

func printedCell(cell *worldv1.Value) any {
	switch kind := cell.GetKind().(type) {
	case *worldv1.Value_Boolean:
		return kind.Boolean
	case *worldv1.Value_Number:
		return printedNumber(kind.Number)
	case *worldv1.Value_Text:
		return kind.Text
	default:
		return nil
	}
}

func printedNumber(number float64) any {
	if math.IsInf(number, 1) {
		return "Infinity"
	}
	return number
}

func printedMessage(m *worldv1.Message) any {
	out := facts{
		"index": float64(m.GetIndex()), "sender": world.RoleName(m.GetSender()), "recipient": world.RoleName(m.GetRecipient()),
		"content": messagetext.Content(m), "conversation_active": m.GetConversationActive(),
	}
	if len(m.GetVisibleTo()) > 0 {
		out["visible_to"] = each(m.GetVisibleTo(), func(role worldv1.Role) any { return world.RoleName(role) })
	}
	return out
}

func printedGraph(graph *evaluationv1.Graph) facts {
	return facts{
		"nodes": each(graph.GetNodes(), func(node *evaluationv1.Node) any {
			return facts{
				"constraints": each(node.GetConstraints(), printedConstraint),
				"guardrail_tables": each(node.GetGuardrailTables(), func(name string) any {
					return name
				}),
			}
		}),
		"edges": each(graph.GetEdges(), func(edge *evaluationv1.Edge) any {
			return []any{float64(edge.GetBefore()), float64(edge.GetAfter())}
		}),
	}
}

func printedConstraint(c *evaluationv1.Constraint) any {
	out := facts{
		"table": c.GetTable(), "measure": nameOf(snapshotMeasures(), c.GetMeasure()),
		"target": each(c.GetTarget(), func(row *evaluationv1.TargetRow) any {
			cells := make(facts)
			for _, cell := range row.GetCells() {
				cells[cell.GetColumn()] = printedCell(cell.GetValue())
			}
			return cells
		}),
	}
	if c.Reference != nil {
		out["reference"] = float64(c.GetReference())
	}
	if c.GetExtractor() != "" {
		out["measure_arguments"] = facts{"fill_to": c.GetFillTo(), "extractor": c.GetExtractor()}
	}
	columns := make(facts)
	for _, override := range c.GetOverrides() {
		column := facts{"measure": nameOf(columnMeasures(), override.GetMeasure())}
		tolerances := make(facts)
		for _, tolerance := range override.GetTolerances() {
			tolerances[tolerance.GetName()] = printedNumber(tolerance.GetAbsolute())
		}
		if len(tolerances) > 0 {
			column["arguments"] = facts{"atol_dict": tolerances}
		}
		columns[override.GetColumn()] = column
	}
	if len(columns) > 0 {
		out["columns"] = columns
	}
	return out
}

func nameOf[T comparable](names map[string]T, value T) string {
	for name, candidate := range names {
		if candidate == value {
			return name
		}
	}
	return ""
}
