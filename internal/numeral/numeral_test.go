package numeral_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/numeral"
)

func TestMentions(t *testing.T) {
	for text, want := range map[string][]numeral.Mention{
		"nothing here":                  nil,
		"twenty five apples":            {{Digits: "25", Value: 25}},
		"forty thousand and a half":     {{Digits: "40500", Value: 40500}},
		"a lakh and a half":             {{Digits: "150000", Value: 150000}},
		"two and a half":                {{Digits: "2.5", Value: 2}},
		"two point three bar":           {{Digits: "2.3", Value: 2}},
		"six hundred and forty":         {{Digits: "640", Value: 640}},
		"four one six, triple five, oh": {{Digits: "4165550", Value: -1}},
		"half past ten":                 {{Clock: true, Minute: 630, Hour: "10"}},
		"quarter to seven":              {{Clock: true, Minute: 405, Hour: "7"}},
		"noon":                          {{Clock: true, Hour: "12"}},
		"ten thirty, then two":          {{Clock: true, Minute: 630, Hour: "10"}, {Digits: "2", Value: 2}},
	} {
		got := numeral.Mentions(numeral.Tokens(text))
		for i := range got {
			got[i].Span = numeral.Span{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Mentions(%q) (-want +got):\n%s", text, diff)
		}
	}
}

func TestTokens(t *testing.T) {
	got := ""
	for _, token := range numeral.Tokens("Jürgen's 2 cafés") {
		got += numeral.FoldMarks(token.Word) + " " + numeral.FoldUmlauts(token.Word) + " "
	}
	if want := "jurgen juergen 2 2 cafes cafes "; got != want {
		t.Errorf("words: got %q, want %q", got, want)
	}
}
