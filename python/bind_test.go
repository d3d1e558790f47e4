package python

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
