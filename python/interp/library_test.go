package interp

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// TestLibrary calls functions of programs that use a library's names.
func TestLibrary(t *testing.T) {
	library := NewLibrary(Names{Functions: []string{"quiet", "at.echo", "at.fail"}, Decorators: []string{"plain"}, Exceptions: []string{"desk.LostError"}})
	for _, test := range []struct{ body, want string }{
		{"return at.echo(x, y, a=NOT_GIVEN, b=None)", "{'args': [1, 'y'], 'kwargs': {'b': None}}"},
		{"return [bool(NOT_GIVEN), NOT_GIVEN is NOT_GIVEN, y is NOT_GIVEN, NOT_GIVEN == None]", "[False, True, False, False]"},
		{"at.fail()", "ValueError: no such thing"},
		{"raise LostError('x')", "desk.LostError: x"},
		{"try:\n    raise LostError('x')\n  except LostError as e:\n    return str(e)", "'x'"},
		{"return echo()", "NameError: name 'echo' is not defined"},
		{"global n\n  n = n + 1\n  return n", "1"},
		{"print(x)\n  return plain(quiet)()", "None"},
		{"return quiet", "TypeError: Object of type function is not JSON serializable"},
	} {
		program, err := syntax.Parse("n = 0\n@plain\n@plain\ndef f(x, y='y'):\n  " + test.body + "\n")
		if err != nil {
			t.Fatal(err)
		}
		def, ok := program.Body[1].(*syntax.Def)
		if !ok {
			t.Fatalf("got %T, want a function", program.Body[1])
		}
		args := []python.Arg{{Name: "x", Value: python.Int(1), Given: true}, {Name: "y", Value: python.Int(2)}}
		prepared := library.Prepare(program)
		for range 2 { // calls share nothing
			result, outcome := prepared.Call(t.Context(), def, args, &moduleHost{})
			got := python.Repr(result)
			if outcome.Err != nil {
				got = outcome.Err.Error()
			}
			if got != test.want {
				t.Errorf("%s: got %s, want %s", test.body, got, test.want)
			}
		}
	}
	if !library.Has("at") || !library.Has("len") || !library.Has("LostError") || library.Has("echo") {
		t.Error("Has: want true for at, len and LostError, false for echo")
	}
}

// moduleHost has the functions of testHost in a module.
type moduleHost struct{ testHost }

func (*moduleHost) Callable(string) bool { return false }

func (o *moduleHost) Call(name string, positional []python.Value, keyword *python.Dict) (python.Value, error) {
	if len(name) > 3 && name[:3] == "at." {
		name = name[3:]
	}
	return o.testHost.Call(name, positional, keyword)
}

// TestDecorators checks that decorators run as in Python.
func TestDecorators(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"def twice(f):\n  return lambda x: f(f(x))\n@twice\ndef g(x):\n  return x + 1\nprint(g(1))\n", "3\n"},
		{"def a(f):\n  print('a')\n  return f\ndef b(n):\n  print(n)\n  return lambda f: 5\n@a\n@b(7)\ndef g(): pass\nprint(g)\n", "7\na\n5\n"},
		{"@print\ndef g():\n  pass\n", "<function g at 0x7F0000000000>\n"},
		{"def f():\n  @str\n  def g(): pass\n  return g[:11]\nprint(f())\n", "<function g\n"},
		{"@missing\ndef g(): pass\n", "NameError: name 'missing' is not defined"},
		{"@5\ndef g(): pass\n", "TypeError: 'int' object is not callable"},
	} {
		if got := runText(test.source); got != test.want {
			t.Errorf("%q: got %q, want %q", test.source, got, test.want)
		}
	}
	for _, source := range []string{"@a\nx = 1\n", "@a def f(): pass\n", "@\ndef f(): pass\n", "@a\n", "@a\nclass f: pass\n"} {
		if _, err := syntax.Parse(source); err == nil {
			t.Errorf("%q: got no error, want one", source)
		}
	}
}

// TestEvalExpression evaluates expressions with variables and with functions of the host.
func TestEvalExpression(t *testing.T) {
	library := NewLibrary(Names{Functions: []string{"at.echo"}})
	for _, test := range []struct{ source, want string }{
		{"x + len(y)", "3"},
		{"x +\n\nlen(\ny)  # both\n", "3"},
		{" x", "1"},
		{"[a * x for a in range(3) if a]", "[1, 2]"},
		{"(lambda x: x + 1)(x)", "2"},
		{"[x := 5, x]", "[5, 5]"},
		{"f'{x:.2f}'", "'1.00'"},
		{"at.echo(x, a=y)['kwargs']", "{'a': 'yy'}"},
		{"z", "NameError: name 'z' is not defined"},
		{"[a for a in range(10**9)]", "TimeoutError: more than 200000 steps are needed"},
		{"(lambda f: f(f))(lambda f: f(f))", "RecursionError: maximum recursion depth exceeded"},
	} {
		expression, err := syntax.ParseExpression(test.source, "x", "y")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // evaluations share nothing
			result, outcome := library.Eval(t.Context(), expression, []python.Value{python.Int(1), python.Str("yy")}, &moduleHost{})
			got := python.Repr(result)
			if outcome.Err != nil {
				got = outcome.Err.Error()
			}
			if got != test.want {
				t.Errorf("%s: got %s, want %s", test.source, got, test.want)
			}
		}
	}
	for _, source := range []string{"", "x y", "x = 1", "x) + (x", "x\n  y", "[x", "x;", "return x", "*x", "x\x00", strings.Repeat("x", 40_000)} {
		if _, err := syntax.ParseExpression(source, "x"); err == nil {
			t.Errorf("%.20q: got no error, want one", source)
		}
	}
}

// TestPrepare checks that what a call changes at the top of a file is made anew for the next call.
func TestPrepare(t *testing.T) {
	for _, test := range []struct{ top, body, want string }{
		{"seen = []", "seen.append(1)\n  return len(seen)", "1"},
		{"seen = {}", "seen['a'] = len(seen)\n  return seen", "{'a': 0}"},
		{"seen = ([],)", "seen[0].append(1)\n  return seen", "[[1]]"},
		{"n = 1\nn = [2]\nn = 3", "return n", "3"},
		{"n = [2]\nfrom json import dumps as n\nn = 4", "return n", "4"},
		{"def g(x=[]):\n  x.append(1)\n  return x", "return g() + g()", "[1, 1, 1, 1]"},
		{"n = 5\ndef g(x=n):\n  return x", "return g()", "5"},
	} {
		file, err := syntax.Parse(test.top + "\ndef f():\n  " + test.body + "\n")
		if err != nil {
			t.Fatal(err)
		}
		def, ok := file.Body[len(file.Body)-1].(*syntax.Def)
		if !ok {
			t.Fatalf("got %T, want a function", file.Body[len(file.Body)-1])
		}
		program := NewLibrary(Names{}).Prepare(file)
		for call := range 2 {
			result, outcome := program.Call(t.Context(), def, nil, &moduleHost{})
			if got := python.Repr(result); outcome.Err != nil || got != test.want {
				t.Errorf("%s: call %d of %s: got %s and %v, want %s", test.top, call, test.body, got, outcome.Err, test.want)
			}
		}
	}
}

// TestMessages checks the message of an exception of json or re, which is without the position.
func TestMessages(t *testing.T) {
	for source, want := range map[string]string{
		"json.loads('[1,')":   "Expecting value\nExpecting value: line 1 column 4 (char 3)\n",
		"json.loads('1: 2')":  "Extra data\nExtra data: line 1 column 2 (char 1)\n",
		"re.compile('(')":     "missing ), unterminated subpattern\nmissing ), unterminated subpattern at position 0\n",
		"re.compile('(?z)a')": "unknown extension ?z\nunknown extension ?z at position 1\n",
	} {
		printed, exception := callFile(t, "import json, re\ndef run():\n    try:\n        "+source+"\n    except (ValueError, re.error) as e:\n        print(e.msg)\n        print(e)\n")
		if printed+exception != want {
			t.Errorf("%s: got %q, want %q", source, printed+exception, want)
		}
	}
}
