package expression

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
)

func TestParse(t *testing.T) {
	names := map[string]string{"known": "value"}
	tests := []struct{ source, want string }{
		{"f()", "f({})"},
		{"f(a=1, b='x', c=None, d=True, e=1.5, g=[1, (2, 3)])", "f({'a': 1, 'b': 'x', 'c': None, 'd': True, 'e': 1.5, 'g': [1, [2, 3]]})"},
		{"f(a={'b': {1: 2, None: 3, True: 4, 1.5: 5}})", "f({'a': {'b': {'1': 4, 'null': 3, '1.5': 5}}})"},
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
		{"f(a=g(1+2*-3, x=('y',), *z))", `f({'a': "g(1 + 2 * -3, *z, x=('y',))"})`},
		{"f(a=g(  1,x = \"y\", **z ))", `f({'a': "g(1, x='y', **z)"})`},
		{"f(a=g((1 + 2) * 3 - (4 - 5), -(6 ** -7) ** 8, {'k': {1}, }, (1,), ..., h.i(j)))", `f({'a': "g((1 + 2) * 3 - (4 - 5), -(6 ** (-7)) ** 8, {'k': {1}}, (1,), ..., h.i(j))"})`},
		{"f(a=2*3+1, b='k'+'m', c=f'm', d=7//2, e=-7//2, g=-7%3, h=7/2, i=2**10, j=2**-1)", "f({'a': 7, 'b': 'km', 'c': 'm', 'd': 3, 'e': -4, 'g': 2, 'h': 3.5, 'i': 1024, 'j': 0.5})"},
		{"f(a=1.5*2, b=1.5-1, c=7.5//2, d=-7.5%2, e=2.0**3, g=-1.5, h=+2, i=-True)", "f({'a': 3.0, 'b': 0.5, 'c': 3.0, 'd': 0.5, 'e': 8.0, 'g': -1.5, 'h': 2, 'i': -1})"},
		{"f(a='ab'*2, b=2*[1], c=[1]+[2], d='x'*-1)", "f({'a': 'abab', 'b': [1, 1], 'c': [1, 2], 'd': ''})"},
		{`f(a='it''s', b="\u00e9", c=r'\n', d='''x` + "\n" + `y''')`, `f({'a': 'its', 'b': 'é', 'c': '\\n', 'd': 'x\ny'})`},
		{"f(a=1e999)", "f({'a': inf})"},
		{"f(a=2**2000/2**1999, b=1/3, c=-7/7, d=True/2)", "f({'a': 2.0, 'b': 0.3333333333333333, 'c': -1.0, 'd': 0.5})"}, {"f(a=2**2000/2)", ""},
		{"f(a=5.0//0.1, b=-7//2.0, c=1e400//2, d=6.0%-3, e=0.0//-1, g=7%-3.0, h=+-0.0)", "f({'a': 49.0, 'b': -4.0, 'c': nan, 'd': -0.0, 'e': -0.0, 'g': -2.0, 'h': -0.0})"},
		{"f(a=(2**2000)**-1)", ""}, {"f(a=2**-2000)", "f({'a': 0.0})"},
		{"f(a='''x\r\ny\rz''',\r\n  b=1, # one\r  c=2 \\\r\n)\r\ng()\r", `f({'a': 'x\ny\nz', 'b': 1, 'c': 2})`}, {"f(a='x\ry')", ""},
		{"f(a={1})", "no JSON"}, {"f(a=...)", "no JSON"}, {"f(a=int)", "no JSON"}, {"f(a={(1,): 2})", "no JSON"},
		{"", ""}, {"f", ""}, {"'done'", ""}, {"f(", ""}, {"f)", ""}, {"f(]", ""}, {"f() and so on", ""}, {"f() + 1", ""}, {"import os", ""},
		{"f(a=false)", ""}, {"f(a=b=1)", ""}, {"f(a==1)", ""}, {"f(a=1, 2)", ""}, {"f(*[1])", ""}, {"f(a=010)", ""}, {"f(a=1/0)", ""}, {"f(a=1%0)", ""},
		{"f(a='x'-'y')", ""}, {"f(a=-'x')", ""}, {"f(a=[g()])", ""}, {"f(a=f'{x}')", ""}, {"f(a={[1]: 2})", ""}, {"f(a=x.y)", ""},
		{"f() = 1", ""}, {"None = f()", ""}, {"f()\n  g()", ""}, {"for = f()", ""}, {"f(a='x)", ""}, {"f(class=1)", ""}, {"f(a={1: 2, 3})", ""}, {"f(a={1, 2: 3})", ""},
		{"f(a=0.0**-1)", ""}, {"f(a=[1]*'x')", ""}, {"f(a={}*2)", ""}, {"f(\x00)", ""}, {"f(a=(1)", ""}, {"f.1()", ""}, {"f(a=1 if b else 2)", ""},
	}
	for _, test := range tests {
		if got := parsed(test.source, names); got != test.want {
			t.Errorf("Parse(%q): got %s, want %s", test.source, got, test.want)
		}
	}
}

// parsed formats a call, "" if there is none.
func parsed(source string, names map[string]string) string {
	call, err := Parse(source, names)
	switch {
	case errors.Is(err, ErrNoJSON):
		return "no JSON"
	case errors.Is(err, ErrNoCall):
		return ""
	case err != nil:
		return err.Error()
	default:
		return call.Tool + "(" + python.Repr(call.Arguments) + ")"
	}
}

// TestParseStatements checks which statements may contain the call, and what may follow it.
func TestParseStatements(t *testing.T) {
	const call, none = "f({})", ""
	tests := map[string]string{
		// The first statement.
		"x: T = f()": call, "x: List[str] | None = f()": call, "x[0] = f()": call, "x.y: T = f()": call, "x += f()": call, "x[0] //= f()": call,
		"return f()": call, "# call\nf()": call, "x = f(); y": call, "f();": call,
		"x: f()": none, "x, y: T = f()": none, "[x] += f()": none, "f() += f()": none, "return": none, "return f() if x": none, "return x = f()": none,
		"x := f()": none, "f()[0]": none, "await f()": none, "yield f()": none, "if x: f()": none, "for x in f(): pass": none, "x = y += f()": none,
		"x: T": none, "x: and = f()": none, "*x, y = f()": call, "*x = f()": call, "(x) = f()": call, "(*x,) = [y] = f()": call, "*x = *y": none, "x = yield f()": none,
		"(x, y): T = f()": none, "(x): T = f()": call, "x + y = f()": none, "x := y = f()": none, "(lambda: f)()": "(lambda: f)({})", "1 .f()": "1 .f({})", "f() if x else y": none, "not f()": none,
		"f(), g()": none, "f(a=x[0])": none, "del f()": none, "@f()\ndef g(): pass": none,
		"f(a=g(x[0], y[1, 2], z[(3,)]))": "f({'a': 'g(x[0], y[1, 2], z[3,])'})",
		// What follows.
		"r = f()\nprint(r[0])": call, "r = f()\nif r is None:\n    print(\"ok\")": call, "f(); import os": call,
		"f()\nfor a, *b in c:\n  if not a: continue\n  d[a] = b\nelse:\n  pass\n\ng()": call,
		"f()\ntry:\n\tg()\nexcept (A, B) as e:\n\traise C from e\nfinally:\n\tpass":    call, "f()\nwhile x != 3 and y not in z: x += 1; y = 2": call,
		"f()\ndef g(a, b: int = 1, *c, d=2, **e) -> List[str]:\n  global h\n  return [x for x in a if x] or {k: v for k, v in e.items()}": call,
		"f()\nx = lambda a, *b: a if b else c": call, "f()\nassert x, f'{y}'": call,
		"f()\nx = a[1:-1, ::2] @ ~b << 2": call,
		"f()\nDone":                       call, "f()\nwhile True:\n  break": call,
		"f()\nI called it.": none, "f()\nDone.": none, "f()\nThanks!": none, "f()\nprint x": none, "f()\nHere it is: (see above)": none, "f()\nIt's on": none,
		"f()\nprint(x": none, "f()\n  g()": none, "f()\nif x:": none, "f()\nif x:\ng()": none, "f()\nif x:\n    g()\n  h()": none, "f()\nelse:\n  g()": none,
		"f()\ntry:\n  g()": none, "f()\ntry: pass\ng()": none, "f(); if x: g()": none, "f();; g()": none, "f()\n3rd": none, "f()\nx = ": none, "f()\nx y": none,
		"f()\nimport": none, "f()\nfrom a import": none, "f()\nx[]": none, "f()\n(,)": none, "f()\nx if y": none, "f()\nnot": none, "f()\n@x": none, "f()\nx = 'a": none,
		"f()\nfor x y: pass": none, "f()\ndef g: pass": none, "f()\nasync x": none, "f()\n1. Done": none, "f()\n- on": call, "f()\n* on": call, "f()\n```": none,
		// What has to stand between brackets, and what ends a line.
		"f()\nx[:], x[1:], x[:1:2], x[::], x[1:2, ...] = y": call, "f()\nx = {1: 2, **y}": call, "f()\ndef g(a, /, *, b: int = 1): pass": call,
		"f()\nx = lambda *, a: a": call, "f()\nx is not y": call, "# one\n\n# two\nf()": call,
		"f()\nWhy not": none, "f()\nx not y": none, "f()\nx = {1: , 2}": none, "f()\nx = {: 1}": none, "f()\nx = {1:2:3}": none, "f()\ndef g(a: = 1): pass": none,
		"f()\ndef g(a, : int): pass": none, "f()\nx = g(*, 1)": none, "f()\nx = [*, 1]": none, "f()\nx = [:]": none, "f()\nif x:\n;\n  y": none, ";f()": none,
		"f()\nclass: pass": none, "f()\nlambda": none, "f()\nx = {1: 2": none, "f()\ng(a=1, b)": none, "f()\ng(**a, *b)": none, "f()\ng(a=1, *b, **c)": call, "f()\nx = {1: 2, 3}": none, "f()\nx := 1": none, "f()\n(x := 1)": call, "f()\nif x := 1: y": call,
		"f()\nx = 1 = y": none, "f()\n1 = x": none, "f()\nf() = 1": none, "f()\n[x, *y.z] = 1": call, "f()\nx, y += 1": none, "f()\ndel f()": none, "f()\nfor f() in x: y": none,
		"f()\n1a": none, "f()\n010": none, "f()\n'\\x1'": none, "f()\nb'é'": none, "f()\nf'{x!}'": none, "f()\nf'{x!r:>{y}}'": call, "f()\nwith a as f(): b": none,
		"f()\ndef g(a=1, b): pass": none, "f()\ndef g(*): pass": none, "f()\ndef g(**a,): pass": call, "f()\nraise x, y": none, "f()\nassert x, y, z": none,
		"f()\ntry: x\nexcept E: y\nexcept* F: z": none, "f()\ntry: x\nexcept A, B: y": none, "f()\nreturn x": call, "f()\nprint >>x, y": call, "f()\n[x for x in y if z if w]": call, "f()\n[x for x in y, z]": none,
		"f()\nexcept: pass": none, "f()\nif x: if y: z": none,
	}
	for source, want := range tests {
		if got := parsed(source, nil); got != want {
			t.Errorf("Parse(%q): got %s, want %s", source, got, want)
		}
	}
}

// TestParseBounds checks that small source cannot become a large value.
func TestParseBounds(t *testing.T) {
	for _, source := range []string{
		"f(a=9**9**9)", "f(a=9**999999)", "f(a='x'*99999999)", "f(a=[[0]*999]*999*999)", "f(a=[['x'*1000]*1000]*1000)", "f(a=99999999*'x')",
		"f(a=" + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200) + ")",
		"f(a=" + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + ")",
		"f(a=" + strings.Repeat("-", 100_000) + "1)",
		"f(a=" + strings.Repeat("2**", 100_000) + "1)",
		"f(a=g(" + strings.Repeat("1**", 30_000) + "1))", // each level would write those within it again
		"f(a=" + strings.Repeat("1e+", 300_000) + "1)",
		"f(a=1" + strings.Repeat("+1", 100_000) + ")",
		"f" + strings.Repeat("()", 100_000),
		"f" + strings.Repeat(".f", 100_000) + "()",
		"f(" + strings.Repeat("a=2**13000, ", 10_000) + ")",
		"f(" + strings.Repeat("a='x'*1000000, ", 100) + ")",
		strings.Repeat("f()\n", 200_000),
		"f()\nx = " + strings.Repeat("lambda a=", 50_000) + "1",
		"f()\nx = " + strings.Repeat("x[", 50_000),
		"f()" + blocks(200),
		"f(a=2**10**9)", "f(a=1<<10**9)", "f(a=1<<10**30)", "f(a=-1<<10**9)", "f(a='a'*10**9)", "f(a=10**9*[0])", "f(a=b'a'*10**9)", "f(a=['%s' % ('a'*1000000)]*2)", "f(a=f'{[0]*400000}')",
		"f(a=[" + strings.Repeat("*'x'*9999, ", 1000) + "])",
		"f(a=['" + strings.Repeat("x", 99999) + "'[:], " + strings.Repeat("'x'*99999, ", 20) + "])",
		"f(a=" + strings.Repeat("1 if 1 else ", 50_000) + "1)",
		"f(a=[0 for x in range(10**9)])", "f(a=[0 for x in range(10**9) for y in range(10**9) if 0])", "f(a=[*range(10**30)])", "f(a=[set(range(10**9))])", "f(a={x: 0 for x in range(10**9)})",
		"f(a=[0 for s in ['x' * 900000] for i in range(60000) if s[i] == 'y'])", "f(a=[s == t for s in ['x' * 90000] for t in ['x' * 90000] for i in range(9999)])",
		"f(a=[[y, y] for y in ['x' * 9999] for i in range(9999)])", "f(a=[[y, y] for x in [['x' * 999] * 999] for y in [x, x] for i in range(999)])", "f(a=[x ** 9999 for x in range(9, 60000)])",
		"f(a=[f'{x}" + strings.Repeat("y", 10_000) + "' for x in range(9999)])", "f(a=[print for x in range(60000)])", "f(a=[0" + strings.Repeat(" for x in [1, 2]", 9999) + "])",
		"f(a=[" + strings.Repeat("()==", 20_000) + "() for x in range(9999)])", "f(a=" + strings.Repeat("[0 for x in ", 90) + "range(9999)" + strings.Repeat(" for x in range(99)]", 90) + ")",
		"f(a=" + strings.Repeat("[0 for x in ", 5000) + "[1]" + strings.Repeat("]", 5000) + ")",
		"f(a=" + strings.Repeat("not ", 100_000) + "1)",
		"f(a=" + strings.Repeat("lambda: ", 50_000) + "1)",
		"f(a=f'{1:" + strings.Repeat("{2}", 30_000) + "}')",
		"f(a=f'" + strings.Repeat("{1:", 30_000) + strings.Repeat("}", 30_000) + "')",
	} {
		if _, err := Parse(source, nil); !errors.Is(err, ErrNoCall) {
			t.Errorf("Parse(%.40q…): got %v, want ErrNoCall", source, err)
		}
	}
}

// blocks returns n nested blocks.
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
		"f(a=2**2000/2**1999)\r\nx not y", "f(a=g(1**1**1))\nx = 1e+1e+1j", "f()\nx[:1, ::2], {1: 2, **a}, lambda *, b=1: (c)", "f()\nfrom a import (b as c,)",
		`f(a=f'{x!r:>{y}}' f"{1+1=}\N{BULLET}{{}}", b=1if 0else 2j, c='\x41'[::-1])`, "f(a=1 < 2 in [3] is not None or not 4 and 5 if 6 else lambda x, /, y=1, *z: {**x})", "f(a=g(x[1:2, *a], *b, **{1: (yield)}, c=[d for e in f if g]))",
		"f(a=[(x, *y) for x, *y in ['ab', [1, 2, 3]] if x for _ in range(3, 0, -1)], b={k: [*(v for _ in 'ab')] for k, v in [(1, 2)]})", "f(a=[(y := x) for x in (z for z in {1} if z in range(2))])",
		"f(a={1, 2} | {True: 3}, b='%s %d' % (1, 2.5), c=b'a'[0] << 3, d=(1+2j).imag, e=[range(3), str.join])", "*x, y = f(a=(b := 1))\nwith (a as b): c\nexcept* D: e", "ｆ(a='\\ud83d', b=print)\nx: int = yield",
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
		if n := len(python.JSON(call.Arguments)); n > 16*len(source)+8*limit.ArgumentMemory {
			t.Errorf("Parse(%q): got %d bytes of arguments", source, n)
		}
	})
}
