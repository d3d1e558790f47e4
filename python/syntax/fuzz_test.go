package syntax

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python/limit"
)

// FuzzParse looks for sources that end the parser otherwise than with a tree or an *Error.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "x = 1", "print(f'{a!r:>{b}} {{}}')", "def f(a, /, b=1, *c, d, **e):\n    return a\n", "try:\n  x\nexcept (A, B) as e:\n  raise\nfinally:\n  pass",
		"[x for x in y if x for z in w]", "a, *b = c", "if x:\n\ty\nelse:\n        z", "'\\N{DASH}\\u00e9\\ud800'", "0b_1 + 1_0.5e-3j", "lambda x=1: (yield x)",
		"x = '''a\nb''' \\\n 'c'", "a = b = c; d", "((((((((((1))))))))))", "f'{x:{y:{z}}}'", "global a\nnonlocal b", "a[1:2, ::3]", "not a in b is not c", "x: int = 3",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		module, err := Parse(source)
		var wrong *Error
		if (module == nil) == (err == nil) || err != nil && !errors.As(err, &wrong) {
			t.Errorf("Parse(%q): got %v, %v, want one of tree and *Error", source, module, err)
		}
	})
}

// TestDeepNesting has sources nest deeper than the parser goes.
func TestDeepNesting(t *testing.T) {
	const much = 100_000
	n := limit.SourceBytes / 8
	for _, source := range []string{
		strings.Repeat("(", much), strings.Repeat("[", n), strings.Repeat("-", n) + "1", strings.Repeat("not ", n) + "1", strings.Repeat("lambda:", n/2) + "1",
		strings.Repeat("f'{", 100) + "1" + strings.Repeat("}'", 100), "1" + strings.Repeat("**1", n), "a" + strings.Repeat(".a", n), "a" + strings.Repeat("()", n),
		strings.Repeat("if 1:\n ", 150) + "1", "1" + strings.Repeat(" if 1 else 1", n/4), strings.Repeat("{1:", n),
	} {
		if _, err := Parse(source); err == nil {
			t.Errorf("Parse(%.20q…): got a tree, want an error", source)
		}
	}
}
