package conformance

import (
	"os"
	"path/filepath"
	"testing"
)

func TestQuoteNumbers(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a": 1}`:                  `{"a": 1}`,
		`{"NaN": "Infinity"}`:       `{"NaN": "Infinity"}`,
		`["\\", NaN, "\" NaN"]`:     `["\\", "\u0000number NaN", "\" NaN"]`,
		`[Infinity,-Infinity, NaN]`: `["\u0000number Infinity","\u0000number -Infinity", "\u0000number NaN"]`,
		`"NaN\`:                     `"NaN\`,
	} {
		got := quoteNumbers([]byte(raw))
		if string(got) != want {
			t.Errorf("quoteNumbers(%s): got %s, want %s", raw, got, want)
		}
		if back := unquoteNumbers(got); string(back) != raw {
			t.Errorf("plainNumbers(%s): got %s, want %s", got, back, raw)
		}
	}
}

// TestUnreadRecord checks that an uncompared case may have an undecodable result, and that numbers
// outside JSON are decoded.
func TestUnreadRecord(t *testing.T) {
	const row = `"conversation": [{"sender": "USER", "recipient": "AGENT", "content": "x"}]`
	answered := func(content string) string {
		return `[{"index": 1, "sender": "AGENT", "recipient": "USER", "content": ` + content + `}]`
	}
	for record, equal := range map[string]bool{
		`"result": ` + answered(`"x"`):                                                   true,
		`"result": ` + answered(`5`):                                                     false,
		`"result": [], "then": [{"openai_tool_call_id": 7}]`:                             false,
		`"result": [], "earlier": [{"response": {}, "result": ` + answered(`[]`) + `}]`:  false,
		`"result": [{"sender": "NOBODY"}]`:                                               false,
		`"result": [], "response": {"content": NaN, "b": [Infinity, -Infinity]}`:         true,
		`"result": [], "request": {"method": "POST", "path": "/", "body": {"a": [NaN]}}`: true,
	} {
		for expect, want := range map[string]bool{expectFault: true, expectEqual: equal} {
			line := `{"case": "c", "expect": "` + expect + `", ` + row + `, ` + record + `}`
			c, err := decodeRole([]byte(line))
			if (err == nil) != want || err == nil && len(c.rows) != 1 {
				t.Errorf("decodeRole(%s): got %+v and %v, want a case with one row: %t", line, c, err, want)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "hermes.jsonl")
	line := `{"case": "c", "expect": "fault", "request": null, "response": NaN, "result": [], ` + row + `}`
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := detectKind(path); err != nil || got.name != "hermes" {
		t.Errorf("detectKind %s: got %q and %v, want hermes", line, got.name, err)
	}
}
