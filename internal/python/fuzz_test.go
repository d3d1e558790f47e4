package python

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1, 2.5, -0, 1e400, NaN, "\ud800\udc00\ud800"], "a": null}`, "[", "\"\xed\xa0\x80\xff\"", "123456789012345678901", "\ufeff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := ParseJSON(text)
		if err != nil {
			return
		}
		for _, printed := range []string{JSON(v), ASCIIJSON(v)} {
			if !utf8.ValidString(printed) {
				t.Fatalf("%q prints as %q: not UTF-8", text, printed)
			}
			if back, err := ParseJSON(printed); err != nil || !same(back, v) {
				t.Fatalf("%q prints as %q, which reads as %s, %v", text, printed, Repr(back), err)
			}
		}
		if back, err := ParseLiteral(Repr(v)); err != nil || !same(back, v) {
			t.Fatalf("%q has the literal %s, which reads as %s, %v", text, Repr(v), Repr(back), err)
		}
	})
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
		once := Repr(v)
		back, err := ParseLiteral(once)
		if err != nil || Repr(back) != once || !utf8.ValidString(once) {
			t.Fatalf("%q has the literal %s, which reads as %s, %v", text, once, Repr(back), err)
		}
	})
}

func FuzzParseCall(f *testing.F) {
	f.Add("call_1", "search_contacts", `{"name": "x"}`, "print(repr(f(1, a='b')))")
	f.Add("a_parameters = ", "f", `[]`, "x = f(**{'a': 1})[0]\nprint(x)")
	f.Add("x\ny", "f", `NaN`, "a_parameters = {}\na_response = f(**a_parameters)\nprint(repr(a_response))")
	f.Fuzz(func(t *testing.T, id, tool, arguments, source string) {
		if id, tool, args, ok := ParseCall(source); ok {
			again, toolAgain, argsAgain, ok := ParseCall(ComposeCall(id, tool, args))
			if args.Kind() != KindStr && (!ok || again != id || toolAgain != tool || Repr(argsAgain) != Repr(args)) {
				t.Fatalf("ParseCall(%q) = %q, %q, %s", source, id, tool, Repr(args))
			}
		}
		if call, ok := ParseExpressionCall(source); ok && !isIdentifier(call.Tool) {
			t.Fatalf("ParseExpressionCall(%q) = %+v", source, call)
		}
		args, err := ParseJSON(arguments)
		if err != nil || args.Kind() == KindStr || !isIdentifier(tool) || strings.Contains(id, parametersInfix) {
			return // an id with the infix can make the text ambiguous
		}
		gotID, gotTool, got, ok := ParseCall(ComposeCall(id, tool, args))
		if !ok || gotID != id || gotTool != tool || !same(got, args) {
			t.Fatalf("ParseCall(ComposeCall(%q, %q, %s)) = %q, %q, %s, %v", id, tool, Repr(args), gotID, gotTool, Repr(got), ok)
		}
	})
}
