package dialect

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// vector is the part of a case that this package needs: an answer and the original's result.
type vector struct {
	Case, Expect  string
	Augmentations []string
	Response      json.RawMessage
	Result        json.RawMessage
}

// raisedLater reports whether the original raises the exception when it looks up the tool, outside
// of this package.
func raisedLater(text *provider.Answer, exception string) bool {
	return exception == exceptionKey && text.Raised == nil && len(text.Calls) > 0
}

// TestVectors compares with the original's results.
func TestVectors(t *testing.T) {
	codecs := load(t, "")
	for _, name := range []string{Hermes, Gorilla, Mistral, Cohere} {
		file := vectortest.Dir(t, filepath.Join("roles", name+".jsonl"))
		compared := 0
		vectortest.Lines(t, file, func(line int, raw []byte) {
			var v vector
			if err := json.Unmarshal(raw, &v); err != nil {
				t.Fatalf("%s:%d: %v", file, line, err)
			}
			if !strings.HasPrefix(v.Case, "answer/") || v.Expect != "equal" && v.Expect != "model_error" {
				return
			}
			compared++
			text, err := codecs[name].Decode(v.Response)
			if err != nil {
				t.Errorf("%s:%d %s: %v", file, line, v.Case, err)
				return
			}
			var failed struct {
				Type string `json:"exception_type"`
			}
			if v.Expect == "model_error" {
				if err := json.Unmarshal(v.Result, &failed); err != nil {
					t.Fatalf("%s:%d: %v", file, line, err)
				}
				if raisedLater(text, failed.Type) {
					return
				}
				if text.Raised == nil || text.Raised.Exception != failed.Type {
					t.Errorf("%s:%d %s: got %+v, want a %s", file, line, v.Case, text.Raised, failed.Type)
				}
				return
			}
			if diff := cmp.Diff(wanted(t, v.Result), made(t, text)); diff != "" || text.Raised != nil {
				t.Errorf("%s:%d %s: raised %v (-want +got):\n%s", file, line, v.Case, text.Raised, diff)
			}
		})
		if compared < 10 {
			t.Errorf("%s: got %d answers to compare, want more", file, compared)
		}
	}
}

// row is a message of the vectors, with the role's name of the tool.
type row struct {
	Content  string
	ID, Name *string
}

func wanted(t *testing.T, raw json.RawMessage) []row {
	t.Helper()
	var rows []struct {
		Content string
		ID      *string `json:"openai_tool_call_id"`
		Name    *string `json:"openai_function_name"`
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	var list []row
	for _, r := range rows {
		if r.Name != nil { // the source names the tool as the environment knows it
			r.Content, _, _ = strings.Cut(r.Content, "\n")
		}
		list = append(list, row{r.Content, r.ID, r.Name})
	}
	return list
}

func made(t *testing.T, text *provider.Answer) []row {
	t.Helper()
	if len(text.Calls) == 0 {
		return []row{{Content: text.Text}}
	}
	var list []row
	for _, call := range text.Calls {
		arguments, err := python.ParseJSON(call.Arguments)
		if err != nil {
			t.Fatal(err)
		}
		written := python.Repr(arguments)
		if text, ok := arguments.AsStr(); ok { // the original writes it without quotes
			written = text
		}
		content, _, _ := strings.Cut(messagetext.ComposeSource(*call.ID, call.Name, written), "\n")
		list = append(list, row{content, call.ID, &call.Name})
	}
	return list
}

func load(tb testing.TB, dir string) map[string]Codec {
	tb.Helper()
	codecs, err := Load(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return codecs
}
