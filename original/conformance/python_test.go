package conformance

import (
	"encoding/json"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// vectorLines decodes each line of a vector file below the tools folder into a fresh T.
func vectorLines[T any](t *testing.T, name string, visit func(line int, c T)) {
	t.Helper()
	cases := 0
	vectortest.Lines(t, vectortest.Dir(t, "tools/"+name), func(line int, raw []byte) {
		var c T
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("%s line %d: %v", name, line, err)
		}
		visit(line, c)
		cases++
	})
	t.Logf("%s: %d cases", name, cases)
}

func TestReprVectors(t *testing.T) {
	t.Parallel()
	type vector struct {
		JSON json.RawMessage
		Repr string
	}
	vectorLines(t, "repr.jsonl", func(line int, c vector) {
		v, err := python.ParseJSON([]byte(c.JSON))
		if err != nil {
			t.Errorf("line %d: ParseJSON(%s): %v", line, c.JSON, err)
			return
		}
		if got := python.Repr(v); got != c.Repr {
			t.Errorf("line %d: Repr = %s, want %s", line, got, c.Repr)
		}
		back, err := syntax.ParseLiteral(c.Repr)
		if err != nil || python.Repr(back) != c.Repr {
			t.Errorf("line %d: ParseLiteral(%s) = %s, %v", line, c.Repr, python.Repr(back), err)
		}
		for _, text := range []string{python.JSON(v), python.ASCIIJSON(v)} {
			again, err := python.ParseJSON(text)
			if err != nil || python.Repr(again) != c.Repr {
				t.Errorf("line %d: ParseJSON(%s) = %s, %v", line, text, python.Repr(again), err)
			}
		}
	})
}

func TestNonPrintableVectors(t *testing.T) {
	t.Parallel()
	escaped := make(map[rune]bool)
	type vector struct{ First, Last rune }
	vectorLines(t, "nonprintable.jsonl", func(_ int, c vector) {
		for r := c.First; r <= c.Last; r++ {
			escaped[r] = true
		}
	})
	for r := rune(0); r <= 0x10FFFF; r++ {
		if got, want := python.Printable(r), !escaped[r]; got != want {
			t.Errorf("Printable(%#x) = %v, want %v", r, got, want)
		}
	}
}
