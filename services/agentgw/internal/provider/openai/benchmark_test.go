package openai

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// answered is an answer with two calls.
const answered = `{"id":"chatcmpl-1","object":"chat.completion","created":1720000000,"model":"gpt-4o-2024-05-13","choices":[{"index":0,"message":` +
	`{"role":"assistant","content":null,"tool_calls":[` +
	`{"id":"call_1","type":"function","function":{"name":"search_contacts","arguments":"{\"name\": \"Ada\", \"is_self\": false}"}},` +
	`{"id":"call_2","type":"function","function":{"name":"get_wifi_status","arguments":"{}"}}],"refusal":null,"annotations":[]},` +
	`"logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1200,"completion_tokens":60,"total_tokens":1260,` +
	`"prompt_tokens_details":{"cached_tokens":1024,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,` +
	`"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"service_tier":"default","system_fingerprint":"fp_1"}`

// benchmarkQuery asks what is usual: 24 messages, among them calls and results, and 20 tools.
func benchmarkQuery() *provider.Query {
	query := &provider.Query{Model: &agentgwv1.Model{Model: "gpt-4o", Temperature: proto.Float64(0)}, Own: true}
	query.Transcript = append(query.Transcript, conversation.Entry{Kind: conversation.System, Text: strings.Repeat("Be helpful. ", 20)})
	arguments := python.DictOf(python.Item{Key: "phone_number", Value: python.Str("+15551234567")}, python.Item{Key: "count", Value: python.Int(3)})
	for i := range 5 {
		call := fmt.Sprintf("call_%024d", i)
		query.Transcript = append(query.Transcript,
			conversation.Entry{Kind: conversation.User, Text: "Please send a message to the person whom I met yesterday."},
			conversation.Entry{Kind: conversation.Calling, ID: call, Name: "search_contacts", Arguments: arguments},
			conversation.Entry{Kind: conversation.Result, ID: call, Name: "search_contacts", Text: strings.Repeat("{'name': 'Ada', 'is_self': False} ", 6)},
			conversation.Entry{Kind: conversation.Assistant, Text: "I found <several> people. Which one do you mean?"},
		)
	}
	query.Transcript = append(query.Transcript, query.Transcript[1:4]...)
	for i := range 20 {
		query.Tools = append(query.Tools, &worldv1.Tool{
			Name: fmt.Sprintf("search_contacts_%d", i), Description: strings.Repeat("Search for a contact by what is known of it. ", 5),
			ParametersJson: `{"type":"object","properties":{"name":{"type":"string","description":"Name of the contact."},` +
				`"phone_number":{"type":"string","description":"Number with country code."},"is_self":{"type":"boolean","description":"Whether it is the user."}},"required":["name"]}`,
		})
	}
	return query
}

func BenchmarkEncode(b *testing.B) {
	query := benchmarkQuery()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Codec{}).Encode(query); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecode decodes an answer with two calls.
func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Codec{}).Decode([]byte(answered)); err != nil {
			b.Fatal(err)
		}
	}
}
