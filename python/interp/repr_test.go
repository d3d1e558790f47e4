package interp

import (
	"math"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// FuzzRepr evaluates the literal of a value and prints it. The text must be that of python.Repr.
func FuzzRepr(f *testing.F) {
	for _, text := range []string{
		`{'a': [1, -2.5, "x'\ud800\x00"], }`, "'''a\r\n'''", "0x1_F", "1_0e-5", "-0", "-0.0", "1e400", "[[], {}, '', None, True, False]", "1e16",
		"123456789012345678901234567890", `"'"`, `'\u2028\xa0\xad\U0001f600'`, "{'': {'': {'': []}}}", "5e-324", "-170141183460469231731687303715884105728",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := syntax.ParseLiteral(text)
		if err != nil || !finite(value) {
			return // Python has no literal of NaN and infinity
		}
		want := python.Repr(value)
		if len(want) > 1000 || strings.Count(want, "[")+strings.Count(want, "{") > 50 {
			return // may exceed a limit of the parser
		}
		if got := runText("print(repr(" + want + "))"); got != want+"\n" {
			t.Errorf("print(repr(%s)): got %q, want the same text", want, got)
		}
		if value.Kind() == python.KindStr {
			return
		}
		if got := runText("print(str(" + want + "))"); got != want+"\n" {
			t.Errorf("print(str(%s)): got %q, want the same text", want, got)
		}
	})
}

// finite reports whether a value holds no NaN and no infinity.
func finite(v python.Value) bool {
	switch v.Kind() {
	case python.KindFloat:
		number, _ := v.AsFloat()
		return !math.IsNaN(number) && !math.IsInf(number, 0)
	case python.KindList:
		list, _ := v.AsList()
		for _, item := range list {
			if !finite(item) {
				return false
			}
		}
	case python.KindDict:
		dict, _ := v.AsDict()
		for _, item := range dict.Items() {
			if !finite(item.Value) {
				return false
			}
		}
	}
	return true
}
