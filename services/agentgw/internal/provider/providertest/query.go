// Package providertest has the benchmarks that all wire formats share, so that their figures
// compare.
package providertest

import (
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	messages = 24
	tools    = 20
	tool     = "search_contacts"
)

// Query is a query late in a rollout: 24 messages, among them six calls with their results, and 20
// tools. native returns the native form of a turn with the call of an id. If it is not nil, every
// other calling turn has one.
func Query(native func(call string) string) *provider.Query {
	q := &provider.Query{Model: &agentgwv1.Model{Model: "m"}, Official: true, Native: make(map[int32][]byte)}
	add := func(entry conversation.Entry) {
		entry.Index = int32(len(q.Transcript))
		q.Transcript = append(q.Transcript, entry)
	}
	add(conversation.Entry{Kind: conversation.System, Text: strings.Repeat("Do not guess values: ask for them. ", 7)})
	arguments := python.DictOf(python.Item{Key: "phone_number", Value: python.Str("+15551234567")}, python.Item{Key: "limit", Value: python.Int(3)})
	for i := 0; len(q.Transcript) < messages; i++ {
		call := fmt.Sprintf("call_%024d", i)
		add(conversation.Entry{Kind: conversation.User, Text: "Please send a message to the person whom I met yesterday."})
		if native != nil && i%2 == 0 {
			q.Native[int32(len(q.Transcript))] = []byte(native(call))
		}
		add(conversation.Entry{Kind: conversation.ToolCall, ID: call, RowID: &call, Name: tool, Arguments: arguments})
		add(conversation.Entry{Kind: conversation.Result, ID: call, RowID: &call, Name: tool, Text: strings.Repeat("{'name': 'Ada', 'is_self': False} ", 6)})
		if len(q.Transcript) < messages {
			add(conversation.Entry{Kind: conversation.Assistant, Text: "I found <several> people. Which one do you mean?"})
		}
	}
	for i := range tools {
		q.Tools = append(q.Tools, &worldv1.Tool{
			Name: fmt.Sprintf("%s_%d", tool, i), Description: strings.Repeat("Search for a contact by what is known of it. ", 5),
			ParametersJson: `{"type":"object","properties":{"name":{"type":"string","description":"Name of the contact."},` +
				`"phone_number":{"type":"string","description":"Number with country code."},"limit":{"type":"integer","description":"The most rows to return."}},"required":["name"]}`,
		})
	}
	return q
}
