package probe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const toolName = "jot_down_words"

// server is a model's server for a probe. Its words depend on the seed and the temperature of a
// request. The zero value answers with calls, counts the tokens of prompts, and describes nothing.
type server struct {
	dropsTools, writesCalls, callsOther bool
	ignoresSeed                         bool
	// countsMessages: the tokens of tools do not count.
	countsMessages bool
	// refuses is a field of requests that it refuses, with status.
	refuses string
	status  int
	// tokens is the number of prompt tokens that it always reports; 0 counts, and less reports none.
	tokens int
	// pages are its documents by path.
	pages map[string]string
	// answer, if set, replaces all of this.
	answer http.HandlerFunc

	asked atomic.Int32
}

// start starts the server and returns its address.
func (s *server) start(t *testing.T) string {
	t.Helper()
	running := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		page, found := s.pages[r.URL.Path]
		switch {
		case r.Method == http.MethodPost && s.answer != nil:
			s.asked.Add(1)
			r.Body = io.NopCloser(bytes.NewReader(body))
			s.answer(w, r)
		case r.Method == http.MethodPost:
			s.asked.Add(1)
			s.reply(w, r.URL.Path, body)
		case found:
			_, _ = io.WriteString(w, page)
		default:
			http.Error(w, "<html>no such page</html>", http.StatusNotFound)
		}
	}))
	t.Cleanup(running.Close)
	return running.URL
}

// reply answers a request in the format of its path.
func (s *server) reply(w http.ResponseWriter, path string, body []byte) {
	var request struct {
		Seed        *int64
		Temperature *float64
		Tools       json.RawMessage
		Generation  struct {
			Seed        *int64
			Temperature *float64
		} `json:"generationConfig"`
	}
	if json.Unmarshal(body, &request) != nil || s.refuses != "" && strings.Contains(string(body), `"`+s.refuses+`"`) {
		w.WriteHeader(s.status)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"%s is not supported"}}`, s.refuses)
		return
	}
	seed, temperature := request.Seed, request.Temperature
	if seed == nil {
		seed = request.Generation.Seed
	}
	if temperature == nil {
		temperature = request.Generation.Temperature
	}
	source := rand.New(rand.NewPCG(rand.Uint64(), 0))
	switch {
	case temperature != nil && *temperature == 0:
		source = rand.New(rand.NewPCG(1, 1))
	case seed != nil && !s.ignoresSeed:
		source = rand.New(rand.NewPCG(uint64(*seed), 2))
	}
	words := fmt.Sprintf("%x %x", source.Uint64(), source.Uint64())
	counted := len(body)
	if (s.dropsTools || s.countsMessages) && request.Tools != nil {
		counted -= len(`,"tools":`) + len(request.Tools)
	}
	tokens := counted / 4
	if s.tokens != 0 {
		tokens = s.tokens
	}
	sees := !s.dropsTools && strings.Contains(string(body), toolName)
	_, _ = io.WriteString(w, s.format(path, words, sees, tokens))
}

// format writes an answer in the format of a path: a call if the model sees a tool, else words.
func (s *server) format(path, words string, sees bool, tokens int) string {
	name := toolName
	if s.callsOther {
		name = "set_wifi_status"
	}
	text := words
	if s.writesCalls && sees {
		text, sees = fmt.Sprintf(`<tool_call>{"name": "%s", "arguments": {"words": "%s"}}</tool_call>`, name, words), false
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	object := fmt.Sprintf(`{"words":"%s"}`, words)
	quotedObject, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	function := fmt.Sprintf(`"function":{"name":"%s","arguments":%s}`, name, quotedObject)
	pick := func(call, said string) string {
		if sees {
			return call
		}
		return said
	}
	switch {
	case strings.HasSuffix(path, "/messages"):
		return fmt.Sprintf(`{"content":[%s],"stop_reason":"end_turn","usage":{"input_tokens":%d,"output_tokens":9}}`,
			pick(fmt.Sprintf(`{"type":"tool_use","id":"a","name":"%s","input":%s}`, name, object), fmt.Sprintf(`{"type":"text","text":%s}`, quoted)), tokens)
	case strings.HasSuffix(path, ":generateContent"):
		return fmt.Sprintf(`{"candidates":[{"content":{"parts":[%s]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":9}}`,
			pick(fmt.Sprintf(`{"functionCall":{"name":"%s","args":%s}}`, name, object), fmt.Sprintf(`{"text":%s}`, quoted)), tokens)
	case strings.HasSuffix(path, "/chat"):
		return fmt.Sprintf(`{"finish_reason":"COMPLETE","message":{"role":"assistant",%s},"usage":{"tokens":{"input_tokens":%d,"output_tokens":9}}}`,
			pick(`"tool_calls":[{"id":"a","type":"function",`+function+`}]`, fmt.Sprintf(`"content":[{"type":"text","text":%s}]`, quoted)), tokens)
	case strings.HasSuffix(path, "/responses"):
		return fmt.Sprintf(`{"status":"completed","output":[%s],"usage":{"input_tokens":%d,"output_tokens":9}}`,
			pick(fmt.Sprintf(`{"type":"function_call","id":"f","call_id":"a","name":"%s","arguments":%s}`, name, quotedObject),
				fmt.Sprintf(`{"type":"message","content":[{"type":"output_text","text":%s}]}`, quoted)), tokens)
	case strings.HasSuffix(path, "/completions") && !strings.HasSuffix(path, "/chat/completions"):
		return fmt.Sprintf(`{"choices":[{"text":%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":9}}`, quoted, tokens)
	}
	usage := fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":9},`, tokens)
	if tokens < 0 {
		usage = ""
	}
	return fmt.Sprintf(`{%s"timings":{"predicted_n":9,"predicted_per_second":35.5},"choices":[{"finish_reason":"stop","message":{"role":"assistant",%s}}]}`,
		usage, pick(`"content":null,"tool_calls":[{"id":"a","type":"function",`+function+`}]`, `"content":`+string(quoted)))
}
