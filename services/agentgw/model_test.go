package agentgw_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const modelKey = "sk-very-secret"

// fakeProvider is a local HTTP provider. It records requests and answers with answer's results.
type fakeProvider struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	answer   func(n int) (status int, body string)
}

func startProvider(t *testing.T, answer func(n int) (int, string)) *fakeProvider {
	t.Helper()
	f := &fakeProvider{answer: answer}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read request: %v", err)
		}
		f.mu.Lock()
		f.requests, f.bodies = append(f.requests, r), append(f.bodies, string(body))
		code, text := f.answer(len(f.requests))
		f.mu.Unlock()
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeProvider) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

// always returns one answer for all requests.
func always(code int, body string) func(int) (int, string) {
	return func(int) (int, string) { return code, body }
}

// textAnswer returns a provider's answer with a text.
func textAnswer(p string, text string) string {
	const gemini = `{"candidates":[{"content":{"parts":[{"text":%q}]}}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}`
	return fmt.Sprintf(map[string]string{
		"openai":    `{"choices":[{"message":{"content":%q}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`,
		"anthropic": `{"content":[{"type":"text","text":%q}],"usage":{"input_tokens":3,"output_tokens":2}}`,
		"google":    gemini,
		"vertex":    gemini,
		"cohere":    `{"message":{"content":[{"type":"text","text":%q}]},"usage":{"tokens":{"input_tokens":3,"output_tokens":2}}}`,
		"openai-responses": `{"output":[{"type":"message","content":[{"type":"output_text","text":%q}]}],` +
			`"usage":{"input_tokens":3,"output_tokens":2}}`,
	}[p], text)
}

// models maps each provider to the header of its key.
func models() map[string]string {
	return map[string]string{
		"openai": "Authorization", "anthropic": "X-Api-Key",
		"google": "X-Goog-Api-Key", "vertex": "",
		"cohere": "Authorization", "openai-responses": "Authorization",
	}
}

// withKeys returns a configuration with its own environment.
func withKeys(environment map[string]string) agentgw.Config {
	cfg := agentgw.DefaultConfig()
	cfg.Getenv = func(name string) string { return environment[name] }
	cfg.ModelBaseURLs = []string{"*"} // the test's own
	return cfg
}

func allKeys() agentgw.Config {
	return withKeys(map[string]string{"OPENAI_API_KEY": modelKey, "ANTHROPIC_API_KEY": modelKey, "GEMINI_API_KEY": modelKey, "COHERE_API_KEY": modelKey})
}

// askModel returns a request to a model at an address, with up to two retries.
func askModel(p string, address string) *agentgwv1.RespondRequest {
	return ask(&agentgwv1.Player{Name: "model", Kind: &agentgwv1.Player_Model{
		Model: &agentgwv1.Model{Provider: p, Model: "m", BaseUrl: address, Attempts: 2, TimeoutMs: 5000},
	}})
}

func TestModel(t *testing.T) {
	client := serve(t, allKeys(), natstest.Start(t))
	for p, header := range models() {
		for _, role := range []worldv1.Role{agent, user} {
			f := startProvider(t, always(http.StatusOK, textAnswer(p, "hello")))
			request := askModel(p, f.URL)
			request.RolloutId = fmt.Sprintf("model.%s.%d", p, role)
			other := user
			if role == user {
				request.Role, other = user, agent
				request.View = []*worldv1.Message{message(0, system, user, "s"), message(1, user, agent, "u"), message(2, agent, user, "a")}
			}
			text := "hello"
			want := &agentgwv1.RespondResponse{
				Messages: []*worldv1.Message{{Index: 2, Sender: role, Recipient: other, Body: &worldv1.Message_Text{Text: text}, VisibleTo: []worldv1.Role{role, other}}},
				Usage:    &agentgwv1.Usage{InputTokens: 3, OutputTokens: 2},
			}
			for range 2 { // the second time from the record
				got, err := client.Respond(t.Context(), request)
				if err != nil {
					t.Fatalf("%s: %v", p, err)
				}
				if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", p, diff)
				}
			}
			if n := f.count(); n != 1 {
				t.Errorf("%s: got %d requests, want 1", p, n)
			}
			if got := f.requests[0].Header.Get(header); header != "" && !strings.HasSuffix(got, modelKey) {
				t.Errorf("%s: got header %s: %q, want the key", p, header, got)
			}
		}
	}
}

// TestModelRecovers checks that a provider's failure is not recorded and a model's is.
func TestModelRecovers(t *testing.T) {
	client := serve(t, allKeys(), natstest.Start(t))
	const p = "openai"
	f := startProvider(t, func(n int) (int, string) {
		if n == 1 {
			return 401, "not yet"
		}
		return 200, `{"choices":[{"message":{"tool_calls":[{"id":"1","function":{"name":"nothing","arguments":"{}"}}]}}]}`
	})
	request := askModel(p, f.URL)
	request.Compat = true
	for i, want := range []string{"PROVIDER RuntimeError 1", "MODEL KeyError 2", "MODEL KeyError 2"} {
		got, err := client.Respond(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		failure := got.GetFailure()
		if text := fmt.Sprint(strings.TrimPrefix(failure.GetClass().String(), "FAILURE_CLASS_"), " ", failure.GetExceptionType(), " ", f.count()); text != want {
			t.Errorf("attempt %d: got %s, want %s", i, text, want)
		}
	}
}

// TestModelMistakes checks that a model may make four mistakes in a row, and any number beside
// usable calls.
func TestModelMistakes(t *testing.T) {
	client := serve(t, allKeys(), natstest.Start(t))
	const p = "openai"
	answers := map[string]string{
		"unknown tool": `{"tool_calls":[{"id":"1","function":{"name":"nothing","arguments":"{}"}}]}`,
		"bad JSON":     `{"tool_calls":[{"id":"1","function":{"name":"setting_1","arguments":"{"}}]}`,
		"empty":        `{"content":null}`,
		"one is sound": `{"tool_calls":[{"id":"1","function":{"name":"setting_9","arguments":"{}"}},{"id":"2","function":{"name":"nothing","arguments":"{}"}}]}`,
	}
	for name, answer := range answers {
		f := startProvider(t, always(200, `{"choices":[{"message":`+answer+`}]}`))
		request := askModel(p, f.URL)
		request.RolloutId = "mistakes." + strings.ReplaceAll(name, " ", "-")
		request.View = append(request.View, message(2, agent, user, "fine"), message(3, user, agent, "go on"))
		for turn := 1; turn <= 5; turn++ {
			request.Index = int32(len(request.GetView()))
			got, err := client.Respond(t.Context(), request)
			if err != nil {
				t.Fatalf("%s, turn %d: %v", name, turn, err)
			}
			ended := got.GetFailure().GetClass() == agentgwv1.FailureClass_FAILURE_CLASS_MODEL
			if want := turn == 5 && name != "one is sound"; ended != want || !ended && len(got.GetMessages()) == 0 {
				t.Fatalf("%s, turn %d: got %v, want the end at turn 5 of those of which nothing was sound", name, turn, got)
			}
			request.View = append(request.View, got.GetMessages()...)
			next := int32(len(request.GetView()))
			if name == "empty" {
				request.View = append(request.View, message(next, user, agent, "hello?"))
			} else {
				request.View = append(request.View, message(next, environment, agent, "an error"))
			}
		}
	}
}

// TestModelMistakesCompat checks that compat counts only mistakes that the original does not
// accept.
func TestModelMistakesCompat(t *testing.T) {
	client := serve(t, allKeys(), natstest.Start(t))
	const chat, messages, gemini = "openai", "anthropic", "vertex"
	const arguments = `{"choices":[{"message":{"tool_calls":[{"id":"1","function":{"name":"setting_9","arguments":"[]"}}]}}]}`
	tests := map[string]struct {
		provider string
		answer   string
		ends     bool
	}{
		"an empty text":                {chat, `{"choices":[{"message":{"content":""},"finish_reason":"error"}]}`, false},
		"an empty list of calls":       {chat, `{"choices":[{"message":{"content":"","tool_calls":[]}}]}`, true},
		"null":                         {chat, `{"choices":[{"message":{"content":null}}]}`, true},
		"arguments that are no object": {chat, arguments, false},
		"an empty block":               {messages, `{"content":[{"type":"text","text":""}],"stop_reason":"end_turn"}`, false},
		"no block":                     {messages, `{"content":[],"stop_reason":"end_turn"}`, true},
		"a call that is cut off":       {messages, `{"content":[{"type":"tool_use","id":"a","name":"setting_9","input":{}}],"stop_reason":"max_tokens"}`, true},
		"an empty part":                {gemini, `{"candidates":[{"content":{"parts":[{"text":""}]}}]}`, false},
		"no part":                      {gemini, `{"candidates":[{"content":{"parts":[]}}]}`, true},
	}
	for name, test := range tests {
		f := startProvider(t, always(200, test.answer))
		for _, compat := range []bool{false, true} {
			if name == "an empty text" && !compat {
				continue // a failure of the server, which is asked again
			}
			request := askModel(test.provider, f.URL)
			request.Compat = compat
			request.RolloutId = fmt.Sprintf("compat.%s.%t", strings.ReplaceAll(name, " ", "-"), compat)
			for range 4 {
				next := int32(len(request.GetView()))
				request.View = append(request.View, message(next, agent, user, ""), message(next+1, user, agent, "hello?"))
			}
			request.Index = int32(len(request.GetView()))
			got, err := client.Respond(t.Context(), request)
			if err != nil {
				t.Errorf("%s, compat %t: %v", name, compat, err)
				continue
			}
			ended := got.GetFailure().GetClass() == agentgwv1.FailureClass_FAILURE_CLASS_MODEL
			if want := test.ends || !compat; ended != want || ended == (len(got.GetMessages()) > 0) {
				t.Errorf("%s, compat %t, for the fifth time: got %v, want the end: %t", name, compat, got, want)
			}
		}
	}
}

// TestModelNative checks that providers get their own native turns back, whichever replica made
// them.
func TestModelNative(t *testing.T) {
	conn := natstest.Connect(t, t.TempDir())
	for p, test := range map[string]struct{ answer, sent string }{
		"vertex": {
			`{"candidates":[{"content":{"parts":%s}}]}`,
			`[{"text":"Let me see."},{"functionCall":{"name":"setting_1","args":{}},"thoughtSignature":"s"}]`,
		},
		"anthropic": {
			`{"content":%s}`,
			`[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"a","name":"setting_1","input":{}}]`,
		},
		"openai-responses": {
			`{"output":[%s]}`,
			`{"encrypted_content":"e","id":"rs","summary":[],"type":"reasoning"},{"arguments":"{}","call_id":"a","name":"setting_1","type":"function_call"}`,
		},
		"openai": {
			`{"choices":[{"message":{%s,"tool_calls":[{"id":"a","type":"function","function":{"name":"setting_1","arguments":"{}"}}]}}]}`,
			`"reasoning_details":[{"text":"hm"}]`,
		},
		"cohere": {
			`{"message":%s}`,
			`{"role":"assistant","tool_plan":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"setting_1","arguments":"{}"}}]}`,
		},
	} {
		f := startProvider(t, func(n int) (int, string) {
			if n == 1 {
				return 200, fmt.Sprintf(test.answer, test.sent)
			}
			return 200, textAnswer(p, "done")
		})
		request := askModel(p, f.URL)
		request.RolloutId = fmt.Sprintf("native.%s", p)
		for range 2 {
			client := serve(t, allKeys(), natstest.Open(t, conn, bus.DefaultConfig()))
			got, err := client.Respond(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			request.View = append(request.View, got.GetMessages()...)
			answer := message(int32(len(request.GetView())), environment, agent, "True")
			if call := got.GetMessages()[0].GetCall(); call != nil {
				answer.GetResult().Id = call.Id
			}
			request.View = append(request.View, answer)
			request.Index = int32(len(request.GetView()))
		}
		if !strings.Contains(f.bodies[1], test.sent) {
			t.Errorf("%s, second request: got %s, want %s in it", p, f.bodies[1], test.sent)
		}
	}
}

// TestModelCost checks the recorded cost of a turn, also if the turn ends the rollout.
func TestModelCost(t *testing.T) {
	client := serve(t, allKeys(), natstest.Start(t))
	const chat, responses = "openai", "openai-responses"
	used := func(micros *int64) *agentgwv1.Usage {
		return &agentgwv1.Usage{InputTokens: 3, OutputTokens: 2, CostMicros: micros}
	}
	tests := map[string]struct {
		provider string
		model    string
		answer   string
		want     *agentgwv1.Usage
	}{
		"known":           {chat, "gpt-4o-2024-08-06", textAnswer(chat, "hello"), used(proto.Int64(28))},
		"other interface": {responses, "gpt-4o-2024-08-06", textAnswer(responses, "hello"), used(proto.Int64(28))},
		"unknown":         {chat, "qwen3", textAnswer(chat, "hello"), used(nil)},
		"nobody says":     {chat, "gpt-4o-2024-08-06", `{"choices":[{"message":{"content":"hello"}}]}`, &agentgwv1.Usage{}},
		"counts nothing": {chat, "gpt-4o-2024-08-06",
			`{"choices":[{"message":{"content":"hello"}}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, &agentgwv1.Usage{}},
		"too long": {chat, "gpt-4o-2024-08-06",
			`{"choices":[{"message":{"content":"` + strings.Repeat("x", 600<<10) + `"}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, used(proto.Int64(28))},
	}
	for name, test := range tests {
		f := startProvider(t, always(200, test.answer))
		request := askModel(test.provider, f.URL)
		request.RolloutId = "cost." + strings.ReplaceAll(name, " ", "-")
		request.Player.GetModel().Model = test.model
		got, err := client.Respond(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got.GetUsage(), protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestModelKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(modelKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := startProvider(t, always(200, textAnswer("openai", "hello")))
	record := natstest.Start(t)
	tests := map[string]struct {
		environment map[string]string
		base        string
		allowed     []string
		header      string
		failure     string
	}{
		"file":            {map[string]string{"OPENAI_API_KEY_FILE": file}, f.URL, nil, "Bearer " + modelKey, ""},
		"address":         {map[string]string{"OPENAI_API_KEY": modelKey, "OPENAI_BASE_URL": f.URL + "/"}, "", nil, "Bearer " + modelKey, ""},
		"no key there":    {nil, f.URL, nil, "", ""},
		"no key":          {nil, "", nil, "", "set OPENAI_API_KEY"},
		"no file":         {map[string]string{"OPENAI_API_KEY_FILE": file + "x"}, f.URL, nil, "", "read OPENAI_API_KEY_FILE"},
		"not allowed":     {nil, f.URL, []string{"https://elsewhere.invalid"}, "", "not among those that this gateway allows"},
		"not listed":      {map[string]string{"OPENAI_API_KEY": modelKey}, f.URL, []string{}, "", "not among those that this gateway allows"},
		"longer":          {map[string]string{"OPENAI_API_KEY": modelKey}, f.URL + ".evil.invalid", []string{f.URL}, "", "not among those that this gateway allows"},
		"of another":      {map[string]string{"ANTHROPIC_BASE_URL": f.URL}, f.URL, []string{}, "", "not among those that this gateway allows"},
		"allowed":         {nil, f.URL, []string{f.URL}, "", ""},
		"with a slash":    {nil, f.URL, []string{f.URL + "/"}, "", ""},
		"of the variable": {map[string]string{"OPENAI_API_KEY": modelKey, "OPENAI_BASE_URL": f.URL}, f.URL, []string{}, "Bearer " + modelKey, ""},
	}
	for name, test := range tests {
		cfg := withKeys(test.environment)
		if test.allowed != nil {
			cfg.ModelBaseURLs = test.allowed
		}
		request := askModel("openai", test.base)
		request.RolloutId = "keys." + strings.ReplaceAll(name, " ", "-")
		got, err := serve(t, cfg, record).Respond(t.Context(), request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if failure := got.GetFailure().GetDetail(); (failure == "") != (test.failure == "") || !strings.Contains(failure, test.failure) {
			t.Errorf("%s: got failure %q, want %q", name, failure, test.failure)
		}
		if test.failure == "" {
			if header := f.requests[len(f.requests)-1].Header.Get("Authorization"); header != test.header {
				t.Errorf("%s: got %q, want %q", name, header, test.header)
			}
		}
	}
	got, err := serve(t, withKeys(nil), record).Respond(t.Context(), askModel("vertex", ""))
	if err != nil || !strings.Contains(got.GetFailure().GetDetail(), "set GOOGLE_CLOUD_PROJECT") {
		t.Errorf("Vertex AI without a project: got %v and %v, want a failure that names the variable", got, err)
	}
}

// TestModelTurns checks views that do not end with the role's turn.
func TestModelTurns(t *testing.T) {
	client := serve(t, allKeys(), natstest.Start(t))
	f := startProvider(t, always(200, textAnswer("openai", "hello")))
	request := askModel("openai", f.URL)
	request.View = []*worldv1.Message{message(0, system, agent, "s")}
	got, err := client.Respond(t.Context(), request)
	if diff := cmp.Diff(&agentgwv1.RespondResponse{}, got, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("after a system message: got %v (-want +got):\n%s", err, diff)
	}
	request.View, request.Index = []*worldv1.Message{message(0, agent, user, "mine")}, 1
	if got, err = client.Respond(t.Context(), request); err != nil || got.GetFailure().GetExceptionType() != "KeyError" {
		t.Errorf("after its own message: got %v and %v, want a KeyError", got, err)
	}
	if n := f.count(); n != 0 {
		t.Errorf("got %d requests, want none", n)
	}
}

// BenchmarkModel measures one turn of a model that answers at once, including the record and local
// HTTP.
func BenchmarkModel(b *testing.B) {
	client := serve(b, allKeys(), natstest.Start(b))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(textAnswer("openai", "hello")))
	}))
	defer server.Close()
	var number atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			request := askModel("openai", server.URL)
			request.RolloutId = fmt.Sprint("bench.", number.Add(1))
			if _, err := client.Respond(b.Context(), request); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
