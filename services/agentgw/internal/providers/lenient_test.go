package providers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"
)

// summary describes an answer: its text, its calls and the tokens of its request and its answer.
func summary(a *provider.Answer) string {
	parts := []string{a.Text}
	for _, call := range a.Calls {
		id, cut := "none", ""
		if call.ID != nil {
			id = *call.ID
		}
		if call.Truncated {
			cut = " cut"
		}
		parts = append(parts, fmt.Sprintf("%s %s(%s)%s", id, call.Name, call.Arguments, cut))
	}
	return strings.Join(append(parts, fmt.Sprintf("%d+%d", a.Usage.GetInputTokens(), a.Usage.GetOutputTokens())), "; ")
}

// decode decodes a body in the wire format of a provider.
func decode(t *testing.T, name, body string) (string, error) {
	t.Helper()
	dialects, err := dialect.Load("")
	if err != nil {
		t.Fatal(err)
	}
	spec, known := providers.Named(providers.All(dialects), name)
	if !known {
		t.Fatalf("%s: no such provider", name)
	}
	answer, err := spec.Codec.Decode([]byte(body))
	if err != nil {
		return "", err
	}
	return summary(answer), nil
}

// stream returns a stream of events.
func stream(events ...string) string {
	var b strings.Builder
	for _, event := range events {
		var typed struct{ Type string }
		if json.Unmarshal([]byte(event), &typed) == nil && typed.Type != "" {
			b.WriteString("event: " + typed.Type + "\n")
		}
		b.WriteString("data: " + event + "\n\n")
	}
	return b.String()
}

// streamCase is an answer that a server streams although nobody asked.
type streamCase struct {
	provider, want string
	events         []string
	// ends is the number of last events without which the answer is incomplete.
	ends int
}

// streamCases are as the providers stream.
func streamCases() []streamCase {
	return []streamCase{
		{"openai", "Hello there; 9+3", []string{
			`{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{"content":"lo there"},"finish_reason":null}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`{"id":"x","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}`, `[DONE]`,
		}, 3},
		{"openai", `; a f({"x": 1}); b g({}); 0+0`, []string{
			`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":" 1}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		}, 1},
		{"plain", "Hello there; 9+3", []string{
			`{"choices":[{"index":0,"text":"Hello","finish_reason":null}]}`,
			`{"choices":[{"index":0,"text":" there","finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`,
		}, 1},
		{"openai-responses", `; a f({"x": 1}); 9+3`, []string{
			`{"type":"response.created","response":{"status":"in_progress","output":[]}}`, `{"type":"response.output_item.added","item":{}}`,
			`{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":9,"output_tokens":3},` +
				`"output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\": 1}"}]}}`,
		}, 1},
		{"anthropic", `; a f({"x":1}); 9+3`, []string{
			`{"type":"message_start","message":{"content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Let me"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":": 1}"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`,
		}, 2},
		{"google", `; none f({"x":1}); 9+3`, []string{
			`{"candidates":[{"content":{"parts":[{"text":"Let me"}],"role":"model"}}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1}}`,
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"x":1}}}],"role":"model"},"finishReason":"STOP"}],` +
				`"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3}}`,
		}, 1},
		{"cohere", `; a f({"x": 1}); b g({}); 9+3`, []string{
			`{"type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[]}}}`,
			`{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"hm"}}}`,
			`{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"a","type":"function","function":{"name":"f","arguments":""}}}}}`,
			`{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"x\": 1}"}}}}}`, `{"type":"tool-call-end","index":0}`,
			`{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}}}}`,
			`{"type":"message-end","delta":{"finish_reason":"TOOL_CALL","usage":{"tokens":{"input_tokens":9,"output_tokens":3}}}}`,
		}, 1},
	}
}

// oddStreamCases are as other servers of the same interfaces stream.
func oddStreamCases() []streamCase {
	return []streamCase{
		{"openai", `; a f({"x": 1}); new g({}); c f({"y": 2}); 0+0`, []string{ // one index for all, none, and pieces without an id
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":" 1}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"new","function":{"arguments":"{}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":null,"id":"c","function":{"name":"f","arguments":"{\"y\":"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":" 2"}},{"id":"c","function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}`,
		}, 1},
		{"openai", "Hello there; 0+0", []string{ // an empty reason before the last one
			`{"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":""}]}`,
			`{"choices":[{"index":0,"delta":{"content":"lo there"},"finish_reason":""}]}`,
			`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}`,
		}, 1},
		{"anthropic", `; a f({"x":1}); b g({}); 9+0`, []string{ // interleaved, and a start without a message
			`{"type":"message_start"}`, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"g"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":9}}`,
		}, 1},
		{"cohere", "Hello there; 0+0", []string{
			`{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}`,
			`{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hello"}}}}`,
			`{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":" there"}}}}`,
			`{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}`,
		}, 1},
	}
}

// TestStreams reads answers that servers stream although nobody asked, and tells streams that broke
// off from them.
func TestStreams(t *testing.T) {
	for _, test := range slices.Concat(streamCases(), oddStreamCases()) {
		got, err := decode(t, test.provider, stream(test.events...))
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", test.provider, err, diff)
		}
		if got, err = decode(t, test.provider, stream(test.events[:len(test.events)-test.ends]...)); !errors.Is(err, lenient.ErrStream) || !errors.Is(err, provider.ErrAnswer) {
			t.Errorf("%s: without its end: got %q and %v, want that the stream broke off", test.provider, got, err)
		}
	}
}

// TestDeviations reads answers that deviate from the provider's interface: ids that are numbers,
// arguments that are missing or of another type, numbers that are no JSON, calls that a limit cut
// off although their JSON is closed.
func TestDeviations(t *testing.T) {
	for _, test := range []struct{ provider, body, want string }{
		{"openai", `{"choices":[{"message":{"tool_calls":[{"id":0,"function":{"name":"f","arguments":{"x":NaN}}},{"function":{"name":"g"}}]},"finish_reason":"length","logprobs":NaN}],` +
			`"usage":{"prompt_tokens":"9","completion_tokens":Infinity}}`, `; 0 f({"x":"NaN"}); none g({}) cut; 9+0`},
		{"openai", `{"choices":[{"message":{"tool_calls":[{"id":{},"function":{"name":"f"}}]},"finish_reason":"tool_calls"}],"usage":5}`, `; none f({}); 0+0`},
		{"openai-responses", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"score":-Infinity,"output":[` +
			`{"type":"function_call","call_id":0,"name":"f","arguments":{}},{"type":"function_call","name":"g","arguments":""}],"usage":5}`, `; 0 f({}); none g({}) cut; 0+0`},
		{"anthropic", `{"content":[{"type":"tool_use","id":0,"name":"f","input":"{}"},{"type":"tool_use","id":"","name":"g"}],"stop_reason":"max_tokens","score":NaN,` +
			`"usage":{"input_tokens":"9","output_tokens":1.5}}`, `; 0 f("{}");  g({}) cut; 9+1`},
		{"google", `{"candidates":[{"content":{"parts":[{"functionCall":{"id":0,"name":"f","args":"{}"}},{"functionCall":{"name":"g"}}]},"finishReason":"MAX_TOKENS","avgLogprobs":NaN}],` +
			`"usageMetadata":{"promptTokenCount":9.5,"candidatesTokenCount":"3"}}`, `; 0 f("{}"); none g({}) cut; 9+3`},
		{"cohere", `{"message":{"tool_calls":[{"id":0,"function":{"name":"f","arguments":{}}},{"function":{"name":"g","arguments":null}}]},"finish_reason":"MAX_TOKENS","x":NaN,"usage":5}`,
			`; 0 f({}); none g({}) cut; 0+0`},
		{"hermes", `{"choices":[{"text":"<think>I could <tool_call>{}</tool_call></think>Hello","finish_reason":"stop","logprobs":NaN}],` +
			`"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}}`, "Hello; 9+3"},
	} {
		got, err := decode(t, test.provider, test.body)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", test.provider, err, diff)
		}
	}
}

// TestShapes reads the same turn from messages whose lists and texts have another shape: null
// elements, one element without a list, texts in place of parts, empty values of another type.
func TestShapes(t *testing.T) {
	const openai = `{"choices":[{"message":%s,"finish_reason":"stop"}]}`
	for _, test := range []struct{ provider, form, called, said string }{
		{"openai", openai, `{"content":"Hm","tool_calls":{"id":"a","function":{"name":"f","arguments":"{}"}}}`, `{"content":["He","llo"],"tool_calls":""}`},
		{"openai", openai, `{"tool_calls":[null,{"id":"a","function":{"name":"f"}}]}`, `{"content":[null,{"type":"text","text":{"value":"Hello"}}],"tool_calls":false}`},
		{"openai", openai, `{"tool_calls":[{"id":"a","name":"f","arguments":{}}]}`, `{"content":{"type":"text","text":"Hello"},"tool_calls":{},"refusal":false}`},
		{"openai", openai, `{"tool_calls":[{"id":"a","type":"function","function":{"name":"f"}}],"refusal":{}}`, `{"content":[{"type":"reasoning","text":"hm"},{"text":"Hello"}]}`},
		{"openai-responses", `{"status":0,"output":%s}`, `[null,{"type":"function_call","call_id":"a","name":"f"}]`, `[{"type":"message","content":"Hello"}]`},
		{"openai-responses", `{"output":%s}`, `[{"type":"function_call","call_id":"a","name":"f"}]`, `[{"type":"message","content":[null,{"text":"Hello"}]}]`},
		{"anthropic", `{"stop_reason":5,"content":%s}`, `{"type":"tool_use","id":"a","name":"f"}`, `"Hello"`},
		{"anthropic", `{"content":%s}`, `[null,"Hm",{"type":"tool_use","id":"a","name":"f"}]`, `["Hel",{"type":"text","text":"lo"}]`},
		{"google", `{"candidates":[{"finishReason":1,"content":{"parts":%s}}]}`, `{"functionCall":{"id":"a","name":"f"}}`, `{"text":"Hello"}`},
		{"google", `{"candidates":[{"content":{"parts":%s}}]}`, `[null,{"functionCall":{"id":"a","name":"f"}}]`, `[{"text":null},{"text":"Hello"},null]`},
		{"cohere", `{"finish_reason":"complete","message":%s}`, `{"tool_calls":[null,{"id":"a","function":{"name":"f"}}],"tool_plan":null}`, `{"content":"Hello","tool_calls":""}`},
		{"cohere", `{"finish_reason":5,"message":%s}`, `{"tool_calls":{"id":"a","function":{"name":"f"}},"content":""}`, `{"content":[null,"Hel",{"type":"text","text":"lo"}]}`},
	} {
		for message, want := range map[string]string{test.called: "; a f({}); 0+0", test.said: "Hello; 0+0"} {
			if got, err := decode(t, test.provider, fmt.Sprintf(test.form, message)); got != want || err != nil {
				t.Errorf("%s: %s: got %q and %v, want %q", test.provider, message, got, err, want)
			}
		}
	}
}

// TestBrokenStreams reads streams whose values have other types than an event has. Each is an
// answer or an error.
func TestBrokenStreams(t *testing.T) {
	values := []string{"null", "{}", "[]", "[null]", `"x"`, "5", "[{}]", `[{"index":{}},{"index":{}}]`, `[{"index":null},{"index":[]}]`, `{"type":{},"index":{}}`}
	for _, name := range []string{"openai", "openai-responses", "anthropic", "google", "cohere", "hermes"} {
		for _, field := range []string{
			`"type":"message_start","message"`, `"type":"content_block_start","content_block"`, `"type":"content_block_delta","delta"`, `"type":"message_delta","delta"`, `"type"`,
			`"type":"message_stop","delta"`, `"choices"`, `"usage"`, `"error"`, `"response"`, `"candidates"`, `"type":"message-end","delta"`, `"type":"content-start","delta"`,
		} {
			var events []string
			for _, value := range values {
				events = append(events, "{"+field+":"+value+"}", value, `{"choices":[{"delta":`+value+`},`+value+`]}`, `{"delta":{"message":`+value+`}}`)
			}
			if got, err := decode(t, name, stream(append(events, "[DONE]")...)); err == nil && got == "" {
				t.Errorf("%s: %s: got nothing, want an answer or an error", name, field)
			}
		}
	}
}
