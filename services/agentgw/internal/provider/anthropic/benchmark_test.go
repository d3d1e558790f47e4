package anthropic

import (
	"fmt"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// benchQuery is a turn late in a rollout: 24 messages with calls and results, 20 tools.
func benchQuery() *provider.Query {
	q := &provider.Query{
		Model:      &agentgwv1.Model{Model: "m"},
		Own:        true,
		Transcript: []conversation.Entry{{Kind: conversation.System, Text: "Ask for what you do not know. Call tools one after the other where one needs another's result."}},
	}
	add := func(entry conversation.Entry) {
		entry.Index = int32(len(q.Transcript))
		q.Transcript = append(q.Transcript, entry)
	}
	for turn := 0; len(q.Transcript) < 24; turn++ {
		call := fmt.Sprintf("toolu_%024d", turn)
		add(conversation.Entry{Kind: conversation.User, Text: "Please tell Homer that I come at five, and remind me of it an hour before that."})
		add(conversation.Entry{Kind: conversation.Calling, RowID: &call, Name: "tool_3", Arguments: python.DictOf(
			python.Item{Key: "name", Value: python.Str("Homer S")}, python.Item{Key: "limit", Value: python.Int(5)},
		)})
		add(conversation.Entry{Kind: conversation.Result, RowID: &call, Text: `[{'person_id': '9e137f06-916a-5310-8174-cf0b7e9f7054', 'name': 'Homer S', 'phone_number': '+10000000000'}]`})
		add(conversation.Entry{Kind: conversation.Assistant, Text: "I have told him. Shall I remind you at four o'clock?"})
	}
	for i := range 20 {
		q.Tools = append(q.Tools, &worldv1.Tool{
			Name: fmt.Sprintf("tool_%d", i), Description: "Searches the contacts by any of their fields and returns those that match all that are given.",
			ParametersJson: `{"type":"object","properties":{"name":{"type":"string","description":"Name of the person, or a part of it"},` +
				`"phone_number":{"type":"string","description":"Phone number in international form"},"limit":{"type":"integer","description":"The most rows to return"}},"required":["name"]}`,
		})
	}
	return q
}

func BenchmarkEncode(b *testing.B) {
	q := benchQuery()
	b.ReportAllocs()
	for b.Loop() {
		got, err := Codec{}.Encode(q)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(got.Body)))
	}
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"id":"msg_013Zva2CMHLNnXjNJJKqJ2EF","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"I look both of them up."},` +
		`{"type":"tool_use","id":"toolu_01A09q90qw90lq917835lq9","name":"search_contacts","input":{"name":"Homer S","limit":5}},` +
		`{"type":"tool_use","id":"toolu_01A09q90qw90lq917835lq8","name":"search_reminder","input":{"content":"four o'clock","limit":1}}],` +
		`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":2095,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":103}}`)
	b.ReportAllocs()
	for b.Loop() {
		got, err := Codec{}.Decode(body)
		if err != nil || len(got.Calls) != 2 {
			b.Fatalf("got %+v and %v, want two calls", got, err)
		}
	}
}
