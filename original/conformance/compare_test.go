package conformance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/row"
	"github.com/toolsandbox/toolsandbox/original/row/rowtest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func TestCompareMessages(t *testing.T) {
	message := func(change func(*worldv1.Message)) *worldv1.Message {
		m := &worldv1.Message{
			Index: 3, Sender: environment, Recipient: agent, ConversationActive: proto.Bool(true), VisibleTo: []worldv1.Role{environment, agent},
			Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{
				Text: proto.String("x"), Id: proto.String("c"), Name: proto.String("f"), Traces: []*worldv1.ToolTrace{{Tool: "t"}},
			}},
		}
		change(m)
		return m
	}
	want := message(func(*worldv1.Message) {})
	for field, change := range map[string]func(*worldv1.Message){
		"index":                func(m *worldv1.Message) { m.Index = 4 },
		"sender":               func(m *worldv1.Message) { m.Sender = user },
		"recipient":            func(m *worldv1.Message) { m.Recipient = user },
		"content":              func(m *worldv1.Message) { m.GetResult().Text = nil },
		"openai_tool_call_id":  func(m *worldv1.Message) { m.GetResult().Id = proto.String("d") },
		"openai_function_name": func(m *worldv1.Message) { m.GetResult().Name = nil },
		"conversation_active":  func(m *worldv1.Message) { m.ConversationActive = proto.Bool(false) },
		"tool_call_exception":  func(m *worldv1.Message) { m.GetResult().Exception = proto.String("") },
		"tool_trace":           func(m *worldv1.Message) { m.GetResult().Traces = nil },
		"visible_to":           func(m *worldv1.Message) { m.VisibleTo = m.VisibleTo[:1] },
	} {
		var c comparison
		c.messages([]*worldv1.Message{want}, []*worldv1.Message{message(change)})
		if len(c.differences) != 1 || c.differences[0].Field != "message 3, "+field {
			t.Errorf("another %s: got %+v, want this one difference", field, c.differences)
		}
	}
	var c comparison
	c.messages([]*worldv1.Message{want, want}, []*worldv1.Message{want})
	if diff := cmp.Diff([]Difference{{Field: "messages", Want: "2", Got: "1"}}, c.differences); diff != "" {
		t.Errorf("a message too few (-want +got):\n%s", diff)
	}
}

func TestCompareVersions(t *testing.T) {
	contact := world.Contact
	row := func(name *worldv1.Value) []*worldv1.Row {
		return []*worldv1.Row{{Cells: []*worldv1.Value{name, world.Number(0.1)}}}
	}
	want := []*worldv1.Table{{Name: contact, Index: 5, Rows: row(world.Text("null"))}, {Name: contact, Index: 7}}
	got := []*worldv1.Table{{Name: contact, Index: 5, Rows: row(world.Null())}, {Name: contact, Index: 9}}
	var c comparison
	c.versions(want, want)
	c.versions(want, got)
	differences := []Difference{
		{Field: "CONTACT at 5", Want: `["null", 0.1]`, Got: "[null, 0.1]"},
		{Field: "CONTACT at 7", Want: "no rows", Got: "no version"},
		{Field: "CONTACT at 9", Want: "no version", Got: "no rows"},
	}
	if diff := cmp.Diff(differences, c.differences); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

func TestCompareResult(t *testing.T) {
	want := &recordedResult{
		Milestone: 0.5, Similarity: 0.5, TurnCount: 3,
		Milestones: recordedMapping{0: {index: 4, similarity: 1}, 1: {index: 5, similarity: 0.5}},
	}
	got := &busv1.Result{
		MilestoneSimilarity: 0.5 + 9e-7, Similarity: 0.6, TurnCount: 4,
		Milestones: []*busv1.Match{{Node: 0, Index: 4, Similarity: 1}, {Node: 2, Index: 5, Similarity: 0.5}},
	}
	var c comparison
	c.result(want, got)
	differences := []Difference{
		{Field: "similarity", Want: "0.5", Got: "0.6"},
		{Field: "turn_count", Want: "3", Got: "4"},
		{Field: "milestone_mapping[1]", Want: "message 5, similarity 0.5", Got: "not matched"},
		{Field: "milestone_mapping[2]", Want: "not matched", Got: "message 5, similarity 0.5"},
	}
	if diff := cmp.Diff(differences, c.differences); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

func TestCompareAnswers(t *testing.T) {
	trace := func(tool, result string) []string {
		return []string{`{"tool_name": "` + tool + `", "arguments": {"a": 1}, "result": ` + result + `}`}
	}
	message := func(content string, trace []string) []*worldv1.Message {
		m := rowtest.Read(environment, agent, row.Row{Content: &content, ToolTrace: trace})
		m.Index, m.ConversationActive = 16, proto.Bool(true)
		return []*worldv1.Message{m}
	}
	for name, test := range map[string]struct {
		content string
		trace   []string
		got     []*worldv1.Message
		want    []string
	}{
		"equal":           {"1.5", trace("f", "1.5"), message("1.5", trace("f", "1.5")), nil},
		"exact tool":      {"1.5", trace("f", "1.5"), message("1.5000000000000002", trace("f", "1.5000000000000002")), []string{"content", "tool_trace"}},
		"distance":        {"1.5", trace("calculate_lat_lon_distance", "1.5"), message("1.5000000009", trace("calculate_lat_lon_distance", "1.5000000009")), nil},
		"long distance":   {"1.5", trace("calculate_lat_lon_distance", "1.5"), message("1.500000002", trace("calculate_lat_lon_distance", "1.500000002")), []string{"content", "tool_trace"}},
		"conversion":      {"1e30", trace("unit_conversion", "1e30"), message("1.0000000000000002e+30", trace("unit_conversion", "1.0000000000000002e+30")), nil},
		"other tool":      {"1.5", trace("unit_conversion", "1.5"), message("1.5", trace("f", "1.5")), []string{"tool_trace"}},
		"no trace":        {"1.5", nil, message("1.5000000000000001", nil), []string{"content"}},
		"too many":        {"1.5", nil, append(message("1.5", nil), message("1.5", nil)...), []string{"answers"}},
		"another index":   {"1.5", nil, []*worldv1.Message{{Index: 17, Body: &worldv1.Message_Text{Text: "1.5"}, ConversationActive: proto.Bool(true)}}, []string{"index"}},
		"conversation":    {"1.5", nil, []*worldv1.Message{{Index: 16, Body: &worldv1.Message_Text{Text: "1.5"}}}, []string{"conversation_active"}},
		"missing content": {"", nil, []*worldv1.Message{{Index: 16, ConversationActive: proto.Bool(true)}}, []string{"content"}},
	} {
		var c comparison
		c.compareAnswers([]answer{{content: test.content, trace: test.trace, active: true}}, test.got, 16)
		var got []string
		for _, d := range c.differences {
			got = append(got, d.Field)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: fields that differ (-want +got):\n%s", name, diff)
		}
	}
}
