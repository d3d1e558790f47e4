package python

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseExpressionCall(t *testing.T) {
	t.Parallel()
	cases := []struct {
		source string
		want   Expression
	}{
		{"f()", Expression{Tool: "f"}},
		{"\n# hello\n\nprint( repr( f ( 1 , ) , ) ) # bye\n\n", Expression{Tool: "f", Positional: []Value{Int(1)}, Print: PrintRepr}},
		{"f(\n  a=1,\n  # two\n  b=[2],\n)", Expression{
			Tool: "f", Keyword: &Dict{items: []Item{{"a", Int(1)}, {"b", List(Int(2))}}},
		}},
		{"x = f(**{'a': 1}, b=2)\nprint(repr(x))", Expression{
			Tool: "f", Keyword: &Dict{items: []Item{{"a", Int(1)}, {"b", Int(2)}}}, Print: PrintRepr,
		}},
		{"x=f(r'a');print(x)", Expression{Tool: "f", Positional: []Value{Str("a")}, Print: PrintText}},
		{"x = f();\n", Expression{Tool: "f"}},
		{"print(f()[0]['a'])", Expression{Tool: "f", Subscripts: []Value{Int(0), Str("a")}, Print: PrintText}},
	}
	for _, c := range cases {
		if c.want.Keyword == nil {
			c.want.Keyword = &Dict{}
		}
		got, ok := ParseExpressionCall(c.source)
		if !ok || !cmp.Equal(c.want, got, cmp.Comparer(same), cmp.AllowUnexported(Dict{})) {
			t.Errorf("ParseExpressionCall(%q) = %+v, %v, want %+v", c.source, got, ok, c.want)
		}
	}
	for _, source := range []string{
		"", " f()", "f", "f(", "f())", "f(a=1, 2)", "f(a=1, a=2)", "f(x)", "f(1 2)", "f(,)", "f()\ng()", "f()\nf()", "if()", "print()",
		"print(1)", "repr(f())", "x = f()\nprint(y)", "x = print(f())", "x == f()", "f();;", "f()\n  g()", "f('\x00')", "f(1=2)",
		"f(None=2)", "a.f()", "f() + 1", "f(\n'a\nb')", "x = y = f()", "\ufefff()", "f()\x00", "x = f()\n print(x)",
	} {
		if got, ok := ParseExpressionCall(source); ok {
			t.Errorf("ParseExpressionCall(%q) = %+v, want refused", source, got)
		}
	}
}

func TestBind(t *testing.T) {
	t.Parallel()
	s := Signature{Func: "m.f", Params: []Param{{Name: "a"}, {Name: "b"}, {Name: "c", HasDefault: true, Default: Int(7)}}}
	named := func(names ...string) *Dict {
		d := &Dict{}
		for _, name := range names {
			d.Set(name, Str(name))
		}
		return d
	}
	cases := []struct {
		name       string
		positional []Value
		keyword    *Dict
		want       []Arg
		err        string
	}{
		{"by name", nil, named("b", "a"), []Arg{{"a", Str("a"), true}, {"b", Str("b"), true}, {"c", Int(7), false}}, ""},
		{"mixed", []Value{Int(1)}, named("c", "b"), []Arg{{"a", Int(1), true}, {"b", Str("b"), true}, {"c", Str("c"), true}}, ""},
		{"missing wins over unexpected", nil, named("x"), nil, "TypeError: missing a required argument: 'a'"},
		{"first unexpected", nil, named("a", "y", "b", "x"), nil, "TypeError: got an unexpected keyword argument 'y'"},
		{"quoted", nil, named("a", "b", "it's"), nil, `TypeError: got an unexpected keyword argument "it's"`},
		{"too many", []Value{Int(1), Int(2), Int(3), Int(4)}, named("x"), nil, "TypeError: too many positional arguments"},
		{"twice", []Value{Int(1), Int(2), Int(3), Int(4)}, named("b"), nil, "TypeError: multiple values for argument 'b'"},
		{"twice wins over missing", []Value{Int(1)}, named("a"), nil, "TypeError: multiple values for argument 'a'"},
		{"nothing", nil, nil, nil, "TypeError: missing a required argument: 'a'"},
	}
	for _, c := range cases {
		got, err := s.Bind(c.positional, c.keyword)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if diff := cmp.Diff(c.want, got); diff != "" || text != c.err {
			t.Errorf("%s: error = %q, want %q; bound (-want +got):\n%s", c.name, text, c.err, diff)
		}
	}
	_, err := s.BindMapping(List())
	if want := "TypeError: m.f() argument after ** must be a mapping, not list"; err == nil || err.Error() != want {
		t.Errorf("BindMapping error = %v, want %s", err, want)
	}
}
