package httpclient

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// TestDecodeFailure checks errors that come with a status of success.
func TestDecodeFailure(t *testing.T) {
	again := func(detail string) provider.Failure { return provider.Failure{Retryable: true, Detail: detail} }
	tests := map[string]struct {
		body string
		want provider.Failure
	}{
		"OpenRouter's rate": {`{"error":{"code":429,"message":"Rate limit exceeded"}}`, provider.Failure{Status: 429, Retryable: true, Detail: "Rate limit exceeded"}},
		"a code as a text":  {`{"error":{"code":"503","message":"m"}}`, provider.Failure{Status: 503, Retryable: true, Detail: "m"}},
		"no credit":         {`{"error":{"code":402,"message":"m"}}`, provider.Failure{Status: 402, NoCredit: true, Detail: "the account has no credit left: m"}},
		"a word for that":   {`{"error":{"code":"insufficient_quota","message":"m"}}`, provider.Failure{Status: 402, NoCredit: true, Detail: "the account has no credit left: m"}},
		"a bad request":     {`{"error":{"code":400,"message":"m"}}`, provider.Failure{Status: 400, Detail: "m"}},
		"a bad key":         {`{"error":{"code":401,"message":"` + secret + `"}}`, provider.Failure{Status: 401, Detail: "[key]"}},
		"no permission":     {`{"error":{"code":403,"message":"m"}}`, provider.Failure{Status: 403, Detail: "m"}},
		"no model":          {`{"error":{"code":404,"message":"m"}}`, provider.Failure{Status: 404, Detail: "m"}},
		"Anthropic's":       {`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, provider.Failure{Status: 529, Retryable: true, Detail: "Overloaded"}},
		"Anthropic's key":   {`{"type":"error","error":{"type":"authentication_error","message":"m"}}`, provider.Failure{Status: 401, Detail: "m"}},
		"Google's": {
			`[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"3s"}]}}]`,
			provider.Failure{Status: 429, Retryable: true, RetryAfter: 3 * time.Second, Detail: "m"},
		},
		"a rate within a choice": {
			`{"choices":[{"error":{"code":429,"message":"slow down"},"finish_reason":"error","message":{"content":"Turning Wi"}}]}`,
			provider.Failure{Status: 429, Retryable: true, Detail: "slow down"},
		},
		"no credit within a choice": {
			`{"error":null,"choices":[{"error":{"code":402,"message":"m"}}]}`, provider.Failure{Status: 402, NoCredit: true, Detail: "the account has no credit left: m"},
		},
		"flagged within a choice": {`{"error":{},"choices":[{"error":{"code":403,"message":"` + secret + `"}},5]}`, provider.Failure{Status: 403, Detail: "[key]"}},
		"a gateway in a choice":   {`{"choices":[{"error":{"code":502,"message":"m"}}]}`, provider.Failure{Status: 502, Retryable: true, Detail: "m"}},
		"a word within a choice":  {`{"choices":[{"error":{"code":"overloaded_error","message":"m"}}]}`, provider.Failure{Status: 529, Retryable: true, Detail: "m"}},
		"an odd code in a choice": {`{"choices":[{"error":{"code":7,"message":"m"}}]}`, again("the answer is an error: m")},
		"the whole counts more":   {`{"error":{"code":401,"message":"m"},"choices":[{"error":{"code":429}}]}`, provider.Failure{Status: 401, Detail: "m"}},
		"of the second choice":    {`{"choices":[{},{"error":{"code":402,"message":"m"}}]}`, again(`e: "{\"choices\":[{},{\"error\":{\"code\":402,\"message\":\"m\"}}]}"`)},
		"no list of choices":      {`{"choices":{"error":5}}`, again(`e: "{\"choices\":{\"error\":5}}"`)},
		"a failed response":       {`{"status":"failed","error":{"code":"server_error","message":"m"},"output":[]}`, provider.Failure{Status: 500, Retryable: true, Detail: "m"}},
		"a prompt":                {`{"status":"failed","error":{"code":"invalid_prompt","message":"m"},"output":[]}`, provider.Failure{Status: 400, Detail: "m"}},
		"a policy":                {`{"status":"failed","error":{"code":"bio_policy","message":"m"},"output":[]}`, provider.Failure{Status: 400, Refusal: "bio_policy: m", Detail: "m"}},
		"an unknown code":         {`{"error":{"code":1302,"type":"odd","message":"m"}}`, again("the answer is an error: m")},
		"a text":                  {`{"error":"m"}`, again("the answer is an error: m")},
		"within a stream":         {"data: {\"choices\":[]}\n\ndata: {\"error\":{\"code\":401,\"message\":\"m\"}}\n\ndata: [DONE]\n\n", provider.Failure{Status: 401, Detail: "m"}},
		"a context in a stream": {
			"data: {\"error\":{\"message\":\"maximum context length\"}}\n\n", provider.Failure{ContextOverflow: true, Detail: "the answer is an error: maximum context length"},
		},
		"a failed stream": {
			"data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"m\"}}}\n\n",
			provider.Failure{Status: 429, Retryable: true, Detail: "m"},
		},
		"no error":         {`{"error":null,"x":"` + secret + `"}`, again(`e: "{\"error\":null,\"x\":\"[key]\"}"`)},
		"HTML":             {"<html>\n <p>", provider.Failure{Detail: `a page of HTML or XML instead of an answer: is the base URL that of the model's interface?: "<html> <p>"`}},
		"long":             {strings.Repeat("é", 2000), again(`e: "` + strings.Repeat("é", 100) + `"…`)},
		"a key at the cut": {strings.Repeat("x", 96) + secret, again(`e: "` + strings.Repeat("x", 96) + `[key"…`)},
		"empty":            {" ", again("e: it is empty")},
	}
	for name, test := range tests {
		if diff := cmp.Diff(&test.want, DecodeFailure([]byte(test.body), errors.New("e"), provider.Endpoint{Secret: secret, Errors: words()})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzDecodeFailure(f *testing.F) {
	f.Add([]byte(`{"error": {"message": "m", "code": 429}}`), "m")
	f.Add([]byte(`{"choices": [{"error": {"message": "m", "code": 402}}, 5]}`), "m")
	f.Add([]byte("<html>"), "")
	f.Fuzz(func(t *testing.T, body []byte, secret string) {
		got := DecodeFailure(body, errors.New("e"), provider.Endpoint{Secret: secret, Errors: words()})
		if got.Detail == "" || len(got.Detail) > 2000 || got.NoCredit && got.Retryable || got.Status != 0 && (got.Status < 400 || got.Status > maxStatus) {
			t.Errorf("of %q: got %+v, want a short detail and the status of an error", body, got)
		}
	})
}
