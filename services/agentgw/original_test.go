package agentgw_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// doubleEncodedCalls returns each provider's answer that calls contact_3 with a doubly encoded
// arguments object.
func doubleEncodedCalls() map[string]string {
	const (
		twice  = `"{\"name\": \"Ann\"}"`
		chat   = `{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"contact_3","arguments":%q}}]}}]}`
		gemini = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"contact_3","args":` + twice + `}}]}}]}`
	)
	return map[string]string{
		"openai":           fmt.Sprintf(chat, twice),
		"openai-responses": fmt.Sprintf(`{"output":[{"type":"function_call","call_id":"c","name":"contact_3","arguments":%q}]}`, twice),
		"anthropic":        `{"content":[{"type":"tool_use","id":"c","name":"contact_3","input":` + twice + `}],"stop_reason":"tool_use"}`,
		"google":           gemini,
		"vertex":           gemini,
		"cohere":           fmt.Sprintf(`{"message":{"tool_calls":[{"id":"c","function":{"name":"contact_3","arguments":%q}}]}}`, twice),
		"hermes":           completion(`<tool_call>{"name": "contact_3", "arguments": ` + twice + `}</tool_call>`),
		"mistral":          completion(`[TOOL_CALLS] [{"name": "contact_3", "arguments": ` + twice + `}]`),
		"cohere-prompted":  completion("Action: ```json\n[{\"tool_name\": \"contact_3\", \"parameters\": " + twice + "}]\n```"),
	}
}

// TestDoubleEncodedArguments checks that such calls run, whichever provider makes them.
func TestDoubleEncodedArguments(t *testing.T) {
	client := serve(t, allKeys(), natstest.Start(t))
	address, _ := servePlugin(t, answering(calls(&agentv1.ToolCall{Id: "c", Name: "contact_3", ArgumentsJson: `"{\"name\": \"Ann\"}"`})))
	requests := map[string]func() *agentgwv1.RespondRequest{"plug-in": func() *agentgwv1.RespondRequest { return ask(plugin(address, 0)) }}
	for p, body := range doubleEncodedCalls() {
		f := startProvider(t, always(http.StatusOK, body))
		requests[p] = func() *agentgwv1.RespondRequest { return askModel(p, f.URL) }
	}
	for who, request := range requests {
		for _, compat := range []bool{false, true} {
			asked := request()
			asked.RolloutId, asked.Compat = fmt.Sprintf("twice.%s.%t", who, compat), compat
			got, err := client.Respond(t.Context(), asked)
			if err != nil || len(got.GetMessages()) != 1 {
				t.Errorf("%s, compat %t: got %v and %v, want a call", who, compat, got, err)
				continue
			}
			content, tool := messagetext.Content(got.GetMessages()[0]), got.GetMessages()[0].GetCall().GetTool()
			const want = `_parameters = {"name": "Ann"}` // as it is spelled
			if tool != "search_contacts" || !strings.Contains(content, want) {
				t.Errorf("%s, compat %t: got %q, want a call of search_contacts with %s", who, compat, content, want)
			}
		}
	}
}

// TestLastMessageHidden checks that a model answers the visible messages if the last one is hidden.
func TestLastMessageHidden(t *testing.T) {
	client := serve(t, allKeys(), natstest.Start(t))
	for p := range models() {
		for _, compat := range []bool{false, true} {
			f := startProvider(t, always(http.StatusOK, textAnswer(p, "hello")))
			request := askModel(p, f.URL)
			request.RolloutId, request.Compat = fmt.Sprintf("hidden.%s.%t", p, compat), compat
			request.View = []*worldv1.Message{message(0, user, agent, "u"), message(1, agent, user, "a")}
			request.Index = 3 // message 2 is the user's, and hidden
			got, err := client.Respond(t.Context(), request)
			if err != nil || len(got.GetMessages()) != 1 || messagetext.Content(got.GetMessages()[0]) != "hello" {
				t.Errorf("%s, compat %t: got %v and %v, want the model's text", p, compat, got, err)
				continue
			}
			if offered := strings.Contains(f.bodies[0], `"tools"`); offered == (p == "openai") {
				t.Errorf("%s, compat %t: got tools: %t in %s", p, compat, offered, f.bodies[0])
			}
			request.RolloutId, request.Index = request.GetRolloutId()+".shown", 2 // nothing is hidden: the last message is for the user
			got, err = client.Respond(t.Context(), request)
			if err != nil || got.GetFailure().GetExceptionType() != "KeyError" || f.count() != 1 {
				t.Errorf("%s, compat %t, a message for somebody else: got %v and %v after %d requests, want a KeyError", p, compat, got, err, f.count())
			}
		}
	}
}
