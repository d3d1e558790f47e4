package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// userTurn is one turn of the user's model: a text, or a call if tool is set.
type userTurn struct{ text, tool, arguments string }

// userModel is a local provider whose model plays the user, with its answer format.
type userModel struct {
	player string
	// result precedes the result of a tool.
	result string
	answer func(userTurn) string
}

// userModels returns all models.
func userModels() []userModel { return append(callingUsers(), promptedUsers()...) }

// callingUsers returns models that use their provider's interface for calls.
func callingUsers() []userModel {
	return []userModel{
		{"openai:m", `"role":"tool"`, func(u userTurn) string {
			if u.tool == "" {
				return fmt.Sprintf(`{"choices": [{"message": {"content": %q}, "finish_reason": "stop"}]}`, u.text)
			}
			return fmt.Sprintf(`{"choices": [{"message": {"content": null, "tool_calls": [{"id": "u_%s", "type": "function", "function": {"name": %q, "arguments": %q}}]}, "finish_reason": "tool_calls"}]}`,
				u.tool, u.tool, u.arguments)
		}},
		{"anthropic:m", `"tool_result"`, func(u userTurn) string {
			if u.tool == "" {
				return fmt.Sprintf(`{"content": [{"type": "text", "text": %q}], "stop_reason": "end_turn"}`, u.text)
			}
			return fmt.Sprintf(`{"content": [{"type": "tool_use", "id": "u_%s", "name": %q, "input": %s}], "stop_reason": "tool_use"}`, u.tool, u.tool, u.arguments)
		}},
		{"google:m", `"functionResponse"`, func(u userTurn) string {
			if u.tool == "" {
				return fmt.Sprintf(`{"candidates": [{"content": {"role": "model", "parts": [{"text": %q}]}, "finishReason": "STOP"}]}`, u.text)
			}
			return fmt.Sprintf(`{"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": %q, "args": %s}}]}, "finishReason": "STOP"}]}`, u.tool, u.arguments)
		}},
		{"openai-responses:m", `"function_call_output"`, func(u userTurn) string {
			if u.tool == "" {
				return fmt.Sprintf(`{"status": "completed", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": %q}]}]}`, u.text)
			}
			return fmt.Sprintf(`{"status": "completed", "output": [{"type": "function_call", "id": "f_%s", "call_id": "u_%s", "name": %q, "arguments": %q, "status": "completed"}]}`,
				u.tool, u.tool, u.tool, u.arguments)
		}},
		{"cohere:m", `"role":"tool"`, func(u userTurn) string {
			if u.tool == "" {
				return fmt.Sprintf(`{"finish_reason": "COMPLETE", "message": {"role": "assistant", "content": [{"type": "text", "text": %q}]}}`, u.text)
			}
			return fmt.Sprintf(`{"finish_reason": "TOOL_CALL", "message": {"role": "assistant", "tool_calls": [{"id": "u_%s", "type": "function", "function": {"name": %q, "arguments": %q}}]}}`,
				u.tool, u.tool, u.arguments)
		}},
	}
}

// promptedUsers returns models that write calls as text.
func promptedUsers() []userModel {
	completion := func(text string) string {
		return fmt.Sprintf(`{"choices": [{"text": %q, "finish_reason": "stop"}]}`, text)
	}
	return []userModel{
		{"mistral:m", `TOOL_RESULTS`, func(u userTurn) string {
			if u.tool == "" {
				return completion(u.text)
			}
			return completion(fmt.Sprintf(`[TOOL_CALLS] [{"name": %q, "arguments": %s}]`, u.tool, u.arguments))
		}},
		{"cohere-prompted:m", `results`, func(u userTurn) string {
			if u.tool == "" {
				return completion(u.text)
			}
			return completion(fmt.Sprintf("Action: ```json\n[{\"tool_name\": %q, \"parameters\": %s}]```", u.tool, u.arguments))
		}},
		{"hermes:m", `tool_response`, func(u userTurn) string {
			if u.tool == "" {
				return completion(u.text)
			}
			return completion(fmt.Sprintf("<tool_call>\n{\"arguments\": %s, \"name\": %q}\n</tool_call>", u.arguments, u.tool))
		}},
		{"plain:m", "RESULT: ", func(u userTurn) string {
			switch u.tool {
			case "":
				return completion(u.text + "\nASSISTANT: I go on for the other side")
			case "end_conversation":
				return completion("Thanks!\n[END]")
			}
			return completion(fmt.Sprintf(`[CALL] {"name": %q, "arguments": %s}`, u.tool, u.arguments))
		}},
	}
}

// start serves turns in order and returns the address and the requests so far.
func (m userModel) start(t *testing.T, turns []userTurn) (address string, requests func() []string) {
	t.Helper()
	var mu sync.Mutex
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("%s: read request: %v", m.player, err)
		}
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, string(body))
		if len(bodies) > len(turns) {
			t.Errorf("%s: request %d, want %d", m.player, len(bodies), len(turns))
			http.Error(w, "no more turns", http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, m.answer(turns[len(bodies)-1]))
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return bodies
	}
}

// ordered fails the test unless a text contains others in order.
func ordered(t *testing.T, name, text string, wanted ...string) {
	t.Helper()
	at := 0
	for _, want := range wanted {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Errorf("%s: got\n%s\nwant %q in it, after those before it of %q", name, text, want, wanted)
			return
		}
		at += i + len(want)
	}
}

// TestLongModelUserWithTools runs a user with its own tool, with every provider's interface and
// with prompts.
func TestLongModelUserWithTools(t *testing.T) {
	t.Parallel()
	const remind = "Sent. Remind me on Friday at nine in the morning to call him about the ceiling."
	turns := []userTurn{
		{text: "The landlord."},
		{tool: "send_message_with_phone_number", arguments: `{"phone_number": "+351225550102", "content": "The ceiling drips again, when can you come by?"}`},
		{text: remind},
		{tool: "end_conversation", arguments: "{}"},
	}
	for _, m := range userModels() {
		t.Run(m.player, func(t *testing.T) {
			t.Parallel()
			address, requests := m.start(t, turns)
			out := filepath.Join(t.TempDir(), "out")
			printed := toolsandbox(t, "run", "--probe=false", "--agent", "oracle", "--user", m.player, "--user-base-url", address, "--out", out, "lease_in_my_own_words")
			if !strings.Contains(strings.ReplaceAll(printed, " ", ""), "lease_in_my_own_words1.000") {
				t.Errorf("got\n%s\nwant a score of 1", printed)
			}
			run, err := os.ReadFile(filepath.Join(out, "run.json"))
			if err != nil || strings.Contains(string(run), "user_flags") {
				t.Errorf("run: got %v and\n%s\nwant no flag: the user keeps to what it was told", err, run)
			}
			got := requests()
			if len(got) != len(turns) {
				t.Fatalf("got %d requests, want %d", len(got), len(turns))
			}
			for i, body := range got {
				if !json.Valid([]byte(body)) {
					t.Errorf("request %d is no JSON: %s", i, body)
				}
				for _, hidden := range []string{"search_contacts", "add_reminder"} {
					if strings.Contains(body, hidden) {
						t.Errorf("request %d holds %s, which the agent alone has: %s", i, hidden, body)
					}
				}
				for _, tool := range []string{"send_message_with_phone_number", "end_conversation"} {
					if !strings.Contains(body, tool) && m.player != "plain:m" {
						t.Errorf("request %d does not hold %s, which the user has: %s", i, tool, body)
					}
				}
			}
			ordered(t, "request 1", got[0], "text him yourself")
			// The demonstrations are followed by the actual messages. The call has its result.
			ordered(t, "request 1", got[0], "text her.", "aunt Celeste", "if she wrote back", "text him myself", "Do you mean Rafael Quintela")
			ordered(t, "request 3", got[2], "The landlord.", "has the number +351225550102", "when can you come by", m.result)
		})
	}
}

// TestLongModelUserEnds runs users that can only end the conversation.
func TestLongModelUserEnds(t *testing.T) {
	t.Parallel()
	turns := []userTurn{{text: "The neighbour, he moved away."}, {tool: "end_conversation", arguments: "{}"}}
	for _, m := range userModels() {
		t.Run(m.player, func(t *testing.T) {
			t.Parallel()
			address, requests := m.start(t, turns)
			out := filepath.Join(t.TempDir(), "out")
			printed := toolsandbox(t, "run", "--probe=false", "--agent", "oracle", "--user", m.player, "--user-base-url", address, "--out", out, "which_mateo")
			if !strings.Contains(strings.ReplaceAll(printed, " ", ""), "which_mateo1.000") {
				t.Errorf("got\n%s\nwant a score of 1", printed)
			}
			if got := requests(); len(got) != len(turns) {
				t.Errorf("got %d requests, want %d", len(got), len(turns))
			} else {
				ordered(t, "request 2", got[1], "Remove Mateo", "Do you mean your friend", "he moved away", "is removed.")
				ordered(t, "request 2", got[1], "Have Mateo Silva, your neighbour, removed")
			}
		})
	}
}
