package regex

import (
	"strings"
	"testing"
)

// budget is a meter that panics when a match takes too much.
type budget struct{ steps, bytes int }

type exhausted struct{}

func (b *budget) Work(steps int) {
	if b.steps -= steps; b.steps < 0 {
		panic(exhausted{})
	}
}

func (b *budget) Grow(bytes int) {
	if b.bytes -= bytes; b.bytes < 0 {
		panic(exhausted{})
	}
}

// find returns the positions of the groups, and whether the match exceeds the budget.
func find(r *Regexp, text string) (positions []int, exceeded bool) {
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case exhausted:
			positions, exceeded = nil, true
		default:
			panic(failure)
		}
	}()
	return r.Match(text, 0, len(text), Search, true, &budget{1 << 16, 1 << 20}), false
}

// TestBudget checks that a match whose work grows exponentially ends.
func TestBudget(t *testing.T) {
	for _, test := range []struct {
		source, text string
		exceeded     bool
	}{
		{`(a+)+$`, strings.Repeat("a", 40) + "b", true},
		{`(a|a)*$`, strings.Repeat("a", 40) + "b", true},
		{`a+$`, strings.Repeat("a", 40), false},
		{`(?:)*x`, strings.Repeat("a", 40), false},
	} {
		r, err := Compile(test.source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, exceeded := find(r, test.text); exceeded != test.exceeded {
			t.Errorf("%s: exceeds its budget %t, want %t", test.source, exceeded, test.exceeded)
		}
	}
}

// TestErrors checks the texts of mistakes with their places. Those of other mistakes are compared
// with Python in package interp.
func TestErrors(t *testing.T) {
	for source, want := range map[string]string{
		"(":        "missing ), unterminated subpattern at position 0",
		"a\n(b":    "missing ), unterminated subpattern at position 2 (line 2, column 1)",
		"é**":      "multiple repeat at position 2",
		"(?<=a+)b": "look-behind requires fixed-width pattern",
		"[z-a]":    "bad character range z-a at position 1",
		`\q`:       `bad escape \q at position 0`,
	} {
		if _, err := Compile(source, 0); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", source, err, want)
		}
	}
}

// FuzzCompile compiles any expression and matches it with any text.
func FuzzCompile(f *testing.F) {
	for _, source := range []string{`(?P<a>\w+)\s(?P=a)`, `(?i)[^a-z\d]{2,3}?|(?<!x)y++`, `(?>a|b)(?(1)c|d)`, `\x41\u00e9[\]\b]`, "(?x) a # b\n", "a{,2}{", `(?-i:a)\Z`} {
		f.Add(source, "abc ABC 123")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		r, err := Compile(source, 0)
		if err != nil {
			return
		}
		positions, _ := find(r, text)
		for i := 0; i+1 < len(positions); i += 2 {
			from, to := positions[i], positions[i+1]
			if i == 0 && (from < 0 || from > to) || to > len(text) || from > len(text) {
				t.Errorf("%q in %q: got %v", source, text, positions)
			}
		}
	})
}
