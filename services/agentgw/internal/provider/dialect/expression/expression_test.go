package expression

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

func TestParse(t *testing.T) {
	names := map[string]python.Value{"known": python.Str("value")}
	tests := []struct{ source, want string }{
		{"f()", "f({})"},
		{"f(a=1, b='x', c=None, d=True, e=1.5, g=[1, (2, 3)])", "f({'a': 1, 'b': 'x', 'c': None, 'd': True, 'e': 1.5, 'g': [1, [2, 3]]})"},
		{"f(a={'b': {1: 2, None: 3, True: 4, 1.5: 5}})", "f({'a': {'b': {'1': 2, 'null': 3, 'true': 4, '1.5': 5}}})"},
		{"f(1, 'x', a=2)", "f({'a': 2, 'None': [1, 'x']})"},
		{"f(**{'a': 1})", "f({'null': {'a': 1}})"},
		{"f(a=known)", "f({'a': 'value'})"},
		{"f(a=1, a=2)", "f({'a': 2})"},
		{"x = y = f()", "f({})"},
		{"x, [y.z] = f()", "f({})"},
		{"f(); g(1)", "f({})"},
		{"f()\n\n# and then\ng()", "f({})"},
		{"f(\n  a = 1, # one\n  b = 2,\n)", "f({'a': 1, 'b': 2})"},
		{"os.system('ls')", "os.system({'None': ['ls']})"},
		{"f(a=g(1, x='y', **z)[0])", ""},
		{"f(a=g(1+2*-3, x=('y',), *z))", ""},
		{"f(a=g(  1,x = \"y\", **z ))", `f({'a': "g(1, x='y', **z)"})`},
		{"f(a=g((1 + 2) * 3 - (4 - 5), -(6 ** -7) ** 8, {'k': {1}, }, (1,), ..., h.i(j)))", `f({'a': "g((1 + 2) * 3 - (4 - 5), -(6 ** -7) ** 8, {'k': {1}}, (1,), ..., h.i(j))"})`},
		{"f(a=2*3+1, b='k'+'m', c=f'm', d=7//2, e=-7//2, g=-7%3, h=7/2, i=2**10, j=2**-1)", "f({'a': 7, 'b': 'km', 'c': 'm', 'd': 3, 'e': -4, 'g': 2, 'h': 3.5, 'i': 1024, 'j': 0.5})"},
		{"f(a=1.5*2, b=1.5-1, c=7.5//2, d=-7.5%2, e=2.0**3, g=-1.5, h=+2, i=-True)", "f({'a': 3.0, 'b': 0.5, 'c': 3.0, 'd': 0.5, 'e': 8.0, 'g': -1.5, 'h': 2, 'i': -1})"},
		{"f(a='ab'*2, b=2*[1], c=[1]+[2], d='x'*-1)", "f({'a': 'abab', 'b': [1, 1], 'c': [1, 2], 'd': ''})"},
		{`f(a='it''s', b="\u00e9", c=r'\n', d='''x` + "\n" + `y''')`, `f({'a': 'its', 'b': 'é', 'c': '\\n', 'd': 'x\ny'})`},
		{"f(a=1e999)", "f({'a': inf})"},
		{"f(a=b'x')", "no JSON"}, {"f(a={1})", "no JSON"}, {"f(a=...)", "no JSON"}, {"f(a=int)", "no JSON"}, {"f(a={(1,): 2})", "no JSON"},
		{"", ""}, {"f", ""}, {"'done'", ""}, {"f(", ""}, {"f)", ""}, {"f(]", ""}, {"f() and so on", ""}, {"f() + 1", ""}, {"import os", ""},
		{"f(a=false)", ""}, {"f(a=b=1)", ""}, {"f(a==1)", ""}, {"f(a=1, 2)", ""}, {"f(*[1])", ""}, {"f(a=010)", ""}, {"f(a=1/0)", ""}, {"f(a=1%0)", ""},
		{"f(a='x'-'y')", ""}, {"f(a=-'x')", ""}, {"f(a=[g()])", ""}, {"f(a=f'{x}')", ""}, {"f(a={[1]: 2})", ""}, {"f(a=x.y)", ""}, {"f(a=not True)", ""},
		{"f() = 1", ""}, {"None = f()", ""}, {"f()\n  g()", ""}, {"for = f()", ""}, {"f(a='x)", ""}, {"f(class=1)", ""}, {"f(a={1: 2, 3})", ""}, {"f(a={1, 2: 3})", ""},
		{"f(a=0.0**-1)", ""}, {"f(a=[1]*'x')", ""}, {"f(a={}*2)", ""}, {"f(\x00)", ""}, {"f(a=(1)", ""}, {"f.1()", ""}, {"f(a=1 if b else 2)", ""}, {"f(a=lambda: 1)", ""},
	}
	for _, test := range tests {
		call, err := Parse(test.source, names)
		got := call.Tool + "(" + python.Repr(call.Arguments) + ")"
		switch {
		case errors.Is(err, ErrNoJSON):
			got = "no JSON"
		case errors.Is(err, ErrNoCall):
			got = ""
		case err != nil:
			t.Errorf("Parse(%q): got error %v, want ErrNoCall or ErrNoJSON", test.source, err)
		}
		if got != test.want {
			t.Errorf("Parse(%q): got %s, want %s", test.source, got, test.want)
		}
	}
}

// TestParseStatements shows in which statements a call counts, and what may follow it.
func TestParseStatements(t *testing.T) {
	const call, none = "f({})", ""
	tests := map[string]string{
		// The first statement.
		"x: T = f()": call, "x: List[str] | None = f()": call, "x[0] = f()": call, "x.y: T = f()": call, "x += f()": call, "x[0] //= f()": call,
		"return f()": call, "# call\nf()": call, "x = f(); y": call, "f();": call,
		"x: f()": none, "x, y: T = f()": none, "[x] += f()": none, "f() += f()": none, "return": none, "return f() if x": none, "return x = f()": none,
		"x := f()": none, "f()[0]": none, "await f()": none, "yield f()": none, "if x: f()": none, "for x in f(): pass": none, "x = y += f()": none,
		"x: T": none, "x: and = f()": none, "f(), g()": none, "f(a=x[0])": none, "f(a=[1][0])": none, "del f()": none, "@f()\ndef g(): pass": none,
		"f(a=g(x[0], y[1, 2], z[(3,)]))": "f({'a': 'g(x[0], y[1, 2], z[3,])'})",
		// What follows.
		"r = f()\nprint(r[0])": call, "r = f()\nif r is None:\n    print(\"ok\")": call, "f(); import os": call, "f()\nfrom . import a as b, c": call,
		"f()\nfrom .a.b import (c, d,)": call, "f()\nfor a, *b in c:\n  if not a: continue\n  d[a] = b\nelse:\n  pass\n\ng()": call,
		"f()\ntry:\n\tg()\nexcept (A, B) as e:\n\traise C from e\nfinally:\n\tpass": call, "f()\nwhile x != 3 and y not in z: x += 1; y = 2": call,
		"f()\ndef g(a, b: int = 1, *c, d=2, **e) -> List[str]:\n  global h\n  return [x for x in a if x] or {k: v for k, v in e.items()}": call,
		"f()\n@x.y\nclass C(D, metaclass=E):\n  a: int\n  b: int = 1":                                                                     call, "f()\nx = lambda a, *b: a if b else c": call, "f()\nassert x, f'{y}'": call,
		"f()\nwith open(a) as b, c:\n  yield b": call, "f()\nasync def g():\n  await h(*a, **b)": call, "f()\nx = a[1:-1, ::2] @ ~b << 2": call,
		"f()\nx = (yield)\ndel x, y": call, "f()\nDone": call, "f()\nwhile True:\n  break": call,
		"f()\nI called it.": none, "f()\nDone.": none, "f()\nThanks!": none, "f()\nprint x": none, "f()\nHere it is: (see above)": none, "f()\nIt's on": none,
		"f()\nprint(x": none, "f()\n  g()": none, "f()\nif x:": none, "f()\nif x:\ng()": none, "f()\nif x:\n    g()\n  h()": none, "f()\nelse:\n  g()": none,
		"f()\ntry:\n  g()": none, "f()\ntry: pass\ng()": none, "f(); if x: g()": none, "f();; g()": none, "f()\n3rd": none, "f()\nx = ": none, "f()\nx y": none,
		"f()\nimport": none, "f()\nfrom a import": none, "f()\nx[]": none, "f()\n(,)": none, "f()\nx if y": none, "f()\nnot": none, "f()\n@x": none, "f()\nx = 'a": none,
		"f()\nfor x y: pass": none, "f()\ndef g: pass": none, "f()\nasync x": none, "f()\n1. Done": none, "f()\n- on": call, "f()\n* on": call, "f()\n```": none,
		"f()\nclass: pass": none, "f()\nlambda": none, "f()\nx = {1: 2": none, "f()\nexcept: pass": none, "f()\nif x: if y: z": none,
	}
	for source, want := range tests {
		made, err := Parse(source, nil)
		got := ""
		if err == nil {
			got = made.Tool + "(" + python.Repr(made.Arguments) + ")"
		}
		if got != want {
			t.Errorf("Parse(%q): got %q and %v, want %q", source, got, err, want)
		}
	}
}

// TestParseBounds shows that small source cannot become a large value.
func TestParseBounds(t *testing.T) {
	for _, source := range []string{
		"f(a=9**9**9)", "f(a=9**999999)", "f(a='x'*99999999)", "f(a=[[0]*999]*999*999)", "f(a=[['x'*1000]*1000]*1000)", "f(a=99999999*'x')",
		"f(a=" + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200) + ")",
		"f(a=" + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + ")",
		"f(a=" + strings.Repeat("-", 100_000) + "1)",
		"f(a=" + strings.Repeat("2**", 100_000) + "1)",
		"f(a=1" + strings.Repeat("+1", 100_000) + ")",
		"f" + strings.Repeat("()", 100_000),
		"f" + strings.Repeat(".f", 100_000) + "()",
		"f(" + strings.Repeat("a=2**13000, ", 10_000) + ")",
		"f(" + strings.Repeat("a='x'*1000000, ", 100) + ")",
		strings.Repeat("f()\n", 200_000),
		"f()\nx = " + strings.Repeat("lambda a=", 50_000) + "1",
		"f()\nx = " + strings.Repeat("x[", 50_000),
		"f()" + blocks(200),
	} {
		if _, err := Parse(source, nil); !errors.Is(err, ErrNoCall) {
			t.Errorf("Parse(%.40q…): got %v, want ErrNoCall", source, err)
		}
	}
}

// blocks returns as many blocks, each in the one before.
func blocks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("\n" + strings.Repeat(" ", i) + "if x:")
	}
	return b.String() + " y"
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"f(a=1, b='x')", "x = f(1, **{'a': 2})\ng()", "f(a=2*3+1, b=f'm')", "f(a=g(1, x='y'))", "f(a={1, 2}, b=..., c=b'')", "os.system('ls')", "r = f()\nif r:\n  g(r[0])\nelse: h()", "f()\n@a\ndef g(b=1, *c): return lambda: (yield)", "f(a=[['x'*1000]*1000]*1000)",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		call, err := Parse(source, nil)
		if err != nil {
			return
		}
		if _, ok := call.Arguments.AsDict(); !ok || call.Tool == "" {
			t.Errorf("Parse(%q): got %q and %s, want a name and a dict", source, call.Tool, python.Repr(call.Arguments))
		}
		if n := len(python.JSON(call.Arguments)); n > 16*len(source)+8*maxBytes {
			t.Errorf("Parse(%q): got %d bytes of arguments", source, n)
		}
	})
}
