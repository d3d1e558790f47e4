package conformance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/original/importer"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	user        = worldv1.Role_ROLE_USER
	agent       = worldv1.Role_ROLE_AGENT
	environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

// scenariosSample is a file of scenarios with one base scenario and one variant.
const scenariosSample = `{"now": 100.5, "timezone": "UTC", "scenarios": [{
	"name": "off", "max_messages": 7, "tables": {"SETTING": [{"index": 0, "rows": []}]},
	"messages": [
		{"index": 0, "sender": "SYSTEM", "recipient": "AGENT", "content": "s", "conversation_active": true},
		{"index": 1, "sender": "USER", "recipient": "AGENT", "content": "demo", "visible_to": ["USER"]},
		{"index": 2, "sender": "USER", "recipient": "AGENT", "content": "go"}],
	"milestones": {"nodes": [], "edges": []}, "minefields": {"nodes": [], "edges": []},
	"variants": {"": {"tools": ["set_wifi_status"], "denied": null, "augmentations": [], "categories": ["ONE"]}}}]}`

func sample(t *testing.T) scenarioLookup {
	t.Helper()
	scenarios, err := importer.Read("scenarios.json", []byte(scenariosSample))
	if err != nil {
		t.Fatal(err)
	}
	return scenarios.Scenario
}

func TestDecodeTrajectory(t *testing.T) {
	got, err := decodeTrajectory(sample(t), line{number: 4, raw: []byte(`{"scenario": "off", "variant": "", "label": "follow",
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
		OracleScript: []*worldv1.ScriptTurn{
			{Calls: []*worldv1.ToolCall{{Id: proto.String("c"), Tool: "set_wifi_status", ArgumentsJson: `{"on": 1.0, "a":1e2}`}}},
			{Say: "Done."},
		},
		Recordings: []*setupv1.RecordedAnswer{{Url: "https://x", ParamsJson: `{"q": 1}`, ResponseJson: "[1.50]"}},
	}
	setup := got.Scenario.GetSetup()
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
	whole := got.ScoringCase()
	if len(whole.Messages) != 4 || len(whole.Tables) != 2 || whole.Tables[1].GetIndex() != 4 {
		t.Errorf("whole trajectory: got %d messages and the tables %v, want 4 messages and a last version at 4", len(whole.Messages), whole.Tables)
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
	source, err := decodeCall([]byte(`{"expect": "best_effort", "world": "base", "setup_calls": [], "source": "f(1)", "raises": "E", "api": []}`))
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
		Index: 5, Sender: agent, Recipient: environment,
		Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Id: &id, Name: proto.String("f"), Tool: "f", ArgumentsJson: `{"a": [1, 2.0]}`}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if _, err := (call{id: &id, tool: "f", arguments: "{"}).message(5, agent); !isRejection(err) {
		t.Errorf("message of a call with broken arguments: got error %v, want one that counts as refused", err)
	}
	if got, err = (call{source: "f()"}).message(0, user); err != nil || got.GetCode().GetSource() != "f()" || got.GetCode().Id != nil {
		t.Errorf("message of source: got %v and %v, want f() without an id", got, err)
	}
}
