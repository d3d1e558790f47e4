package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// exampleLines is the maximum number of lines of an example.
const exampleLines = 60

// TestLongExamples runs the agents of examples/ with a scripted model. The scripts cover parallel
// calls, a failed call, a second message of the user, and an outage of the model.
func TestLongExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "examples", "*", "agent.py"))
	if err != nil || len(files) == 0 {
		t.Fatalf("examples: got %v and error %v", files, err)
	}
	page, err := os.ReadFile(filepath.Join("..", "examples", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkExample(t, string(page), name, file)
			playExample(t, name, file)
			if name != "code" { // which is stateless
				t.Run("that forgets", func(t *testing.T) { playExample(t, name, file, "PYTHONPATH="+forgetfulPath(t)) })
			}
		})
	}
}

// checkExample checks the length of an example, and that the page documents how to install and
// start it.
func checkExample(t *testing.T, page, name, file string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(source), "\n"); lines > exampleLines {
		t.Errorf("%s has %d lines, want at most %d", file, lines, exampleLines)
	}
	for _, want := range []string{
		"--requirement examples/" + name + "/requirements.txt",
		"python examples/" + name + "/agent.py localhost:9000",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("examples/README.md: want %q in it", want)
		}
	}
}

// forgetfulPath returns a Python path on which agents drop each conversation between turns, as
// after a restart. Each run is cancelled, and the next one starts with the messages.
func forgetfulPath(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source := "from toolsandbox.agent import loop_agent\nloop_agent.__kwdefaults__['idle'] = 0\n"
	if err := os.WriteFile(filepath.Join(dir, "sitecustomize.py"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	sdk, err := filepath.Abs(filepath.Join("..", "sdk", "python", "src"))
	if err != nil {
		t.Fatal(err)
	}
	return dir + string(os.PathListSeparator) + sdk
}

func playExample(t *testing.T, name, file string, environment ...string) {
	t.Helper()
	answers, steps := toolAnswers(), map[string][]int{
		"report_all_switches": {4}, "coordinates_with_location_off": {1, 1, 1}, "changed_my_mind": {1, 1, 2},
	}
	if name == "code" {
		answers, steps = codeAnswers(), nil
	}
	model := startScriptedModel(t, answers)
	address := porttest.Address(t)
	agent := pythonIn(t, "examples", file)
	agent.Args = append(agent.Args, address)
	agent.Env = append(agent.Env, "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_API_KEY=none", "OPENAI_MODEL=crafted")
	agent.Env = append(agent.Env, environment...)
	runAgent(t, agent, address)
	out := filepath.Join(t.TempDir(), "out")
	toolsandbox(t, "run", "--agent", "grpc://"+address, "--out", out, "report_all_switches", "coordinates_with_location_off", "changed_my_mind")
	results := scored(t, out).Scenarios
	if len(results) != len(answers) {
		t.Errorf("results: got %d, want %d", len(results), len(answers))
	}
	for i := range results {
		if similarity, known := results[i].Similarity.Number(); !known || similarity != 1 {
			t.Errorf("%s: got similarity %v, want 1", results[i].Name, similarity)
		}
	}
	for scenario, want := range steps {
		if got := callsOfTurns(t, filepath.Join(out, "trajectories", scenario, "conversation.json")); !slices.Equal(got, want) {
			t.Errorf("%s: calls of each turn: got %v, want %v", scenario, got, want)
		}
	}
	if remaining := model.outage(); remaining > 0 {
		t.Errorf("requests that the model was to refuse: %d did not come", remaining)
	}
}

// callsOfTurns returns the number of calls of each calling turn of the agent.
func callsOfTurns(t *testing.T, file string) []int {
	t.Helper()
	var messages []struct {
		Calls []struct{} `json:"tool_calls"`
	}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &messages)
	}
	if err != nil {
		t.Fatal(err)
	}
	var counts []int
	for _, message := range messages {
		if len(message.Calls) > 0 {
			counts = append(counts, len(message.Calls))
		}
	}
	return counts
}

// answer is one answer of a scripted model.
type answer struct {
	// hears is a text that the last message must contain.
	hears string
	// calls are tools by name, each with its arguments as JSON text.
	calls [][2]string
	says  string
	// outage makes the model fail before this answer.
	outage bool
}

// toolAnswers returns the answers by each scenario's first message, in order.
func toolAnswers() map[string][]answer {
	return map[string][]answer{
		"Tell me the state of wifi, cellular, location service and low battery mode.": {
			{calls: [][2]string{
				{"get_wifi_status", "{}"}, {"get_cellular_service_status", "{}"}, {"get_location_service_status", "{}"}, {"get_low_battery_mode_status", "{}"},
			}},
			{says: "Wifi is off, cellular is on, location service is on and low battery mode is off."},
		},
		"What are my coordinates?": {
			{calls: [][2]string{{"get_current_location", "{}"}}},
			{hears: "PermissionError: Location service is not enabled.", calls: [][2]string{{"set_location_service_status", `{"on": true}`}}},
			{hears: "None", calls: [][2]string{{"get_current_location", "{}"}}},
			{hears: "37.7694", says: "With location service turned on I found you at latitude 37.7694 and longitude -122.4862."},
		},
		"Turn on low battery mode.": {
			{calls: [][2]string{{"set_low_battery_mode_status", `{"on": true}`}}},
			{hears: "None", says: "Low battery mode is on."},
			{hears: "No, take that back.", calls: [][2]string{{"set_low_battery_mode_status", `{"on": false}`}}},
			{hears: "None", outage: true, calls: [][2]string{{"set_cellular_service_status", `{"on": true}`}, {"set_location_service_status", `{"on": true}`}}},
			{hears: "None", says: "Low battery mode is off again, and of the services only wifi is off."},
		},
	}
}

// codeAnswers is toolAnswers for an agent that writes code.
func codeAnswers() map[string][]answer {
	python := func(lines ...string) string { return "```python\n" + strings.Join(lines, "\n") + "\n```" }
	return map[string][]answer{
		"Tell me the state of wifi, cellular, location service and low battery mode.": {
			{says: python("print(get_wifi_status(), get_cellular_service_status())", "print(get_location_service_status(), get_low_battery_mode_status())")},
			{hears: "False True\nTrue False", says: "Wifi is off, cellular is on, location service is on and low battery mode is off."},
		},
		"What are my coordinates?": {
			{says: python("print(get_current_location())")},
			{hears: "PermissionError: Location service is not enabled.", says: python("set_location_service_status(on=True)", "print(get_current_location())")},
			{hears: "37.7694", says: "With location service turned on I found you at latitude 37.7694 and longitude -122.4862."},
		},
		"Turn on low battery mode.": {
			{says: python("set_low_battery_mode_status(on=True)")},
			{hears: "Printed:", says: "Low battery mode is on."},
			{hears: "No, take that back.", says: python("set_low_battery_mode_status(on=False)", "set_cellular_service_status(on=True)", "set_location_service_status(on=True)")},
			{hears: "Printed:", outage: true, says: "Low battery mode is off again, and of the services only wifi is off."},
		},
	}
}

// scriptedModel is an OpenAI chat completions server with scripted answers.
type scriptedModel struct {
	*httptest.Server
	t       *testing.T
	answers map[string][]answer
	mu      sync.Mutex
	away    int
}

// outageRequests is the number of failing requests: a client's first try and its two retries.
const outageRequests = 3

func startScriptedModel(t *testing.T, answers map[string][]answer) *scriptedModel {
	t.Helper()
	c := &scriptedModel{t: t, answers: answers, away: outageRequests}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *scriptedModel) outage() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.away
}

// completion is the decoded part of a request.
type completion struct {
	Messages []struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
		Calls   []struct {
			ID string `json:"id"`
		} `json:"tool_calls"`
		CallID string `json:"tool_call_id"`
	} `json:"messages"`
}

// ServeHTTP returns the next answer of the request's conversation.
func (c *scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request completion
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1/chat/completions" {
		c.t.Errorf("request to %s: %v", r.URL, err)
	}
	next, err := c.next(&request)
	if err != nil {
		c.t.Errorf("%v\nrequest: %+v", err, request)
		http.Error(w, `{"error":{"message":"the request is wrong"}}`, http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	away := next.outage && c.away > 0
	if away {
		c.away--
	}
	c.mu.Unlock()
	if away {
		http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
		return
	}
	message := map[string]any{"role": "assistant", "content": next.says}
	var calls []any
	for i, call := range next.calls {
		calls = append(calls, map[string]any{
			"id": fmt.Sprintf("made_%d_%d", len(request.Messages), i), "type": "function",
			"function": map[string]any{"name": call[0], "arguments": call[1]},
		})
	}
	finish := "stop"
	if len(calls) > 0 {
		message["tool_calls"], message["content"], finish = calls, nil, "tool_calls"
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(map[string]any{
		"id": "completion", "object": "chat.completion", "created": 1, "model": "crafted",
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": message}},
		"usage":   map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
	}); err != nil {
		c.t.Errorf("answer: %v", err)
	}
}

// next returns the answer to a request, and checks that OpenAI would accept it: each call has a
// result.
func (c *scriptedModel) next(request *completion) (answer, error) {
	var answers []answer
	turns, open := 0, make(map[string]bool)
	for _, message := range request.Messages {
		switch message.Role {
		case "user":
			if answers == nil {
				answers = c.answers[fmt.Sprint(message.Content)]
			}
		case "assistant":
			turns++
		}
		if message.Role == "tool" != open[message.CallID] || message.Role != "tool" && len(open) > 0 {
			return answer{}, fmt.Errorf("a message of %s with the call %q, want answers to %v", message.Role, message.CallID, open)
		}
		delete(open, message.CallID)
		for _, call := range message.Calls {
			open[call.ID] = true
		}
	}
	if len(open) > 0 || turns >= len(answers) {
		return answer{}, fmt.Errorf("calls without an answer: %v; turns: %d, of %d", open, turns, len(answers))
	}
	next := answers[turns]
	if newest := fmt.Sprint(request.Messages[len(request.Messages)-1].Content); !strings.Contains(newest, next.hears) {
		return answer{}, fmt.Errorf("turn %d: the newest message is %q, want %q in it", turns, newest, next.hears)
	}
	return next, nil
}
