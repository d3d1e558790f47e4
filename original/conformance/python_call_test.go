package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// callVector is one case of calls/*.jsonl, or of raw_source.jsonl, which has source in place of
// tool and arguments.
type callVector struct {
	Expect    string
	Tool      string
	Arguments string
	CallID    *string `json:"call_id"`
	Source    string
	Content   string
	Exception *string
	Raises    any
	ToolTrace []string `json:"tool_trace"`
}

// toolSignatures reads the tools' parameters from the schema vectors.
func toolSignatures(t *testing.T) map[string]python.Signature {
	t.Helper()
	raw, err := os.ReadFile(vectortest.Dir(t, "tools/schemas.json"))
	if err != nil {
		t.Fatalf("read schemas: %v", err)
	}
	var file struct{ Signatures, Modules map[string]string }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatalf("parse schemas: %v", err)
	}
	all := make(map[string]python.Signature)
	for tool, text := range file.Signatures {
		all[tool] = python.Signature{Func: "tool_sandbox.tools." + file.Modules[tool] + "." + tool, Params: paramsOf(t, text)}
	}
	return all
}

// paramsOf reads a printed signature such as (a: str, b: Union[str, int] = 5) -> None. A default
// that is no literal is the empty str, which no tool uses.
func paramsOf(t *testing.T, text string) []python.Param {
	t.Helper()
	var params []python.Param
	depth, start := 0, 1
	for i, c := range text {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
		if (depth != 1 || c != ',') && (depth != 0 || c != ')') {
			continue
		}
		if field := strings.TrimSpace(text[start:i]); field != "" {
			name, annotation, _ := strings.Cut(field, ": ")
			_, literal, optional := strings.Cut(annotation, " = ")
			def, err := syntax.ParseLiteral(literal)
			if err != nil {
				def = python.Str("")
			}
			params = append(params, python.Param{Name: name, HasDefault: optional, Default: def})
		}
		start = i + 1
		if depth == 0 {
			break
		}
	}
	return params
}

// isBindingError reports whether the text is one that binding alone produces.
func isBindingError(text string) bool {
	for _, part := range []string{
		"TypeError: missing a required argument: ", "TypeError: got an unexpected keyword argument ",
		"TypeError: too many positional arguments", "TypeError: multiple values for argument ",
	} {
		if strings.HasPrefix(text, part) {
			return true
		}
	}
	return strings.Contains(text, "() argument after ** must be a mapping, not ")
}

// checkBound compares the outcome of a binding with what the original answered and traced.
func checkBound(t *testing.T, where string, c callVector, bound []python.Arg, err error) {
	t.Helper()
	want := ""
	if c.Exception != nil && isBindingError(*c.Exception) {
		want = *c.Exception
	}
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("%s: bind error = %q, want %q", where, got, want)
		return
	}
	for _, trace := range c.ToolTrace {
		v, err := python.ParseJSON(trace)
		if err != nil || python.JSON(v) != trace {
			t.Errorf("%s: JSON(ParseJSON(trace)) = %s, %v, want %s", where, python.JSON(v), err, trace)
			return
		}
		var args python.Dict
		for _, arg := range bound {
			if arg.Given || !arg.Value.Equal(python.Str("")) {
				args.Set(arg.Name, arg.Value)
			}
		}
		called, _ := v.AsDict()
		golden, _ := called.Get("arguments")
		if diff := cmp.Diff(python.JSON(golden), python.JSON(args.Value())); diff != "" {
			t.Errorf("%s: arguments (-want +got):\n%s", where, diff)
		}
	}
}

func TestBindVectors(t *testing.T) {
	t.Parallel()
	signatures := toolSignatures(t)
	files, err := filepath.Glob(filepath.Join(vectortest.Dir(t, "tools/calls"), "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("find call vectors: %d files, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		vectorLines(t, "calls/"+name, func(_ int, c callVector) {
			if c.Raises != nil || c.Expect == "best_effort" {
				return
			}
			where := name + " " + c.Arguments
			args, err := python.ParseJSON(c.Arguments)
			if err != nil {
				t.Errorf("%s: ParseJSON: %v", where, err)
				return
			}
			if c.Exception == nil {
				answer, err := syntax.ParseLiteral(c.Content)
				if err != nil || python.Repr(answer) != c.Content {
					t.Errorf("%s: Repr(ParseLiteral(content)) = %s, %v, want %s", where, python.Repr(answer), err, c.Content)
				}
			}
			if args.Kind() == python.KindStr {
				return
			}
			bound, err := signatures[c.Tool].BindMapping(args)
			checkBound(t, where, c, bound, err)
		})
	}
}
