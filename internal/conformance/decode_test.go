package conformance

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	user        = worldv1.Role_ROLE_USER
	agent       = worldv1.Role_ROLE_AGENT
	environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

func TestDecodeCell(t *testing.T) {
	for _, test := range []struct {
		raw  string
		kind world.Kind
		want *worldv1.Value
	}{
		{"", world.KindText, world.Null()},
		{"null", world.KindNumber, world.Null()},
		{"true", world.KindBool, world.Bool(true)},
		{"0.1", world.KindNumber, world.Number(0.1)},
		{`"Infinity"`, world.KindNumber, world.Number(math.Inf(1))},
		{`"-Infinity"`, world.KindNumber, world.Number(math.Inf(-1))},
		{`"NaN"`, world.KindNumber, world.Number(math.NaN())},
		{`"NaN"`, world.KindText, world.Text("NaN")},
		{`"a\nb"`, world.KindText, world.Text("a\nb")},
	} {
		got, err := decodeCell(json.RawMessage(test.raw), test.kind)
		if err != nil || !proto.Equal(got, test.want) {
			t.Errorf("decodeCell(%s, %s) = %v, %v, want %v", test.raw, test.kind, got, err, test.want)
		}
	}
	for _, raw := range []string{`"many"`, "[1]", "{}"} {
		if got, err := decodeCell(json.RawMessage(raw), world.KindNumber); err == nil {
			t.Errorf("decodeCell(%s, number) = %v, want an error", raw, got)
		}
	}
}

func TestDecodeTables(t *testing.T) {
	var recorded recordedTables
	err := json.Unmarshal([]byte(`{
		"CONTACT": [{"index": 3, "rows": []}, {"index": 0, "rows": [{"name": "A", "is_self": true, "person_id": "p"}]}],
		"SETTING": [{"index": 0, "rows": []}]}`), &recorded)
	if err != nil {
		t.Fatal(err)
	}
	got, err := recorded.tables()
	if err != nil {
		t.Fatal(err)
	}
	row := &worldv1.Row{Cells: []*worldv1.Value{world.Text("p"), world.Text("A"), world.Null(), world.Null(), world.Bool(true)}}
	want := []*worldv1.Table{
		{Name: worldv1.TableName_TABLE_NAME_SETTING},
		{Name: worldv1.TableName_TABLE_NAME_CONTACT, Rows: []*worldv1.Row{row}},
		{Name: worldv1.TableName_TABLE_NAME_CONTACT, Index: 3},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	for _, raw := range []string{
		`{"NOTHING": [{"index": 0, "rows": []}]}`,
		`{"SANDBOX": [{"index": 0, "rows": []}]}`,
		`{"CONTACT": [{"index": 0, "rows": [{"nickname": "A"}]}]}`,
		`{"CONTACT": [{"index": 0, "rows": [{"name": 1}]}]}`,
	} {
		var recorded recordedTables
		if err := json.Unmarshal([]byte(raw), &recorded); err != nil {
			t.Fatal(err)
		}
		if got, err := recorded.tables(); err == nil {
			t.Errorf("tables of %s = %v, want an error", raw, got)
		}
	}
}

func TestObjectKeepsOrder(t *testing.T) {
	var got object
	if err := json.Unmarshal([]byte(`{"b": 1, "a": {"z": [1.0]}, "c": null}`), &got); err != nil {
		t.Fatal(err)
	}
	var printed []string
	for _, f := range got {
		printed = append(printed, f.name+"="+string(f.value))
	}
	if diff := cmp.Diff([]string{"b=1", `a={"z": [1.0]}`, "c=null"}, printed); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	for _, raw := range []string{"[]", "1"} {
		if err := json.Unmarshal([]byte(raw), &got); err == nil {
			t.Errorf("Unmarshal(%s): got no error, want one", raw)
		}
	}
}

// scenariosSample is a file of scenarios with one base and two variants.
const scenariosSample = `{"now": 100.5, "timezone": "UTC", "scenarios": [{
	"name": "off", "max_messages": 7,
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
		"": {"tools": ["set_wifi_status", "end_conversation"], "denied": null, "augmentations": [], "categories": ["ONE"]},
		"_scrambled": {"tools": ["set_wifi_status"], "denied": ["add_contact"], "augmentations": ["TOOL_NAME_SCRAMBLED"], "categories": []}}}]}`

func sample(t *testing.T) *Scenarios {
	t.Helper()
	s, err := ReadScenarios(strings.NewReader(scenariosSample))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScenario(t *testing.T) {
	got, err := sample(t).Scenario("off", "_scrambled")
	if err != nil {
		t.Fatal(err)
	}
	setup := &setupv1.Setup{
		Name: "off_scrambled", MaxMessages: 7, Clock: &setupv1.Clock{Now: 100.5, TimeZone: "UTC"},
		Tables: []*worldv1.Table{{Name: worldv1.TableName_TABLE_NAME_SETTING, Rows: []*worldv1.Row{{Cells: []*worldv1.Value{
			world.Text("d"), world.Bool(true), world.Bool(true), world.Bool(true), world.Bool(false), world.Number(1.5), world.Number(2),
		}}}}},
		Messages: []*worldv1.Message{
			{Sender: worldv1.Role_ROLE_SYSTEM, Recipient: agent, Content: proto.String("s"), ConversationActive: proto.Bool(true)},
			{Index: 1, Sender: user, Recipient: agent, Content: proto.String("demo"), VisibleTo: []worldv1.Role{user}},
			{Index: 2, Sender: user, Recipient: agent, Content: proto.String("go")},
		},
		Tools: &setupv1.ToolSelection{
			Allow: []string{"set_wifi_status"}, Deny: []string{"add_contact"},
			Augmentations: []setupv1.Augmentation{setupv1.Augmentation_AUGMENTATION_TOOL_NAME_SCRAMBLED},
		},
	}
	if diff := cmp.Diff(setup, got.GetSetup(), protocmp.Transform()); diff != "" {
		t.Errorf("setup (-want +got):\n%s", diff)
	}
	milestones := &evaluationv1.Graph{
		Edges: []*evaluationv1.Edge{{Before: 0, After: 1}},
		Nodes: []*evaluationv1.Node{{
			GuardrailTables: []worldv1.TableName{worldv1.TableName_TABLE_NAME_CONTACT}, RestrictGuardrails: true,
			Constraints: []*evaluationv1.Constraint{{
				Table:     worldv1.TableName_TABLE_NAME_SETTING,
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
				Table:     worldv1.TableName_TABLE_NAME_SANDBOX,
				Measure:   evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT,
				Reference: proto.Int32(0), FillTo: "content", Extractor: "days_extractor",
				Target: []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{{Column: "sender", Value: world.Text("AGENT")}}}},
			}},
		}},
	}
	if diff := cmp.Diff(milestones, got.GetEvaluation().GetMilestones(), protocmp.Transform()); diff != "" {
		t.Errorf("milestones (-want +got):\n%s", diff)
	}
}

func TestScenarioErrors(t *testing.T) {
	s := sample(t)
	for _, names := range [][2]string{{"on", ""}, {"off", "_all_tools"}} {
		if got, err := s.Scenario(names[0], names[1]); err == nil {
			t.Errorf("Scenario(%q, %q) = %v, want an error", names[0], names[1], got)
		}
	}
	for old, changed := range map[string]string{
		"update_similarity":       "likeness",
		"column_close_similarity": "likeness",
		`"wifi": false`:           `"wireless": false`,
		`["CONTACT"]`:             `["FRIEND"]`,
		`"TOOL_NAME_SCRAMBLED"`:   `"TOOL_GONE"`,
		`"index": 2`:              `"index": 3`,
		`"sender": "SYSTEM"`:      `"sender": "NOBODY"`,
		`"b": 1`:                  `"b": "wide"`,
		`"longitude": 2`:          `"altitude": 2`,
	} {
		s, err := ReadScenarios(strings.NewReader(strings.Replace(scenariosSample, old, changed, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.All(); err == nil {
			t.Errorf("scenarios with %s: got no error, want one", changed)
		}
	}
}

func TestDecodeTrajectory(t *testing.T) {
	got, err := sample(t).decodeTrajectory(line{number: 4, raw: []byte(`{"scenario": "off", "variant": "", "label": "follow",
		"agent": [{"calls": [{"id": "c", "tool": "set_wifi_status", "arguments": {"on": 1.0, "a":1e2}}]}, {"say": "Done."}], "user": [],
		"api": [{"url": "https://x", "params": {"q": 1}, "response": [1.50]}],
		"messages": [{"index": 3, "sender": "AGENT", "recipient": "EXECUTION_ENVIRONMENT", "content": "x", "openai_tool_call_id": "c"}],
		"versions": {"SETTING": [{"index": 4, "rows": []}]},
		"result": {"milestone_similarity": 0.5, "minefield_similarity": 0, "similarity": 0.5, "turn_count": 3,
			"milestone_mapping": {"0": [4, 0.25]}, "minefield_mapping": {}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := &setupv1.Setup{
		OracleScript: []*worldv1.Turn{
			{Calls: []*worldv1.ToolCall{{Id: "c", Tool: "set_wifi_status", ArgumentsJson: `{"on": 1.0, "a":1e2}`}}},
			{Say: "Done."},
		},
		Recordings: []*setupv1.RecordedAnswer{{Url: "https://x", ParamsJson: `{"q": 1}`, ResponseJson: "[1.50]"}},
	}
	setup := got.scenario.GetSetup()
	played := &setupv1.Setup{OracleScript: setup.GetOracleScript(), UserScript: setup.GetUserScript(), Recordings: setup.GetRecordings()}
	if diff := cmp.Diff(want, played, protocmp.Transform()); diff != "" {
		t.Errorf("scripts (-want +got):\n%s", diff)
	}
	if setup.GetName() != "off.4" || got.compat {
		t.Errorf("name and compat: got %q and %v, want off.4 and false", setup.GetName(), got.compat)
	}
	if match := got.want.Milestones[0]; match != (recordedMatch{index: 4, similarity: 0.25}) {
		t.Errorf("milestone 0: got %v, want message 4, 0.25", match)
	}
	whole := got.scoring()
	if len(whole.messages) != 4 || len(whole.tables) != 2 || whole.tables[1].GetIndex() != 4 {
		t.Errorf("whole trajectory: got %d messages and the tables %v, want 4 messages and a last version at 4", len(whole.messages), whole.tables)
	}
}

func TestDecodeToolCases(t *testing.T) {
	single, err := decodeCall([]byte(`{"world": "base", "setup_calls": [{"tool": "a", "arguments": "{}"}], "tool": "b",
		"arguments": "{\"x\": 1.0}", "sender": "USER", "content": "None", "exception": null, "tool_trace": ["t"],
		"conversation_active": false, "changed": {"CONTACT": []}, "api": []}`))
	if err != nil {
		t.Fatal(err)
	}
	id := defaultCallID
	got, want := single.answers[0], answer{id: &id, content: "None", trace: []string{"t"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(answer{})); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if single.sender != user || single.unchecked || single.zone != defaultZone || len(single.changed) != 1 || *single.setup[0].id != "setup_0" {
		t.Errorf("case: got %+v, want one of the user with a changed table", single)
	}
	source, err := decodeSource([]byte(`{"expect": "best_effort", "world": "base", "setup_calls": [], "source": "f(1)", "raises": "E", "api": []}`))
	if err != nil {
		t.Fatal(err)
	}
	if names := source.sourceTools(); !source.unchecked || source.calls[0].id != nil || len(names) != 1 || names[0] != "f" {
		t.Errorf("source: got %+v that calls %v, want an unchecked case without id that calls f", source, names)
	}
	batch, err := decodeParallel([]byte(`{"world": "base", "setup_calls": [], "calls": [{"id": "c0", "tool": "a", "arguments": "{}"},
		{"id": "c1", "tool": "b", "arguments": "{}"}], "answers": [{"tool_call_id": "c1", "content": "x"}, {"tool_call_id": "c0", "content": "y"}],
		"conversation_active": [true, false], "changed": {}, "version_index": 17, "api": []}`))
	if err != nil {
		t.Fatal(err)
	}
	if *batch.answers[0].id != "c1" || !batch.answers[0].active || batch.answers[1].active || *batch.calls[1].id != "c1" {
		t.Errorf("parallel: got %+v, want the answers in their order", batch)
	}
	if _, err := decodeParallel([]byte(`{"answers": [{}], "conversation_active": []}`)); err == nil {
		t.Error("parallel calls without conversation_active: got no error, want one")
	}
}

func TestMessageOfCall(t *testing.T) {
	id := "c"
	got, err := call{id: &id, tool: "f", arguments: `{"a": [1, 2.0]}`}.message(5, agent)
	if err != nil {
		t.Fatal(err)
	}
	want := &worldv1.Message{
		Index: 5, Sender: agent, Recipient: environment, ToolCallId: &id, FunctionName: proto.String("f"),
		Content: proto.String("c_parameters = {'a': [1, 2.0]}\nc_response = f(**c_parameters)\nprint(repr(c_response))"),
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if _, err := (call{id: &id, tool: "f", arguments: "{"}).message(5, agent); !refused(err) {
		t.Errorf("message of a call with broken arguments: got error %v, want one that counts as refused", err)
	}
	if got, err = (call{source: "f()"}).message(0, user); err != nil || got.GetContent() != "f()" || got.ToolCallId != nil {
		t.Errorf("message of source: got %v and %v, want f() without an id", got, err)
	}
}
