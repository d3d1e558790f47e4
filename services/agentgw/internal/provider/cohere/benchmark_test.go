package cohere

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

// usual is a request of the usual size: 24 messages, among them calls and results, and 20 tools. With plans, two of the turns are known
// in the provider's own form.
func usual(plans bool) *provider.Query {
	query := &provider.Query{
		Model: &agentgwv1.Model{Model: "command-a-03-2025", Temperature: proto.Float64(0)}, Own: true, Native: map[int32][]byte{},
	}
	add := func(entry conversation.Entry) {
		entry.Index = int32(len(query.Transcript))
		query.Transcript = append(query.Transcript, entry)
	}
	add(conversation.Entry{Kind: conversation.System, Text: strings.Repeat("Be helpful. ", 20)})
	arguments := python.DictOf(python.Item{Key: "phone_number", Value: python.Str("+15551234567")}, python.Item{Key: "count", Value: python.Int(3)})
	for i := range 6 {
		id := fmt.Sprintf("search_contacts_%012d", i)
		add(conversation.Entry{Kind: conversation.User, Text: "Please send a message to the person whom I met yesterday."})
		if plans && i%3 == 0 {
			query.Native[int32(len(query.Transcript))] = fmt.Appendf(nil, `{"role":"assistant","tool_plan":"I will search for the contact.","tool_calls":[`+
				`{"id":%q,"type":"function","function":{"name":"search_contacts","arguments":"{\"phone_number\": \"+15551234567\", \"count\": 3}"}}]}`, id)
		}
		add(conversation.Entry{Kind: conversation.Calling, ID: id, Name: "search_contacts", Arguments: arguments})
		add(conversation.Entry{Kind: conversation.Result, ID: id, Name: "search_contacts", Text: strings.Repeat("{'name': 'Ada', 'is_self': False} ", 6)})
		if i < 5 {
			add(conversation.Entry{Kind: conversation.Assistant, Text: "I found <several> people. Which one do you mean?"})
		}
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

// BenchmarkEncode encodes requests of the usual size.
func BenchmarkEncode(b *testing.B) {
	for _, plans := range []bool{false, true} {
		b.Run(fmt.Sprintf("plans=%t", plans), func(b *testing.B) {
			query := usual(plans)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (Codec{}).Encode(query); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecode decodes an answer with two calls.
func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"id":"c14c80c3-18eb-4519-9460-6c92edd8cfb4","finish_reason":"TOOL_CALL","message":{"role":"assistant",` +
		`"tool_plan":"I will search for the contact and ask whether wifi is on.","tool_calls":[` +
		`{"id":"search_contacts_c3e2r2k9","type":"function","function":{"name":"search_contacts","arguments":"{\"name\": \"Ada\", \"is_self\": false}"}},` +
		`{"id":"get_wifi_status_9vxq1k2m","type":"function","function":{"name":"get_wifi_status","arguments":"{}"}}]},` +
		`"usage":{"billed_units":{"input_tokens":120,"output_tokens":60},"tokens":{"input_tokens":1200,"output_tokens":80},"cached_tokens":1024}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Codec{}).Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}
