package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// answered is an answer with reasoning and two calls.
const answered = `{"id":"resp_1","object":"response","created_at":1720000000,"status":"completed","background":false,"error":null,` +
	`"incomplete_details":null,"instructions":null,"max_output_tokens":null,"model":"o4-mini-2025-04-16","output":[` +
	`{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAABoISQ24OyVRYbkYfukdJoqdzWT","summary":[]},` +
	`{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"name\": \"Ada\", \"is_self\": false}","call_id":"call_1","name":"search_contacts"},` +
	`{"id":"fc_2","type":"function_call","status":"completed","arguments":"{}","call_id":"call_2","name":"get_wifi_status"}],` +
	`"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":"low","summary":null},"service_tier":"default","store":false,` +
	`"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled",` +
	`"usage":{"input_tokens":1200,"input_tokens_details":{"cached_tokens":1024},"output_tokens":60,"output_tokens_details":{"reasoning_tokens":32},` +
	`"total_tokens":1260},"user":null,"metadata":{}}`

// benchmarkQuery asks what is usual: 24 messages, among them calls, results and one turn with reasoning, and 20 tools.
func benchmarkQuery() *provider.Query {
	query := &provider.Query{Model: &agentgwv1.Model{Model: "o4-mini"}, Own: true, Native: map[int32][]byte{
		2: []byte(`[{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAABoISQ24OyVRYbkYfukdJoqdzWT","summary":[]},` +
			`{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"name\": \"Ada\"}","call_id":"call_1","name":"search_contacts"}]`),
	}}
	arguments := python.DictOf(python.Item{Key: "phone_number", Value: python.Str("+15551234567")}, python.Item{Key: "count", Value: python.Int(3)})
	query.Transcript = append(query.Transcript, conversation.Entry{Kind: conversation.System, Text: strings.Repeat("Be helpful. ", 20)})
	for i := range 6 {
		call := fmt.Sprintf("call_%024d", i)
		query.Transcript = append(query.Transcript,
			conversation.Entry{Kind: conversation.User, Text: "Please send a message to the person whom I met yesterday."},
			conversation.Entry{Kind: conversation.Calling, ID: call, Name: "search_contacts", Arguments: arguments},
			conversation.Entry{Kind: conversation.Result, ID: call, Name: "search_contacts", Text: strings.Repeat("{'name': 'Ada', 'is_self': False} ", 6)},
			conversation.Entry{Kind: conversation.Assistant, Text: "I found <several> people. Which one do you mean?"},
		)
	}
	query.Transcript = query.Transcript[:24]
	for i := range query.Transcript {
		query.Transcript[i].Index = int32(i)
	}
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

// BenchmarkDecode decodes an answer with reasoning and two calls, and the same with the tools that the provider repeats in each answer.
func BenchmarkDecode(b *testing.B) {
	tools := make([]string, 20)
	for i, t := range benchmarkQuery().Tools {
		tools[i] = fmt.Sprintf(`{"type":"function","name":%q,"description":%q,"parameters":%s,"strict":false}`, t.GetName(), t.GetDescription(), t.GetParametersJson())
	}
	for name, body := range map[string]string{
		"Plain": answered, "Tools": strings.Replace(answered, `"tools":[]`, `"tools":[`+strings.Join(tools, ",")+"]", 1),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (Codec{}).Decode([]byte(body)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
