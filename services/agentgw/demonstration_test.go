package agentgw_test

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// instruction is the simulated user's goal in demonstrationView.
const instruction = "You want the rent."

// demonstrationView is the view of a user whose demonstrations contain two parallel calls of its
// own tool and an end. The first call succeeds, the second fails.
func demonstrationView() []*worldv1.Message {
	source := func(id, on string) string {
		return id + "_parameters = {'on': " + on + "}\n" + id + "_response = set_wifi_status(**" + id + "_parameters)\nprint(repr(" + id + "_response))"
	}
	answer := func(index int32, content, id string) *worldv1.Message {
		m := message(index, environment, user, content)
		m.GetResult().Id, m.GetResult().Name = &id, proto.String("set_wifi_status")
		return m
	}
	failed := answer(5, "PermissionError: not now", "example_2")
	failed.GetResult().Exception = failed.GetResult().Text
	view := []*worldv1.Message{
		message(0, user, agent, "Weather in Braga?"),
		message(1, agent, user, "Could you switch wifi?"),
		call(2, user, source("example_1", "True"), "example_1", "set_wifi_status"),
		call(3, user, source("example_2", "False"), "example_2", "set_wifi_status"),
		answer(4, "None", "example_1"), failed,
		message(6, user, agent, "Half of it."),
		message(7, user, environment, "end_conversation()"),
	}
	for _, m := range view {
		m.VisibleTo = []worldv1.Role{user}
	}
	return append(view, message(8, system, user, instruction), message(9, user, agent, "My rent?"), message(10, agent, user, "Wifi is off."))
}

// TestDemonstratedCalls plays a user with its own tool whose demonstrations contain calls. Each
// provider and each prompt gets them with their results, in order.
func TestDemonstratedCalls(t *testing.T) {
	const cut = "Wifi is off." // the last text of the conversation
	tools := []*worldv1.Tool{
		{Name: "set_wifi_status", ExecutionName: "set_wifi_status", ParametersJson: `{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}`},
		{Name: "end_conversation", ExecutionName: "end_conversation", ParametersJson: `{"type":"object","properties":{}}`},
	}
	client := serve(t, allKeys(), natstest.Start(t))
	for p, want := range map[string][]string{
		"openai": {
			`"arguments":"{\"on\": true}"`, `"arguments":"{\"on\": false}"`, `"None"`, `"PermissionError: not now"`},
		"openai-responses": {
			`"example_1"`, `"example_2"`, `"function_call_output"`, `"function_call_output"`},
		"anthropic": {
			`"tool_use"`, `"tool_use"`, `"tool_result"`, `"is_error":true`},
		"google": {
			`"functionCall"`, `"functionCall"`, `"functionResponse"`, `None`, `PermissionError: not now`},
		"cohere": {`"example_1"`, `"example_2"`, `None`, `PermissionError: not now`},
		"hermes": {
			`tool_call`, `true`, `tool_call`, `false`, `tool_response`, `None`, `PermissionError: not now`},
		"mistral": {`[TOOL_CALLS]`, `true`, `false`, `[TOOL_RESULTS]`, `None`, `PermissionError: not now`},
		"plain": {
			`YOU: [CALL] {\"name\": \"set_wifi_status\", \"arguments\": {\"on\": true}}`,
			`YOU: [CALL] {\"name\": \"set_wifi_status\", \"arguments\": {\"on\": false}}`,
			`RESULT: None`, `RESULT: PermissionError: not now`},
	} {
		t.Run(p, func(t *testing.T) {
			f := startProvider(t, always(http.StatusBadRequest, "{}"))
			request := askModel(p, f.URL)
			request.RolloutId = "demonstrated." + p
			request.Role, request.View, request.Index, request.Tools = user, demonstrationView(), 11, tools
			if _, err := client.Respond(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			if f.count() != 1 {
				t.Fatalf("got %d requests, want 1", f.count())
			}
			rest := f.bodies[0]
			rest = rest[max(0, strings.Index(rest, "Weather in Braga?")):] // some say before it which tools there are
			wanted := append([]string{"Weather in Braga?", "Could you switch wifi?"}, want...)
			for _, text := range append(wanted, "Half of it.", "My rent?", cut) {
				_, after, found := strings.Cut(rest, text)
				if !found {
					t.Fatalf("got %s, want %q in it, in this order", f.bodies[0], text)
				}
				rest = after
			}
			if n := strings.Count(f.bodies[0], instruction); n != 1 {
				t.Errorf("got %s, want the instruction once, not %d times", f.bodies[0], n)
			}
			if shown, _, _ := strings.Cut(f.bodies[0], cut); strings.Contains(shown, "end_conversation()") {
				t.Errorf("got %s, want no call that ends", shown)
			}
		})
	}
}
