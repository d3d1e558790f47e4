package importer

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// sample is a file of scenarios with one base and two variants.
const sample = `{"now": 100.5, "timezone": "UTC", "scenarios": [{
	"name": "off", "max_messages": 7, "trace_tool": true, "preferred_tool_backend": "DEFAULT",
	"tables": {"SETTING": [{"index": 0, "rows": [{"device_id": "d", "cellular": true, "wifi": true, "location_service": true,
		"low_battery_mode": false, "latitude": 1.5, "longitude": 2}]}]},
	"messages": [
		{"index": 0, "sender": "SYSTEM", "recipient": "AGENT", "content": "s", "conversation_active": true},
		{"index": 1, "sender": "USER", "recipient": "AGENT", "content": "demo", "visible_to": ["USER"]},
		{"index": 2, "sender": "USER", "recipient": "AGENT", "content": "go"}],
	"milestones": {"edges": [[0, 1]], "nodes": [
		{"guardrail_tables": ["CONTACT"], "guardrails": [], "constraints": [{"table": "SETTING", "measure": "update_similarity",
			"reference": -1, "target": [{"wifi": false, "device_id": null, "latitude": "Infinity"}],
			"columns": {"latitude": {"measure": "column_close_similarity", "arguments": {"atol_dict": {"latitude": "Infinity", "b": 1}}}}}]},
		{"constraints": [{"table": "SANDBOX", "measure": "tool_trace_dependant_similarity", "reference": 0,
			"measure_arguments": {"fill_to": "content", "extractor": "days_extractor"}, "target": [{"sender": "AGENT"}]}]}]},
	"minefields": {"nodes": [], "edges": []},
	"variants": {
		"_scrambled": {"tools": ["set_wifi_status"], "denied": ["add_contact"], "augmentations": ["TOOL_NAME_SCRAMBLED"], "categories": ["TWO"]},
		"": {"tools": ["set_wifi_status", "end_conversation"], "denied": null, "augmentations": [], "categories": ["ONE"]}}}]}`

func read(t *testing.T) *Scenarios {
	t.Helper()
	s, err := Read("sample.json", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSetup(t *testing.T) {
	got, err := read(t).Scenario("off", "_scrambled")
	if err != nil {
		t.Fatal(err)
	}
	want := &setupv1.Setup{
		Name: "off_scrambled", MaxMessages: 7, Clock: &setupv1.Clock{Now: 100.5, TimeZone: "UTC"}, Categories: []string{"TWO"},
		Tables: []*worldv1.Table{{Name: world.Setting, Rows: []*worldv1.Row{worldtest.Row(world.Setting, worldtest.Cells{
			"device_id": world.Text("d"), "cellular": world.Bool(true), "wifi": world.Bool(true), "location_service": world.Bool(true),
			"low_battery_mode": world.Bool(false), "latitude": world.Number(1.5), "longitude": world.Number(2),
		})}}},
		Messages: []*worldv1.Message{
			{
				Sender: worldv1.Role_ROLE_SYSTEM, Recipient: worldv1.Role_ROLE_AGENT,
				Body: &worldv1.Message_Text{Text: "s"}, ConversationActive: proto.Bool(true),
			},
			{
				Index: 1, Sender: worldv1.Role_ROLE_USER, Recipient: worldv1.Role_ROLE_AGENT,
				Body: &worldv1.Message_Text{Text: "demo"}, VisibleTo: []worldv1.Role{worldv1.Role_ROLE_USER},
			},
			{Index: 2, Sender: worldv1.Role_ROLE_USER, Recipient: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Text{Text: "go"}},
		},
		Tools: &setupv1.ToolSelection{
			Allow: []string{"set_wifi_status"}, Deny: []string{"add_contact"},
			Augmentations: []setupv1.Augmentation{setupv1.Augmentation_AUGMENTATION_TOOL_NAME_SCRAMBLED},
		},
	}
	if diff := cmp.Diff(want, got.GetSetup(), protocmp.Transform()); diff != "" {
		t.Errorf("setup (-want +got):\n%s", diff)
	}
}

func TestEvaluation(t *testing.T) {
	got, err := read(t).Scenario("off", "")
	if err != nil {
		t.Fatal(err)
	}
	want := &evaluationv1.Graph{
		Edges: []*evaluationv1.Edge{{Before: 0, After: 1}},
		Nodes: []*evaluationv1.Node{{
			GuardrailTables: []string{world.Contact}, RestrictGuardrails: true,
			Constraints: []*evaluationv1.Constraint{{
				Table:     world.Setting,
				Measure:   evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UPDATE,
				Reference: proto.Int32(-1),
				Target: []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{
					{Column: "wifi", Value: world.Bool(false)},
					{Column: "device_id", Value: world.Null()},
					{Column: "latitude", Value: world.Number(math.Inf(1))},
				}}},
				Overrides: []*evaluationv1.ColumnOverride{{
					Column: "latitude", Measure: evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE,
					Tolerances: []*evaluationv1.Tolerance{{Name: "latitude", Absolute: math.Inf(1)}, {Name: "b", Absolute: 1}},
				}},
			}},
		}, {
			Constraints: []*evaluationv1.Constraint{{
				Table:     world.Sandbox,
				Measure:   evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT,
				Reference: proto.Int32(0), FillTo: "content", Extractor: "days_extractor",
				Target: []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{{Column: "sender", Value: world.Text("AGENT")}}}},
			}},
		}},
	}
	if diff := cmp.Diff(want, got.GetEvaluation().GetMilestones(), protocmp.Transform()); diff != "" {
		t.Errorf("milestones (-want +got):\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	s := read(t)
	var names []string
	for _, found := range s.All() {
		names = append(names, found.GetSetup().GetName())
	}
	if diff := cmp.Diff([]string{"off", "off_scrambled"}, names); diff != "" || s.BaseCount() != 1 {
		t.Errorf("names of %d bases (-want +got):\n%s", s.BaseCount(), diff)
	}
	for _, name := range [][2]string{{"on", ""}, {"off", "_all_tools"}} {
		if got, err := s.Scenario(name[0], name[1]); !errors.Is(err, ErrScenario) {
			t.Errorf("Scenario(%q, %q) = %v, %v, want ErrScenario", name[0], name[1], got, err)
		}
	}
	// What a caller changes is the caller's own.
	s.All()[0].Setup.Name = "changed"
	if got, err := s.Scenario("off", ""); err != nil || got.GetSetup().GetName() != "off" {
		t.Errorf("Scenario after a change of a copy: got %v and %v, want off", got.GetSetup().GetName(), err)
	}
}

// TestMistakes changes one thing of the sample: the error says where and what was expected.
func TestMistakes(t *testing.T) {
	for _, test := range []struct{ old, changed, want string }{
		{"update_similarity", "updating_similarity", `sample.json:10:103: scenarios[0].milestones.nodes[0].constraints[0].measure: unknown measure "updating_similarity"; did you mean "update_similarity"?`},
		{"column_close_similarity", "close", `columns.latitude.measure: unknown measure "close"; expected one of column_close_similarity,`},
		{`"wifi": false`, `"wireless": false`, `target[0].wireless: unknown column "wireless" of SETTING`},
		{`"wifi": false`, `"wifi": "no"`, `target[0].wifi: is a text, expected a boolean`},
		{`["CONTACT"]`, `["FRIEND"]`, `guardrail_tables[0]: unknown table "FRIEND"; expected one of SANDBOX, SETTING`},
		{`"TOOL_NAME_SCRAMBLED"`, `"TOOL_GONE"`, `variants._scrambled.augmentations[0]: unknown augmentation "TOOL_GONE"`},
		{`"index": 2`, `"index": 3`, `sample.json:8:3: scenarios[0].messages[2]: has the index 3, expected 2`},
		{`"index": 2`, `"index": -1`, `messages[2].index: is -1, expected a whole number from 0`},
		{`"index": 2, `, ``, `messages[2]: has no "index", which is required`},
		{`"sender": "SYSTEM"`, `"sender": "NOBODY"`, `sample.json:6:26: scenarios[0].messages[0].sender: unknown role "NOBODY"; expected one of SYSTEM,`},
		{`"b": 1`, `"b": "wide"`, `atol_dict.b: is "wide", expected a number, "NaN", "Infinity" or "-Infinity"`},
		{`"longitude": 2`, `"altitude": 2`, `rows[0].altitude: unknown column "altitude" of SETTING; did you mean "latitude"?`},
		{`"SETTING": [{`, `"SANDBOX": [{`, `tables.SANDBOX: table SANDBOX has no rows of its own`},
		{`[[0, 1]]`, `[[0, 2]]`, `milestones.edges[0][1]: is 2, expected the number of a node, below 2`},
		{`[[0, 1]]`, `[[0]]`, `milestones.edges[0]: has 1 ends, expected 2`},
		{`"max_messages": 7`, `"max_messages": 0`, `max_messages: is 0, expected a whole number from 1`},
		{`"max_messages": 7`, `"max_messages": 7, "mood": 1`, `scenarios[0].mood: unknown field`},
		{`"trace_tool": true`, `"trace_tool": false`, `trace_tool: is false, expected true`},
		{`"DEFAULT"`, `"OTHER"`, `preferred_tool_backend: is "OTHER", expected DEFAULT`},
		{`"_scrambled"`, `""`, `sample.json:18:3: document: is no JSON: the field "" occurs twice`},
		{`"tools": ["set_wifi_status"]`, `"tools": []`, `variants._scrambled.tools: is empty, expected at least one tool`},
		{`"variants": {`, `"variants": 1, "x": {`, `scenarios[0].variants: is a number, expected an object`},
		{`"content": "go"}]`, `"content": "gö" "x"}]`, `sample.json:8:72: document: is no JSON: invalid character '"' after object`},
		{`"categories": ["ONE"]}}}]}`, ``, `document: is no JSON: unexpected end of JSON input`},
		{`"categories": ["ONE"]}}}]}`, `"categories": ["ONE"]}}}]} {}`, `document: is no JSON: invalid character '{' after top-level value`},
	} {
		if strings.Count(sample, test.old) == 0 {
			t.Fatalf("the sample has no %s", test.old)
		}
		got, err := Read("sample.json", []byte(strings.Replace(sample, test.old, test.changed, 1)))
		var mistakes document.Errors
		if got != nil || !errors.As(err, &mistakes) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s instead of %s: got %v and\n%v\nwant an error with\n%s", test.changed, test.old, got != nil, err, test.want)
		}
	}
}

// TestCheck finds what is well-formed but cannot be played.
func TestCheck(t *testing.T) {
	err := read(t).Check(scenario.Options{Known: func(tool string) bool { return tool != "add_contact" }})
	want := `sample.json:1:49: scenarios[0]: off_scrambled: setup.tools.deny[0]: `
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Check: got\n%v\nwant an error with\n%s", err, want)
	}
}

func TestTables(t *testing.T) {
	got, err := Tables([]byte(`{
		"CONTACT": [{"index": 3, "rows": []}, {"index": 0, "rows": [{"name": "A", "is_self": true, "person_id": "p"}]}],
		"REMINDER": [{"index": 0, "rows": [{"latitude": "NaN", "longitude": "-Infinity", "content": "NaN"}]}],
		"SETTING": [{"index": 0, "rows": []}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []*worldv1.Table{
		{Name: world.Setting},
		{Name: world.Contact, Rows: []*worldv1.Row{worldtest.Row(world.Contact, worldtest.Cells{
			"person_id": world.Text("p"), "name": world.Text("A"), "is_self": world.Bool(true),
		})}},
		{Name: world.Contact, Index: 3},
		{Name: world.Reminder, Rows: []*worldv1.Row{worldtest.Row(world.Reminder, worldtest.Cells{
			"content": world.Text("NaN"), "latitude": world.Number(math.NaN()), "longitude": world.Number(math.Inf(-1)),
		})}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform(), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	for _, raw := range []string{
		`{"NOTHING": [{"index": 0, "rows": []}]}`,
		`{"SANDBOX": [{"index": 0, "rows": []}]}`,
		`{"CONTACT": [{"index": 0, "rows": [{"nickname": "A"}]}]}`,
		`{"CONTACT": [{"index": 0, "rows": [{"name": 1}]}]}`,
		`{"REMINDER": [{"index": 0, "rows": [{"latitude": "many"}]}]}`,
		`[]`, `{`, ``,
	} {
		if got, err := Tables([]byte(raw)); err == nil {
			t.Errorf("Tables(%s) = %v, want an error", raw, got)
		}
	}
}

// TestDepth refuses what is nested without end, instead of following it.
func TestDepth(t *testing.T) {
	for depth, want := range map[int]string{1000: "nested more than 100 deep", 1 << 20: "exceeded max depth"} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		if _, err := Messages([]byte(deep), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d lists in each other: got %v, want an error about the depth", depth, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"now": 1e400, "timezone": "x", "scenarios": [{"name": "a", "variants": {"": 1}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read("fuzz.json", data)
		if (s == nil) != (err != nil) {
			t.Errorf("Read(%q): got %v and %v, want one of both", data, s, err)
		}
		if s != nil {
			_ = s.Check(scenario.Options{})
		}
	})
}
