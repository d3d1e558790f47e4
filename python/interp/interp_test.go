package interp

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// testHost has a function that returns its arguments, one that fails and one without a result.
type testHost struct{ calls []string }

func (d *testHost) Callable(name string) bool {
	return name == "echo" || name == "fail" || name == "quiet"
}

func (d *testHost) Call(name string, positional []python.Value, keyword *python.Dict) (python.Value, error) {
	d.calls = append(d.calls, name)
	switch name {
	case "fail":
		return python.Value{}, &python.Exception{Type: "ValueError", Text: "no such thing"}
	case "echo":
		return python.DictOf(python.Item{Key: "args", Value: python.List(positional...)}, python.Item{Key: "kwargs", Value: keyword.Value()}), nil
	default:
		return python.None(), nil
	}
}

// runText runs source and returns its output, followed by its exception.
func runText(source string) string {
	output, exception := runSource(source)
	return output + exception
}

// runSource runs source and returns its output and its exception.
func runSource(source string) (output, exception string) {
	program, err := syntax.Parse(source)
	if err != nil {
		return "", err.Error()
	}
	outcome := Run(context.Background(), program, &testHost{})
	if outcome.Err != nil {
		return outcome.Output, outcome.Err.Error()
	}
	return outcome.Output, ""
}

// TestPython compares output and exceptions with those of Python.
func TestPython(t *testing.T) {
	for _, c := range golden(t) {
		want := c.Output + c.Exception
		if got := runText(c.Source); got != want {
			t.Errorf("%q: got %q, want %q", c.Source, got, want)
		}
	}
}

type goldenCase struct{ Source, Output, Exception string }

func golden(tb testing.TB) []goldenCase {
	tb.Helper()
	data, err := os.ReadFile("testdata/python.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	var cases []goldenCase
	for _, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var c goldenCase
		if err := json.Unmarshal(line, &c); err != nil {
			tb.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

func TestTools(t *testing.T) {
	tests := []struct {
		name, source, want string
		calls              []string
	}{
		{"arguments", "print(echo(1, 'a', b=[1.0, None, (True,)], c={'d': 2}))", "{'args': [1, 'a'], 'kwargs': {'b': [1.0, None, [True]], 'c': {'d': 2}}}\n", []string{"echo"}},
		{"unpacked arguments", "print(echo(*[1, 2], **{'x': 3}))", "{'args': [1, 2], 'kwargs': {'x': 3}}\n", []string{"echo"}},
		{"huge int", "print(echo(99999999999999999999))", "{'args': [99999999999999999999], 'kwargs': {}}\n", []string{"echo"}},
		{"the result is the caller's own", "x = echo(1)\nx['args'].append(2)\nprint(x, echo(1)['args'])", "{'args': [1, 2], 'kwargs': {}} [1]\n", []string{"echo", "echo"}},
		{"nothing is returned", "print(quiet())", "None\n", []string{"quiet"}},
		{"an exception ends the source", "print('a')\nfail()\nprint('b')", "a\nValueError: no such thing", []string{"fail"}},
		{"an exception inside a function", "def f(x): return fail()\nprint(sorted([1], key=f))", "ValueError: no such thing", []string{"fail"}},
		{"not callable", "print(missing())", "NameError: name 'missing' is not defined", nil},
		{"only what is reached is called", "if False: fail()\nprint([echo(i)['args'] for i in range(2)])", "[[0], [1]]\n", []string{"echo", "echo"}},
		{"shadowed", "def echo(x): return x\nprint(echo(5))", "5\n", nil},
		{"argument given twice", "echo(a=1, **{'a': 2})", "TypeError: echo() got multiple values for keyword argument 'a'", nil},
		{"argument is no value", "echo(print)", "TypeError: Object of type builtin_function_or_method is not JSON serializable", nil},
		{"imports of the original", "from tool_sandbox.tools.contact import echo\nimport typing\nprint(echo())", "{'args': [], 'kwargs': {}}\n", []string{"echo"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			program, err := syntax.Parse(test.source)
			if err != nil {
				t.Fatalf("Compile(%q): %v", test.source, err)
			}
			d := &testHost{}
			outcome := Run(t.Context(), program, d)
			got := outcome.Output
			if outcome.Err != nil {
				got += outcome.Err.Error()
			}
			if got != test.want {
				t.Errorf("%q: got %q, want %q", test.source, got, test.want)
			}
			if diff := cmp.Diff(test.calls, d.calls); diff != "" {
				t.Errorf("%q: calls (-want +got):\n%s", test.source, diff)
			}
		})
	}
}

// TestSpecialNames checks that a special name that values lack is no silent answer, unlike others.
func TestSpecialNames(t *testing.T) {
	const refused = "() knows no special names such as __len__ here; ask with isinstance() or callable()"
	for source, want := range map[string]string{
		"print(hasattr('', 'upper'), hasattr('', 'nothing'), hasattr(len, '__name__'), getattr(5, 'nothing', 7))": "True False True 7\n",
		"hasattr([], '__len__')":         "TypeError: hasattr" + refused,
		"getattr([], '__len__', None)":   "TypeError: getattr" + refused,
		"getattr([], '__len__')":         "AttributeError: 'list' object has no attribute '__len__'",
		"print(hasattr(5, '____'))":      "False\n",
		"print(hasattr(5, '__class__'))": "True\n",
	} {
		if got := runText(source); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

func TestSyntax(t *testing.T) {
	at := func(line, column int, text, message string) string {
		mark := strings.Repeat(" ", 4+column) + "^\n"
		return "  File \"<input>\", line " + string(rune('0'+line)) + "\n    " + text + "\n" + mark + message + "\n"
	}
	incomplete := func(source string) string {
		return "Error: The given code was incomplete and could not be executed: '" + source + "'"
	}
	tests := []struct{ source, want string }{
		{"a b", at(1, 2, "a b", "SyntaxError: invalid syntax")},
		{"x = ", at(1, 4, "x = ", "SyntaxError: invalid syntax")},
		{"x = 1\ny = (", incomplete("x = 1\ny = (")},
		{"if True:", incomplete("if True:")},
		{"for x in y:\n    # nothing", incomplete("for x in y:\n    # nothing")},
		{"'''text", incomplete("'''text")},
		{"x = 1\nif x:\ny = 2", at(3, 0, "y = 2", "IndentationError: expected an indented block")},
		{"x = 1\n  y = 2", "  File \"<input>\", line 2\n    y = 2\nIndentationError: unexpected indent\n"},
		{"# one\rx y", at(2, 2, "x y", "SyntaxError: invalid syntax")},
		{"x = 'a\rb'", at(1, 6, "x = 'a", "SyntaxError: EOL while scanning string literal")},
		{"if 1:\n\tx = 1\n        y = 2", "  File \"<input>\", line 3\n    y = 2\nTabError: inconsistent use of tabs and spaces in indentation\n"},
		{"if 1:\n        if 1:\n\t\tx = 1", at(3, 0, "\t\tx = 1", "TabError: inconsistent use of tabs and spaces in indentation")},
		{"if 1:\n    if 1:\n\tx = 1", at(3, 0, "\tx = 1", "TabError: inconsistent use of tabs and spaces in indentation")},
		{"if 1:\n        if 1:\n            x = 1\n\ty = 2", at(4, 0, "\ty = 2", "TabError: inconsistent use of tabs and spaces in indentation")},
		{"if 1:\n  x = 1\n\ty = 2", at(3, 0, "\ty = 2", "TabError: inconsistent use of tabs and spaces in indentation")},
		{"print('a)", at(1, 9, "print('a)", "SyntaxError: EOL while scanning string literal")},
		{"print(1))", at(1, 8, "print(1))", "SyntaxError: unmatched ')'")},
		{"[1)", at(1, 2, "[1)", "SyntaxError: closing parenthesis ')' does not match opening parenthesis '['")},
		{"Sure! I will.", at(1, 4, "Sure! I will.", "SyntaxError: invalid syntax")},
		{"print(“a”)", at(1, 6, "print(“a”)", "SyntaxError: invalid character '“' (U+201C)")},
		{"print 1, 2", at(1, 6, "print 1, 2", "SyntaxError: Missing parentheses in call to 'print'. Did you mean print(1, 2)?")},
		{"f() = 1", at(1, 0, "f() = 1", "SyntaxError: cannot assign to function call")},
		{"return 5", "  File \"<input>\", line 1\nSyntaxError: 'return' outside function\n"},
		{"break", "  File \"<input>\", line 1\nSyntaxError: 'break' outside loop\n"},
		{"def f(a, a): pass", "  File \"<input>\", line 1\nSyntaxError: duplicate argument 'a' in function definition\n"},
		{"f(a=1, a=2)", "  File \"<input>\", line 1\nSyntaxError: keyword argument repeated: a\n"},
		{"import a.b.", at(1, 11, "import a.b.", "SyntaxError: invalid syntax")},
		{"f'{'", at(1, 0, "f'{'", "SyntaxError: f-string: expecting '}'")},
		{"with x as y:\n    y", at(1, 0, "with x as y:", "SyntaxError: 'with' cannot be executed here")},
		{"x = 1; class A: pass", at(1, 7, "x = 1; class A: pass", "SyntaxError: 'class' cannot be executed here")},
		{"print('\x00')", "ValueError: source code string cannot contain null bytes\n"},
		{strings.Repeat("x = 1\n", 6000), "MemoryError: the source has 36000 bytes, at most 32768 can be executed"},
	}
	for _, test := range tests {
		_, err := syntax.Parse(test.source)
		if err == nil {
			t.Errorf("Compile(%.60q): got no error, want %q", test.source, test.want)
			continue
		}
		if got := err.Error(); got != test.want {
			t.Errorf("Compile(%.60q): got %q, want %q", test.source, got, test.want)
		}
	}
}

// TestConcurrent runs one program many times concurrently.
func TestConcurrent(t *testing.T) {
	program, err := syntax.Parse("x = []\nfor i in range(100):\n    x.append(echo(i))\nprint(len(x), x[-1])")
	if err != nil {
		t.Fatal(err)
	}
	const want = "100 {'args': [99], 'kwargs': {}}\n"
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if outcome := Run(context.Background(), program, &testHost{}); outcome.Output != want || outcome.Err != nil {
					t.Errorf("got %q, error %v, want %q", outcome.Output, outcome.Err, want)
				}
			}
		})
	}
	group.Wait()
}

// FuzzRun checks that every source ends in time, and gives the same answer twice.
func FuzzRun(f *testing.F) {
	for _, c := range golden(f) {
		f.Add(c.Source)
	}
	for _, source := range hostileSources() {
		f.Add(source[:min(len(source), 2000)])
	}
	f.Fuzz(func(t *testing.T, source string) {
		start := time.Now()
		got := runText(source)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q took %v", source, took)
		}
		if strings.Contains(got, "SystemError") && !strings.Contains(source, "Error") {
			t.Errorf("%q: got %q", source, got)
		}
		if again := runText(source); again != got {
			t.Errorf("%q: got %q, then %q", source, got, again)
		}
	})
}

func BenchmarkRun(b *testing.B) {
	program, err := syntax.Parse("for i in range(3):\n    print(f'{i}: {echo(i)}')")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if outcome := Run(context.Background(), program, &testHost{}); outcome.Err != nil {
			b.Fatal(outcome.Err)
		}
	}
}
