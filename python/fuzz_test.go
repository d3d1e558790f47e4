package python

import (
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
	})
}
