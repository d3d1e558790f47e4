package phone

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
)

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCheckVectors(t *testing.T) {
	t.Parallel()
	cases := 0
	vectortest.Lines(t, vectortest.Dir(t, "tools/phone.jsonl"), func(line int, raw []byte) {
		var c struct {
			Number    string `json:"phone_number"`
			Exception string
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		if got := errorText(Check(c.Number)); got != c.Exception {
			t.Errorf("line %d: Check(%q) = %q, want %q", line, c.Number, got, c.Exception)
		}
		cases++
	})
	t.Logf("phone.jsonl: %d cases", cases)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	cases := []struct {
		number string
		code   int // -1 for accepted
	}{
		{"+14085551234", -1},
		{"+1 (408) 555-1234 ext. 12345678901234567890", -1},
		{"call +1-408-FLOWERS now", -1},
		{"+1-408-FLOWERS", -1},
		{"tel:408-555-1234;phone-context=+1", -1},
		{"tel:+14085551234;isub=12", -1},
		{"+4412", -1},
		{"+٤٤٢٠٧٩٤٦٠٩٥٨", -1},
		{"4085551234", CodeCountry},
		{"+0123456", CodeCountry},
		{"", CodeNoNumber},
		{"+12", CodeNoNumber},
		{"+1 x12", -1},
		{"+441", CodeShort},
		{"+" + strings.Repeat("1", 19), -1}, // a second 1 is the national prefix
		{"+" + strings.Repeat("1", 20), CodeLong},
		{"+" + strings.Repeat("1", 250), CodeLong},
		{"1;phone-context=;tel:", CodeNoNumber},
		{"1;phone-context=+1;tel:2", CodeNoNumber},
	}
	for _, c := range cases {
		err := Check(c.number)
		got := -1
		var refusal *Error
		if errors.As(err, &refusal) {
			got = refusal.Code
		}
		if got != c.code {
			t.Errorf("Check(%.40q) = %v, want code %d", c.number, err, c.code)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("+1 (408) 555-1234 ext. 12")
	f.Add("tel:1;phone-context=+44;isub=1")
	f.Add("１２３/ x٣;phone-context=a.b")
	f.Fuzz(func(t *testing.T, number string) {
		err := Check(number)
		var refusal *Error
		if err != nil && (!errors.As(err, &refusal) || refusal.Code < CodeCountry || refusal.Code > CodeLong) {
			t.Errorf("Check(%q) = %v", number, err)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = Check("+14085551234")
	}
}
