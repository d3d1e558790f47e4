package google

import (
	"fmt"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// BenchmarkEncode encodes 24 messages and 20 tools. Every other call is one of the provider's own turns, which goes back as it came.
func BenchmarkEncode(b *testing.B) {
	query := &provider.Query{
		Model: &agentgwv1.Model{Model: "gemini-2.5-pro", MaxTokens: 1024}, Native: make(map[int32][]byte), Own: true,
		Transcript: []conversation.Entry{{Kind: conversation.System, Text: "Do not guess values: ask for them."}},
	}
	add := func(e conversation.Entry) {
		e.Index = int32(len(query.Transcript))
		query.Transcript = append(query.Transcript, e)
	}
	arguments := python.DictOf(python.Item{Key: "name", Value: python.Str("Jane <Doe>")}, python.Item{Key: "amount", Value: python.Int(5)})
	for i := range 6 {
		if i%2 == 0 {
			query.Native[int32(len(query.Transcript)+1)] = []byte(`[{"functionCall":{"id":"a","name":"tool_1","args":{"name":"Jane <Doe>","amount":5}},"thoughtSignature":"Q2F0"}]`)
		}
		add(conversation.Entry{Kind: conversation.User, Text: "Please add Jane to my contacts, and tell me when it is done."})
		add(conversation.Entry{Kind: conversation.Calling, RowID: id("a"), Name: "tool_1", Arguments: arguments})
		add(conversation.Entry{Kind: conversation.Result, RowID: id("a"), Name: "tool_1", Text: "{'person_id': '9d1f4b9e', 'name': 'Jane'}"})
		if i < 5 {
			add(conversation.Entry{Kind: conversation.Assistant, Text: "Jane is one of your contacts now. What else may I do?"})
		}
	}
	for i := range 20 {
		query.Tools = append(query.Tools, &worldv1.Tool{
			Name: fmt.Sprintf("tool_%d", i), Description: "Add a contact to the contact book.\nBoth fields are needed.",
			ParametersJson: `{"type": "object", "properties": {"name": {"type": "string", "description": "Name of the contact"}, ` +
				`"phone_number": {"type": "string", "description": "Number with its country's code"}, "amount": {"type": "number", "description": "How often"}}, ` +
				`"required": ["name", "phone_number"]}`,
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Codec{}).Encode(query); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecode reads an answer with two calls.
func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"candidates": [{"content": {"parts": [{"text": "Let me see."}, {"functionCall": {"name": "search_contacts", "args": {"name": "Jane", ` +
		`"phone_number": "+15550009999"}}, "thoughtSignature": "Q2F0"}, {"functionCall": {"name": "shift_timestamp", "args": {"timestamp": 1716399000, "days": 3}}}], ` +
		`"role": "model"}, "finishReason": "STOP", "index": 0, "avgLogprobs": -0.01}], "usageMetadata": {"promptTokenCount": 310, "candidatesTokenCount": 25, ` +
		`"totalTokenCount": 335, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 310}]}, "modelVersion": "gemini-2.5-pro", "responseId": "x1Yz"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Codec{}).Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}
