package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// chat answers as a server of chat completions whose agent switches wifi off and whose user then ends the conversation.
func chat(t *testing.T) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []struct{ Role string }
			Tools    []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("request to %s: %v", r.URL, err)
			return
		}
		call := ""
		for _, tool := range request.Tools {
			switch {
			case tool.Function.Name == "end_conversation":
				call = `{"id":"call_1","type":"function","function":{"name":"end_conversation","arguments":"{}"}}`
			case tool.Function.Name == "set_wifi_status" && request.Messages[len(request.Messages)-1].Role == "user":
				call = `{"id":"call_1","type":"function","function":{"name":"set_wifi_status","arguments":"{\"on\": false}"}}`
			}
		}
		answer := `{"choices":[{"message":{"role":"assistant","content":"Wifi is off."}}]}`
		if call != "" {
			answer = `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[` + call + `]}}]}`
		}
		if _, err := w.Write([]byte(answer)); err != nil {
			t.Error(err)
		}
	}
}

// TestRunModel plays a scenario between a model and a user simulator, both behind one server.
func TestRunModel(t *testing.T) {
	server := httptest.NewServer(chat(t))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "out")
	var stdout, stderr bytes.Buffer
	code := Main([]string{
		"run", "--agent", "openai:m", "--user", "GPT_4_o_2024_05_13", "--base-url", server.URL + "/v1", "--scenarios", "turn_off_wifi", "--out", out,
	}, &stdout, &stderr)
	if code != 0 {
		t.Fatalf("got code %d, want 0:\n%s%s", code, &stdout, &stderr)
	}
	conversation, err := os.ReadFile(filepath.Join(out, "trajectories", "turn_off_wifi", "conversation.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"set_wifi_status", "Wifi is off."} {
		if !strings.Contains(string(conversation), want) {
			t.Errorf("conversation: got no %q in %s", want, conversation)
		}
	}
}

func TestModelFlagErrors(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--agent", "oracle", "--base-url", "http://h"}, "--base-url: given, but neither --agent nor --user is a model"},
		{[]string{"--agent", "openai:m", "--base-url", "h"}, `--base-url: base URL "h": expected http:// or https://`},
		{[]string{"--agent", "openai:m", "--user-base-url", "http://h"}, `--user-base-url: base URL "http://h": player "scripted" is no model`},
		{[]string{"--agent", "oracle", "--temperature", "1"}, "--temperature, --max-tokens: given, but --agent is no model"},
		{[]string{"--agent", "openai:m", "--temperature", "3"}, "--temperature: 3 given, expected 0 to 2"},
		{[]string{"--agent", "openai:m", "--max-tokens", "-1"}, "--max-tokens: -1 given, expected 1 or more"},
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(append([]string{"run"}, test.args...), &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("run %v: got code %d, %s, want 2 and %q", test.args, code, &stderr, test.want)
		}
	}
}
