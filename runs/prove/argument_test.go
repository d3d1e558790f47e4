package prove

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWrongArguments checks the wrong values for each type.
func TestWrongArguments(t *testing.T) {
	for _, c := range []struct {
		name, value string
		tolerance   float64
		want        []string
	}{
		{"on", "true", 0, []string{"false"}},
		{"on", "false", 0, []string{"true"}},
		{"name", `"Ana"`, 0, []string{`"Ana elsewhere"`}},
		{"content", `"Buy \"oat\" milk"`, 0, []string{`"Buy \"oat\" elsewhere"`}},
		{"content", `"far elsewhere"`, 0, []string{`"far elsewhere elsewhere"`}},
		{"phone_number", `"+14155550109"`, 0, []string{`"+14155550100"`}},
		{"from_currency_code", `"USD"`, 0, []string{`"SEK"`}},
		{"to_currency_code", `"sek"`, 0, []string{`"NOK"`}},
		{"days", "3", 0, []string{"2"}},
		{"days", "0", 0, []string{"1"}},
		{"hours", "-2", 0, []string{"-1"}},
		{"amount", "0.5", 0, []string{"1.5"}},
		{"latitude", "89.5", 0, []string{"88.5"}},
		{"longitude", "-122.0", 0, []string{"-121.0"}},
		{"amount", "100", 5, []string{"111"}},
		{"reminder_timestamp", "1735891200", 60, []string{"1735894800", "1735977600"}},
		{"reminder_timestamp", "1735891200.0", 3600, []string{"1735977600.0"}},
		{"timestamp", "1735891200", 100000, []string{"1736091201"}},
		{"relationship", "null", 0, nil},
		{"list", "[1]", 0, nil},
	} {
		var got []string
		for _, wrong := range (argument{c.name, c.value}).wrong(c.tolerance) {
			got = append(got, wrong.value)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s within %v (-want +got):\n%s", c.name, c.value, c.tolerance, diff)
		}
	}
}

// TestContains checks whether a text contains a fact.
func TestContains(t *testing.T) {
	for _, c := range []struct {
		text, fact string
		want       bool
	}{
		{"{'person_id': 'p1'}", "p1", true},
		{"1735891200.0", "1735891200", true},
		{"{'year': 2025, 'month': 1}", "20", false},
		{"{'year': 2025, 'month': 1}", "1.0", true},
		{"{'phone_number': '+493023125041'}", "+493023125041", true},
		{"-122.4", "122.4", false},
		{"", "1", false},
	} {
		if got := contains(c.text, c.fact); got != c.want {
			t.Errorf("contains(%q, %q): got %v, want %v", c.text, c.fact, got, c.want)
		}
	}
}

// FuzzDecodeArguments checks that arguments of scripts survive decoding and encoding.
func FuzzDecodeArguments(f *testing.F) {
	for _, seed := range []string{"{}", `{"a": 1.50, "b": "x", "c": [1, {"d": null}]}`, `{"a": 1, "a": 2}`, "[]", `{"a": }`, "", `{"a": 1`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		arguments, err := decodeArguments(text)
		if err != nil {
			return
		}
		again, err := decodeArguments(encodeArguments(arguments))
		if err != nil {
			t.Fatalf("decode %q after encoding: got %v, want nil", text, err)
		}
		if diff := cmp.Diff(len(arguments), len(again)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		for i := range again {
			if again[i] != arguments[i] || !json.Valid([]byte(again[i].value)) {
				t.Errorf("%q: got %v, want %v", text, again[i], arguments[i])
			}
		}
	})
}
