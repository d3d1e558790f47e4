package syntax

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
)

func TestParseLiteral(t *testing.T) {
	t.Parallel()
	cases := []struct{ text, want string }{
		{`"it's"`, `"it's"`},
		{`'a' "b" r'\n'`, `'ab\\n'`},
		{"'''a\n'b'\r\n'''", `"a\n'b'\n"`},
		{"r'''\\\r\n\\\\'''", `'\\\n\\\\'`},
		{`'\x41\101\u00e9\U0001f600\q\
z'`, `'AAé😀\\qz'`},
		{`'\ud83d\ude00'`, `'\ud83d\ude00'`},
		{" [1, # one\n 2,] ", "[1, 2]"},
		{"{'a': {}, \"b\": [],}", "{'a': {}, 'b': []}"},
		{"-1_000", "-1000"},
		{"0x_ff", "255"},
		{"00", "0"},
		{"-9223372036854775808", "-9223372036854775808"},
		{"9223372036854775808", "9223372036854775808"},
		{"1e-07", "1e-07"},
		{".5", "0.5"},
		{"5.", "5.0"},
		{"1_0.0_1e+1_0", "100100000000.0"},
		{"- inf", "-inf"},
		{"- +-1", "1"},
		{"(((True)))", "True"},
	}
	for _, c := range cases {
		v, err := ParseLiteral(c.text)
		if err != nil || python.Repr(v) != c.want {
			t.Errorf("ParseLiteral(%q) = %s, %v, want %s", c.text, python.Repr(v), err, c.want)
		}
	}
	for _, text := range []string{
		"", "x", "(1, 2)", "{1}", "{1: 2}", "b'a'", "'a", "'a\nb'", "012", "1__0", "1_", "1_e5", "1._5", "_1", "0x", "1 2", "[1", "[1 2]",
		"1j", "1+1", "-", "-True", "-'a'", "True\nFalse", `'\N{DIGIT ONE}'`, `'\x4'`, `'\U00110000'`, "1e", ".", "[\n1\n]\n2",
		"nullx", strings.Repeat("[", limit.DataDepth+1) + strings.Repeat("]", limit.DataDepth+1), strings.Repeat("1", 4301), "r'\\", "[,]",
	} {
		if v, err := ParseLiteral(text); !errors.Is(err, ErrLiteral) {
			t.Errorf("ParseLiteral(%.40q) = %s, %v, want ErrLiteral", text, python.Repr(v), err)
		}
	}
	deep := strings.Repeat("[", limit.DataDepth) + strings.Repeat("]", limit.DataDepth)
	if v, err := ParseLiteral(deep); err != nil || python.Repr(v) != deep {
		t.Errorf("ParseLiteral of %d lists: %v", limit.DataDepth, err)
	}
}

func FuzzParseLiteral(f *testing.F) {
	for _, seed := range []string{
		`{'a': [1, -2.5, inf, nan, "x'\ud800\x00"], }`, "'''a\r\n'''", "0x1_F", "r'\\' u'b'", "((1))", "1_0e-5", "-0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseLiteral(text)
		if err != nil {
			return
		}
		once := python.Repr(v)
		back, err := ParseLiteral(once)
		if err != nil || python.Repr(back) != once || !utf8.ValidString(once) {
			t.Fatalf("%q has the literal %s, which reads as %s, %v", text, once, python.Repr(back), err)
		}
	})
}
