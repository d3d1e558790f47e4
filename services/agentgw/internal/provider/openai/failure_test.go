package openai

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// TestServerError checks answers that the server could not complete.
func TestServerError(t *testing.T) {
	const begun = `"message":{"role":"assistant","content":"Turning Wi"}`
	const called = `"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`
	tests := []struct{ body, want string }{
		{`{"choices":[{"finish_reason":"error","error":{"code":502,"message":"Provider\nreturned error"},` + begun + `}]}`, "502: Provider returned error"},
		{`{"choices":[{"finish_reason":"stop","error":{"code":"server_error","message":"lost"},` + begun + `}]}`, "server_error: lost"},
		{`{"choices":[{"finish_reason":null,"error":{"message":"lost"},` + called + `}]}`, "the server failed within it: lost"},
		{`{"choices":[{"finish_reason":"error","error":"lost"}]}`, `"lost"`},
		{`{"choices":[{"error":{"message":5}}]}`, `{"message":5}`},
		{`{"choices":[{"finish_reason":"error",` + called + `}]}`, "finish_reason error"},
		{`{"choices":[{"finish_reason":"abort","error":null,` + begun + `}]}`, "finish_reason abort"},
		{`{"choices":[{"finish_reason":"insufficient_system_resource","message":{"content":""}}]}`, "finish_reason insufficient_system_resource"},
		{`{"error":{"code":429,"message":"slow down"}}`, "429: slow down"},
		{`{"choices":[{"error":{"code":402,"message":"inner"}}],"error":{"code":401,"message":"outer"}}`, "401: outer"},
		{`{"choices":[],"error":{"code":502,"message":"away"}}`, "502: away"},
	}
	for _, test := range tests {
		got, err := Codec{}.Decode([]byte(test.body))
		if !errors.Is(err, provider.ErrAnswer) || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("Decode(%s): got %+v and %v, want ErrAnswer that ends with %q", test.body, got, err, test.want)
		}
	}
	long := `{"choices":[{"error":{"message":"` + strings.Repeat("x", 1<<20) + `"}}]}`
	if _, err := (Codec{}).Decode([]byte(long)); err == nil || len(err.Error()) > 1<<10 {
		t.Errorf("an error of %d bytes: got %.999v, want a short one", len(long), err)
	}
}

// TestServerErrorCompat accepts any finish reason, as the original does, unless the server reports
// an error.
func TestServerErrorCompat(t *testing.T) {
	for body, want := range map[string]string{
		`{"choices":[{"finish_reason":"error","message":{"content":"x"}}]}`:                            "x",
		`{"choices":[{"finish_reason":"abort","error":null,"message":{"content":"x"}}]}`:               "x",
		`{"choices":[{"finish_reason":"error","error":{"message":"lost"},"message":{"content":"x"}}]}`: "",
		`{"choices":[{"finish_reason":"error","message":{"content":"x"}}],"error":{"message":"lost"}}`: "",
	} {
		got, err := Codec{Compat: true}.Decode([]byte(body))
		if (err != nil) != (want == "") || err == nil && got.Text != want {
			t.Errorf("Decode(%s): got %+v and %v, want the text %q", body, got, err, want)
		}
	}
}

// TestFinished accepts answers with finish reasons that are no known failure.
func TestFinished(t *testing.T) {
	for _, end := range []string{
		`"finish_reason":"stop"`, `"finish_reason":"length"`, `"finish_reason":"tool_calls"`, `"finish_reason":"content_filter"`, `"finish_reason":"eos"`,
		`"finish_reason":null`, `"finish_reason":5`, `"finish_reason":"stop","error":null`, `"finish_reason":"stop","error":{}`, `"index":0`,
	} {
		got, err := Codec{}.Decode([]byte(`{"choices":[{` + end + `,"message":{"content":"x"}},{"finish_reason":"error"}],"error":null}`))
		if err != nil || got.Text != "x" {
			t.Errorf("%s: got %+v and %v, want the text x", end, got, err)
		}
	}
}
