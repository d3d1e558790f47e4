package rouge

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
)

func TestStemVectors(t *testing.T) {
	vectortest.Lines(t, vectortest.Dir(t, "tools/stem.jsonl"), func(line int, raw []byte) {
		var c struct{ Token, Stem string }
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		if got := strings.Join(Tokenize(c.Token), " "); got != c.Stem {
			t.Errorf("line %d: Tokenize(%q) = %q, want %q", line, c.Token, got, c.Stem)
		}
	})
}

func fMeasure(target, prediction string) float64 {
	var v Vocabulary
	return v.Target(NewTarget(target)).FMeasure(v.Text(prediction))
}

func TestFMeasureVectors(t *testing.T) {
	vectortest.Lines(t, vectortest.Dir(t, "tools/rouge_l.jsonl"), func(line int, raw []byte) {
		var c struct {
			Target, Prediction string
			FMeasure           float64
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		got := fMeasure(c.Target, c.Prediction)
		if math.Abs(got-c.FMeasure) > 1e-9 {
			t.Errorf("line %d: FMeasure(%q, %q) = %v, want %v", line, c.Target, c.Prediction, got, c.FMeasure)
		}
	})
}

func TestTokenizeOutsideASCII(t *testing.T) {
	for text, want := range map[string]string{
		"\u0130stanbul": "i stanbul",
		"\u212Aelvin":   "kelvin",
		"caf\xe9 ok":    "caf ok",
		"":              "",
	} {
		if got := strings.Join(Tokenize(text), " "); got != want {
			t.Errorf("Tokenize(%q) = %q, want %q", text, got, want)
		}
	}
}

// tableCommonLength computes the longest common subsequence by dynamic programming.
func tableCommonLength(a, b Tokens) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

func TestCommonAgreesWithTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte('a' + byte(random.IntN(5)))
			b.WriteByte(' ')
		}
		return b.String()
	}
	for range 500 {
		a, b := text(1+random.IntN(1200)), text(random.IntN(150))
		if got, want := NewTarget(a).commonLength(Tokenize(b)), tableCommonLength(Tokenize(a), Tokenize(b)); got != want {
			t.Fatalf("common of %d and %d tokens = %d, want %d", len(a)/2, len(b)/2, got, want)
		}
	}
}

func FuzzTokenize(f *testing.F) {
	f.Add("Running the skies, 4th ied eed")
	f.Fuzz(func(t *testing.T, text string) {
		for _, token := range Tokenize(text) {
			if token == "" {
				t.Errorf("Tokenize(%q) has an empty token", text)
			}
		}
	})
}

// texts60 returns a target and a prediction of 60 tokens each.
func texts60() (*NumberedTarget, Text) {
	random := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("the wifi has been turned on remind me to buy milk tomorrow at five in the station of trains running easily")
	text := func() string {
		var s strings.Builder
		for range 60 {
			s.WriteString(words[random.IntN(len(words))] + " ")
		}
		return s.String()
	}
	var v Vocabulary
	return v.Target(NewTarget(text())), v.Text(text())
}

func TestFMeasureAllocatesNothing(t *testing.T) {
	target, prediction := texts60()
	if got := testing.AllocsPerRun(100, func() { target.FMeasure(prediction) }); got != 0 {
		t.Errorf("FMeasure: got %v allocations, want 0", got)
	}
}

func BenchmarkFMeasure60x60(b *testing.B) {
	target, prediction := texts60()
	b.ReportAllocs()
	for b.Loop() {
		target.FMeasure(prediction)
	}
}

func BenchmarkTokenize60(b *testing.B) {
	text := strings.Repeat("the conditional relational reminders running on ", 10)
	b.ReportAllocs()
	for b.Loop() {
		Tokenize(text)
	}
}
