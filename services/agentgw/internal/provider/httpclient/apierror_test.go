package httpclient

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/anthropic"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
)

// apiErrorTest is an error body of a provider and the expected failure.
type apiErrorTest struct {
	status int
	body   string
	want   provider.Failure
}

func apiErrors() map[string]apiErrorTest {
	const none = "the account has no credit left: "
	return map[string]apiErrorTest{
		"OpenAI's quota": {
			429, `{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "param": null, "code": "insufficient_quota"}}`,
			provider.Failure{Status: 429, NoCredit: true, Detail: none + "You exceeded your current quota"},
		},
		"OpenAI's hard limit": {
			400, `{"error": {"message": "Billing hard limit has been reached", "type": "invalid_request_error", "code": "billing_hard_limit_reached"}}`,
			provider.Failure{Status: 400, NoCredit: true, Detail: none + "Billing hard limit has been reached"},
		},
		"OpenAI's rate": {
			429, `{"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}`,
			provider.Failure{Status: 429, Retryable: true, RetryAfter: 7 * time.Second, Detail: "Rate limit reached"},
		},
		"Anthropic's balance": {
			400, `{"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."}}`,
			provider.Failure{Status: 400, NoCredit: true, Detail: none + "Your credit balance is too low to access the Anthropic API."},
		},
		"Anthropic's billing": {
			403, `{"type": "error", "error": {"type": "billing_error", "message": "m"}}`, provider.Failure{Status: 403, NoCredit: true, Detail: none + "m"},
		},
		"Google's quota of a day": {
			429, `{"error": {"code": 429, "message": "Quota exceeded for metric: GenerateRequestsPerDay", "status": "RESOURCE_EXHAUSTED"}}`,
			provider.Failure{Status: 429, Retryable: true, RetryAfter: 7 * time.Second, Detail: "Quota exceeded for metric: GenerateRequestsPerDay"},
		},
		"Moonshot's quota": {
			429, `{"error": {"message": "Your account is suspended", "type": "exceeded_current_quota_error"}}`,
			provider.Failure{Status: 429, NoCredit: true, Detail: none + "Your account is suspended"},
		},
		"Zhipu's balance": {429, `{"error": {"code": "1113", "message": "m"}}`, provider.Failure{Status: 429, NoCredit: true, Detail: none + "m"}},
		"one-api's quota": {403, `{"error": {"code": "insufficient_user_quota", "message": "m"}}`, provider.Failure{Status: 403, NoCredit: true, Detail: none + "m"}},
		"xAI's team": {
			429, `{"code": "x", "error": "Your team t has either used all available credits or reached its monthly spending limit."}`,
			provider.Failure{Status: 429, NoCredit: true, Detail: none + "Your team t has either used all available credits or reached its monthly spending limit."},
		},
		"payment required": {402, `{"message": "pay"}`, provider.Failure{Status: 402, NoCredit: true, Detail: none + "pay"}},
		"Cohere's form": {
			429, `{"id": "x", "message": "too many"}`, provider.Failure{Status: 429, Retryable: true, RetryAfter: 7 * time.Second, Detail: "too many"},
		},
		"a text that speaks of it": {
			429, `{"error": {"message": "insufficient_quota is not meant", "code": null}}`,
			provider.Failure{Status: 429, Retryable: true, RetryAfter: 7 * time.Second, Detail: "insufficient_quota is not meant"},
		},
	}
}

// words are those of two providers.
func words() provider.ErrorWords {
	return provider.MergeErrorWords(openai.Spec().Errors, anthropic.Spec().Errors)
}

// TestAPIErrors distinguishes accounts without credit from rate limits. Only the latter are
// retryable.
func TestAPIErrors(t *testing.T) {
	for name, test := range apiErrors() {
		t.Run(name, func(t *testing.T) {
			to := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			})
			if test.status != http.StatusTooManyRequests {
				test.want.RetryAfter = 0
			}
			_, err := send(t, to, time.Minute)
			got, ok := errors.AsType[*provider.Failure](err)
			if !ok {
				t.Fatalf("got %v, want a failure", err)
			}
			test.want.Detail += " (at " + to.BaseURL + "/p)"
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDelayInTheBody reads Google's retry delay, which is not in a header.
func TestDelayInTheBody(t *testing.T) {
	for body, want := range map[string]time.Duration{
		`{"error": {"details": [{"@type": "QuotaFailure"}, {"@type": "RetryInfo", "retryDelay": "34.5s"}]}}`: 34500 * time.Millisecond,
		`[{"error": {"message": "m", "details": [{"retryDelay": "2s"}]}}]`:                                   2 * time.Second,
		`[]`: 0,
		`{"error": {"details": [{"retryDelay": "999999h"}]}}`: 24 * time.Hour,
		`{"error": {"details": [{"retryDelay": "-3s"}]}}`:     0,
		`{"error": {"message": "m", "details": "soon"}}`:      0,
		`{"error": [1]}`: 0,
		`[`:              0,
	} {
		if got := parseAPIError([]byte(body), words()); got.delay != want || got.text == "" {
			t.Errorf("%s: got %+v, want a delay of %s and a text", body, got, want)
		}
	}
}

func FuzzAPIError(f *testing.F) {
	f.Add([]byte(`{"error": {"message": "m", "type": "t", "code": 1, "details": [{"retryDelay": "1s"}]}}`), "m")
	f.Add([]byte(`{"error": "e"}`), "")
	f.Fuzz(func(t *testing.T, raw []byte, secret string) {
		said := parseAPIError(raw, words())
		if got := excerpt(said.text, secret); got == "" || len(got) > maxExcerpt+len("…") || said.delay < 0 {
			t.Errorf("of %q: got %q and a delay of %s, want a short text and no time past", raw, got, said.delay)
		}
	})
}

// TestRefused reads how providers and proxies say that a filter blocked the request, and errors
// that only look like it.
func TestRefused(t *testing.T) {
	const azure = `{"error": {"message": "The response was filtered", "code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation", ` +
		`"content_filter_result": {"violence": {"filtered": true, "severity": "medium"}, "hate": {"filtered": false}}}}}`
	for _, test := range []struct {
		status int
		body   string
		want   string // the reason, empty if nothing was refused
	}{
		{400, azure, "content_filter: violence: The response was filtered"},
		{200, azure, "content_filter: violence: The response was filtered"},
		{400, `{"error": {"message": "ContentPolicyViolationError: AzureException", "type": null, "code": "400"}}`, "blocked: ContentPolicyViolationError: AzureException"},
		{400, `{"type": "error", "error": {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}}`, "blocked: Output blocked by content filtering policy"},
		{400, `{"error": {"message": "Your prompt was flagged as potentially violating our usage policy.", "code": "invalid_prompt"}}`, "blocked: Your prompt was flagged as potentially violating our usage policy."},
		{400, `{"error": {"message": "high risk", "type": "content_filter"}}`, "content_filter: high risk"},
		{400, `{"error": {"message": "Content Exists Risk", "type": "invalid_request_error", "code": "invalid_request_error"}}`, "blocked: Content Exists Risk"},
		{403, `{"error": {"message": "This model requires moderation and your input was flagged", "code": 403}}`, "blocked: This model requires moderation and your input was flagged"},
		{400, `{"error": {"message": "Violated guardrail policy", "code": "400"}}`, "blocked: Violated guardrail policy"},
		{403, `{"code": "The caller does not have permission", "error": "Content violates usage guidelines. Failed check: SAFETY"}`, "blocked: Content violates usage guidelines. Failed check: SAFETY"},
		{500, azure, ""},
		{400, `{"error": {"message": "unknown field content_filter", "innererror": 5}}`, ""},
		{403, `{"error": {"message": "your account may not use this model"}}`, ""},
	} {
		var got *provider.Failure
		if test.status == http.StatusOK {
			got = DecodeFailure([]byte(test.body), errors.New("no list of choices"), provider.Endpoint{Errors: words()})
		} else {
			to := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			})
			_, err := send(t, to, time.Minute)
			got, _ = errors.AsType[*provider.Failure](err)
		}
		if got == nil || got.Refusal != test.want || test.want != "" && got.Retryable {
			t.Errorf("%d %s: got %+v, want refusal %q", test.status, test.body, got, test.want)
		}
	}
}

// TestContextOverflow reads how providers and servers say that a request does not fit into the
// model's context, and errors that only look like it.
func TestContextOverflow(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   bool
	}{
		{400, `{"error": {"message": "This model's maximum context length is 4096 tokens. However, you requested 4100.", "code": "context_length_exceeded"}}`, true},
		{400, `{"message": "Input is too long for requested model."}`, true},
		{400, `{"code": "x", "error": "This model's maximum prompt length is 131072 but the request contains 200000 tokens."}`, true},
		{400, `{"error": {"message": "Invalid request: Your request exceeded model token limit: 8192", "type": "invalid_request_error"}}`, true},
		{400, `{"code": "InvalidParameter", "message": "Range of input length should be [1, 30720]"}`, true},
		{413, `{"error": {"code": "tokens_limit_reached", "message": "Request body too large for gpt-4o model. Max size: 8000 tokens."}}`, true},
		{400, `{"error": {"code": "1261", "message": "Prompt"}}`, true},
		{400, `{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 213463 tokens > 200000 maximum"}}`, true},
		{400, `{"error": {"code": 400, "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}`, true},
		{400, `{"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error", "n_ctx": 4096}}`, true},
		{400, `{"message": "too many tokens: total number of tokens in the prompt cannot exceed 4096"}`, true},
		{400, `{"object": "error", "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", "code": 3051}`, true},
		{413, `{"error": "inputs tokens: the prompt's context length is too large"}`, true},
		{500, `{"error": "input length exceeds the context window"}`, true},
		{429, `{"error": {"message": "Request too large: too many tokens per minute", "code": "rate_limit_exceeded"}}`, false},
		{400, `{"error": {"message": "max_tokens is too large: 100000"}}`, false},
		{400, `{"error": {"message": "max_tokens exceeds the model's maximum of output tokens"}}`, false},
		{401, `{"error": {"message": "context window"}}`, false},
		{400, `{"error": {"message": "tools: a name is too long"}}`, false},
	} {
		to := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
		})
		_, err := send(t, to, time.Minute)
		got, _ := errors.AsType[*provider.Failure](err)
		if got == nil || got.ContextOverflow != test.want || test.want && got.Retryable {
			t.Errorf("%d %s: got %+v, want overflow %t", test.status, test.body, got, test.want)
		}
	}
}
