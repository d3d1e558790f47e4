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
	} {
		if _, err := Parse(source, nil); !errors.Is(err, ErrNoCall) {
			t.Errorf("Parse(%.40q…): got %v, want ErrNoCall", source, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"f(a=1, b='x')", "x = f(1, **{'a': 2})\ng()", "f(a=2*3+1, b=f'm')", "f(a=g(1, x='y'))", "f(a={1, 2}, b=..., c=b'')", "os.system('ls')", "f(a=[['x'*1000]*1000]*1000)",
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
