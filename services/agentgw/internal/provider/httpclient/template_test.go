package httpclient

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// llamaCpp is an error of llama.cpp. The excerpt of the template has another exception.
func llamaCpp(said string) string {
	return `{"error":{"code":500,"message":"\n------------\nWhile executing CallExpression at line 19, column 27 in source:\n` +
		`...{{ raise_exception('System role not supported') }}↵  {{ raise_exception('...\n    ^\nError: Jinja Exception: ` + said + `","type":"server_error"}}`
}

// TestTemplateWords checks that the error of a refusal has the template's words and no excerpt of
// the template.
func TestTemplateWords(t *testing.T) {
	parsed := parseAPIError([]byte(llamaCpp("Conversation roles must alternate")), provider.ErrorWords{})
	if got := parsed.failure(500, "").Error(); got != "HTTP 500: Conversation roles must alternate" {
		t.Errorf("got %q, want the template's words", got)
	}
}

// TestDemandedForm checks what each server says about a conversation that its template refuses, and
// what it says about other faults.
func TestDemandedForm(t *testing.T) {
	const alternate = "Conversation roles must alternate user/assistant/user/assistant/..."
	const lmStudio = `{"error":"Error rendering prompt with jinja template: \"` + alternate + `\".\n\nThis is usually an issue with the model's prompt template."}`
	for _, test := range []struct {
		name   string
		status int
		body   string
		want   conversation.Form
	}{
		{"vLLM", 400, `{"object":"error","message":"` + alternate + `","type":"BadRequestError","param":null,"code":400}`, conversation.Alternating},
		{"newer vLLM", 400, `{"error":{"message":"` + alternate + ` ` + alternate + `","type":"BadRequestError","param":null,"code":400}}`, conversation.Alternating},
		{"SGLang", 400, `{"object":"error","message":"System role not supported","type":"BadRequest","param":null,"code":400}`, conversation.SystemInUser},
		{"TGI", 422, `{"error":"Template error: syntax error: ` + alternate + ` (in <string>:1)","error_type":"template_error"}`, conversation.Alternating},
		{"llama.cpp", 500, llamaCpp(alternate), conversation.Alternating},
		{"llama.cpp's parser of tools", 400, `{"error":{"code":400,"message":"Unable to generate parser for this template. Automatic parser generation failed: ` +
			`\nError: Jinja Exception: System message must be at the beginning.","type":"invalid_request_error"}}`, conversation.Alternating},
		{"older llama.cpp", 500, `{"error":{"code":500,"message":"` + alternate + ` at row 19, column 27:\n {{ raise_exception(\"` + alternate + `\") }}","type":"server_error"}}`, conversation.Alternating},
		{"Ollama", 500, `{"error":"{\"error\":{\"code\":500,\"message\":\"Error: Jinja Exception: ` + alternate + `\"}}"}`, conversation.Alternating},
		{"LM Studio", 400, lmStudio, conversation.Alternating},
		{"LiteLLM", 400, `{"error":{"message":"litellm.BadRequestError: Hosted_vllmException - ` + alternate + `","code":"400"}}`, conversation.Alternating},
		{"OpenRouter", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"object\":\"error\",\"message\":\"Unexpected role 'user' after role 'tool'\"}","provider_name":"Mistral"}}}`, conversation.Alternating},
		{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row"}}`, conversation.Alternating},
		{"Google", 400, `[{"error":{"code":400,"message":"Please ensure that multiturn requests alternate between user and model.","status":"INVALID_ARGUMENT"}}]`, conversation.Alternating},
		{"Gemma at Google", 400, `{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}`, conversation.SystemInUser},
		{"Perplexity", 400, `{"error":{"message":"After the (optional) system message(s), user and assistant roles should be alternating.","type":"invalid_message","code":400}}`, conversation.Alternating},
		{"Perplexity's last", 400, "{\"error\":{\"message\":\"Last message must have role `user`.\",\"type\":\"invalid_message\",\"code\":400}}", conversation.Alternating},
		{"Bedrock", 400, `{"message":"A conversation must start with a user message. Try again."}`, conversation.Alternating},
		{"Bedrock's roles", 400, `{"message":"A conversation must alternate between user and assistant roles."}`, conversation.Alternating},
		{"Mistral's template", 500, llamaCpp("After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results."), conversation.Alternating},
		{"Mistral's older template", 400, `{"message":"Only user and assistant roles are supported!"}`, conversation.SystemInUser},
		{"mistral-common", 400, `{"error":{"message":"Unexpected role 'user' after role 'tool'","type":"BadRequestError","code":400}}`, conversation.Alternating},
		{"mistral-common's last", 400, `{"object":"error","message":"Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant","type":"BadRequestError","code":400}`, conversation.Alternating},
		{"Mistral's ids", 500, llamaCpp("Tool call IDs should be alphanumeric strings with length 9!"), conversation.ShortIDs},
		{"mistral-common's ids", 400, `{"message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."}`, conversation.ShortIDs},
		{"Llama 3.1", 400, `{"object":"error","message":"This model only supports single tool-calls at once!","type":"BadRequestError","code":400}`, conversation.SingleCalls},
		{"Llama 3.1's tools", 400, `{"message":"Cannot put tools in the first user message when there's no first user message!"}`, conversation.Alternating},
		{"Qwen 3.5", 400, `{"error":"Error rendering prompt with jinja template: \"No user query found in messages.\"."}`, conversation.Alternating},
		{"no tools", 500, llamaCpp("Tool role not supported"), conversation.CallsAsText},
		{"an unknown role", 500, `{"error":"Unsupported role: tool"}`, conversation.CallsAsText},

		{"a wrong value", 400, `{"error":{"message":"Invalid value: 'x'. Supported values are: 'system', 'assistant', 'user', and 'tool'.","param":"messages[1].role","code":"invalid_value"}}`, 0},
		{"a result without a call", 400, `{"error":{"message":"messages with role 'tool' must be a response to a message with 'tool_calls'."}}`, 0},
		{"a call without a result", 400, `{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."}}`, 0},
		{"no parser of tools", 400, `{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}`, 0},
		{"no system permission", 400, `{"error":{"message":"Your role does not allow this model"}}`, 0},
		{"another template error", 500, `{"error":{"code":500,"message":"Error: Jinja Exception: Unknown test: sequence","type":"server_error"}}`, 0},
		{"a crash", 500, `{"error":"Internal Server Error"}`, 0},
		{"context", 400, `{"error":{"message":"This model's maximum context length is 10 tokens. Conversation roles must alternate"}}`, 0},
		{"forbidden", 403, lmStudio, 0},
		{"overloaded", 503, lmStudio, 0},
	} {
		parsed := parseAPIError([]byte(test.body), provider.ErrorWords{})
		if got := parsed.failure(test.status, "").Demanded; got != test.want {
			t.Errorf("%s: got form %b, want %b", test.name, got, test.want)
		}
	}
}
