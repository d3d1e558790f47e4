package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// modelProvider is a model provider that reasons, turns wifi off and reports it.
type modelProvider struct {
	agent  string
	flags  []string
	suffix string   // suffix of the base URL
	path   string   // path of its requests
	sends  []string // parts of the first request
	call   string
	kept   string // reasoning that the second request must return
	result string // the call's result in the second request
	text   string
}

func modelProviders() []modelProvider {
	return []modelProvider{
		{
			"openai-responses:gpt-5", []string{"--reasoning-effort", "low"}, "/v1", "/v1/responses",
			[]string{`"reasoning":{"effort":"low"}`, `"include":["reasoning.encrypted_content"]`, `"store":false`},
			`{"status":"completed","output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},` +
				`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"set_wifi_status","arguments":"{\"on\": false}","status":"completed"}],` +
				`"usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":400},"output_tokens":100,"output_tokens_details":{"reasoning_tokens":64}}}`,
			`"encrypted_content":"gAAA"`, `"call_id":"call_1","type":"function_call_output"}`,
			`{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Wifi is off."}]}],"usage":{"input_tokens":1,"output_tokens":1}}`,
		},
		{
			"anthropic:claude-sonnet-4-5", []string{"--thinking-budget", "2000"}, "", "/v1/messages",
			[]string{`"thinking":{"budget_tokens":2000,"type":"enabled"}`, `"max_tokens":18000`},
			`{"content":[{"type":"thinking","thinking":"hm","signature":"gAAA"},{"type":"tool_use","id":"toolu_1","name":"set_wifi_status","input":{"on":false}}],` +
				`"stop_reason":"tool_use","usage":{"input_tokens":600,"cache_read_input_tokens":400,"output_tokens":100}}`,
			`{"type":"thinking","thinking":"hm","signature":"gAAA"}`, `{"tool_use_id":"toolu_1",`,
			`{"content":[{"type":"text","text":"Wifi is off."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
		},
		{
			"anthropic:claude-opus-4-7", []string{"--reasoning-effort", "max"}, "", "/v1/messages",
			[]string{`"thinking":{"type":"adaptive"}`, `"output_config":{"effort":"max"}`, `"max_tokens":16000`},
			`{"content":[{"type":"thinking","thinking":"","signature":"gAAA"},{"type":"tool_use","id":"toolu_1","name":"set_wifi_status","input":{"on":false}}],` +
				`"stop_reason":"tool_use","usage":{"input_tokens":600,"cache_read_input_tokens":400,"output_tokens":100}}`,
			`{"type":"thinking","thinking":"","signature":"gAAA"}`, `{"tool_use_id":"toolu_1",`,
			`{"content":[{"type":"text","text":"Wifi is off."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
		},
		{
			"google:gemini-2.5-pro", []string{"--thinking-budget", "128"}, "/v1beta", "/v1beta/models/gemini-2.5-pro:generateContent",
			[]string{`"thinkingConfig":{"thinkingBudget":128}`},
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"set_wifi_status","args":{"on":false}},"thoughtSignature":"gAAA"}]}}],` +
				`"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":400,"candidatesTokenCount":36,"thoughtsTokenCount":64}}`,
			`"thoughtSignature":"gAAA"`, `{"functionResponse":{"name":"set_wifi_status"`,
			`{"candidates":[{"content":{"parts":[{"text":"Wifi is off."}]}}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`,
		},
		{
			"cohere:command-a-03-2025", []string{"--thinking-budget", "128"}, "/v2", "/v2/chat",
			[]string{`"thinking":{"type":"enabled","token_budget":128}`},
			`{"finish_reason":"TOOL_CALL","message":{"role":"assistant","tool_plan":"gAAA",` +
				`"tool_calls":[{"id":"set_1","type":"function","function":{"name":"set_wifi_status","arguments":"{\"on\": false}"}}]},` +
				`"usage":{"tokens":{"input_tokens":1000,"output_tokens":100},"cached_tokens":400}}`,
			`"tool_plan":"gAAA"`, `"tool_call_id":"set_1"`,
			`{"finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"Wifi is off."}]},"usage":{"tokens":{"input_tokens":1,"output_tokens":1}}}`,
		},
	}
}

// TestRunProviders runs a scenario with each wire format that supports reasoning, and checks score
// and costs.
func TestRunProviders(t *testing.T) {
	t.Parallel()
	for _, f := range modelProviders() {
		t.Run(f.agent, func(t *testing.T) {
			t.Parallel()
			var count atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests := count.Add(1)
				body, err := io.ReadAll(r.Body)
				want, answer := f.sends, f.call
				if requests > 1 {
					want, answer = append([]string{f.kept, f.result}, f.sends...), f.text
				}
				for _, part := range want {
					if err != nil || r.URL.Path != f.path || !strings.Contains(string(body), part) {
						t.Errorf("request %d to %s: got %s and %v, want %s in it", requests, r.URL.Path, body, err, part)
					}
				}
				if _, err := io.WriteString(w, answer); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			var stdout, stderr bytes.Buffer
			args := append([]string{
				"run", "--agent", f.agent, "--base-url", server.URL + f.suffix, "--probe=false", "--scenarios", "turn_off_wifi", "--out", filepath.Join(t.TempDir(), "out"),
			}, f.flags...)
			if code := Main(args, &stdout, &stderr); code != 0 {
				t.Fatalf("got code %d, want 0:\n%s%s", code, &stdout, &stderr)
			}
			for _, want := range []string{"2/2", "models: 1,001 tokens in (400 cached), 101 out", "about $0.00"} {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("got %s, want %q", &stdout, want)
				}
			}
		})
	}
}
