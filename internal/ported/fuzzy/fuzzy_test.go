package fuzzy

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
)

// tolerance is the largest accepted difference from a vector's score.
const tolerance = 1e-9

func TestScorers(t *testing.T) {
	s := new(scorer)
	scorers := []struct {
		name  string
		score func(a, b *Text) float64
	}{
		{"wratio", WRatio},
		{"partial_ratio", PartialRatio},
		{"ratio", func(a, b *Text) float64 { return s.ratio(a.whole, b.whole, 0) }},
		{"token_sort_ratio", func(a, b *Text) float64 { return s.ratio(a.sorted, b.sorted, 0) }},
		{"token_set_ratio", func(a, b *Text) float64 {
			if len(a.words) == 0 || len(b.words) == 0 {
				return 0
			}
			s.splitWords(a, b)
			return s.setRatio(0, 0)
		}},
		{"partial_token_set_ratio", func(a, b *Text) float64 {
			switch s.splitWords(a, b); {
			case len(a.words) == 0 || len(b.words) == 0:
				return 0
			case len(s.shared) > 0:
				return maxScore
			}
			return s.partialRatio(s.joinedA, s.joinedB, 0)
		}},
		{"token_ratio", func(a, b *Text) float64 { return s.tokenRatio(a, b, 0) }},
		{"partial_token_sort_ratio", func(a, b *Text) float64 { return s.partialRatio(a.sorted, b.sorted, 0) }},
		{"partial_token_ratio", func(a, b *Text) float64 { return s.partialTokenRatio(a, b, 0) }},
	}
	cases, inexact := 0, 0
	vectortest.Lines(t, vectortest.Dir(t, "tools/wratio.jsonl"), func(line int, raw []byte) {
		var c map[string]any
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		query, _ := c["query"].(string)
		choice, _ := c["choice"].(string)
		if got := [2]any{Process(query), Process(choice)}; got != [2]any{c["processed_query"], c["processed_choice"]} {
			t.Errorf("line %d: Process = %q, want %q, %q", line, got, c["processed_query"], c["processed_choice"])
		}
		for _, s := range scorers {
			got, want := s.score(Prepare(query), Prepare(choice)), c[s.name].(float64)
			if math.Abs(got-want) > tolerance {
				t.Errorf("line %d: %s(%q, %q) = %v, want %v", line, s.name, query, choice, got, want)
			}
			if got != want {
				inexact++
			}
		}
		cases++
	})
	t.Logf("wratio.jsonl: %d cases of %d scores, %d scores not identical", cases, len(scorers), inexact)
	if inexact > 0 {
		t.Errorf("%d scores within %g but not identical", inexact, tolerance)
	}
}

func TestProcess(t *testing.T) {
	cases := 0
	vectortest.Lines(t, vectortest.Dir(t, "tools/default_process.jsonl"), func(line int, raw []byte) {
		var c struct {
			First, Last rune
			Kind        string
			Offset      rune
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		for r := c.First; r <= c.Last; r++ {
			want := r + c.Offset
			if c.Kind == "space" {
				want = ' '
			}
			if got := processRune(r); got != want {
				t.Errorf("processRune(%#x) = %#x, want %#x", r, got, want)
			}
		}
		cases++
	})
	t.Logf("default_process.jsonl: %d runs", cases)
}

func TestExtract(t *testing.T) {
	cases := 0
	vectortest.Lines(t, vectortest.Dir(t, "tools/extract.jsonl"), func(line int, raw []byte) {
		var c struct {
			Query   string
			Choices []*string
			Cutoff  float64
			Result  [][2]float64
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		got := [][2]float64{}
		for _, m := range Extract(c.Query, len(c.Choices), choices(c.Choices), c.Cutoff, 5) {
			got = append(got, [2]float64{float64(m.Index), m.Score})
		}
		if diff := cmp.Diff(c.Result, got); diff != "" {
			t.Errorf("line %d: Extract(%q) (-want +got):\n%s", line, c.Query, diff)
		}
		cases++
	})
	t.Logf("extract.jsonl: %d cases", cases)
}

// choices returns the choice function for texts. Some may be null.
func choices(texts []*string) func(i int) (string, bool) {
	return func(i int) (string, bool) {
		if texts[i] == nil {
			return "", false
		}
		return *texts[i], true
	}
}

// FuzzCommon compares the bit-parallel algorithm with dynamic programming.
func FuzzCommon(f *testing.F) {
	f.Add("search contacts", "search messages")
	f.Add("é"+strings.Repeat("ab", 100), strings.Repeat("ba", 90)+"é😀")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := []rune(a), []rune(b)
		if len(x) > 2000 || len(y) > 2000 {
			return
		}
		var p pattern
		p.prepare(x)
		if got, want := p.commonLength(y), tableCommonLength(x, y); got != want {
			t.Errorf("common(%q, %q) = %d, want %d", a, b, got, want)
		}
		texts := [2]*Text{Prepare(a), Prepare(b)}
		if got, back := WRatio(texts[0], texts[1]), WRatio(texts[1], texts[0]); got < 0 || got > maxScore || math.Abs(got-back) > tolerance {
			t.Errorf("WRatio(%q, %q) = %v, with the arguments swapped %v", a, b, got, back)
		}
	})
}

func tableCommonLength(a, b []rune) int {
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

func BenchmarkExtract(b *testing.B) {
	names := []string{"Ilse Vandermeer", "Kofi Boateng", "Tomas Havel", "Mateo S", "best friend", "Is the fern still alive after the weekend"}
	b.ReportAllocs()
	for b.Loop() {
		Extract("tomas havel", 60, func(i int) (string, bool) { return names[i%len(names)], true }, 50, 5)
	}
}

func BenchmarkWRatio(b *testing.B) {
	x, y := Prepare("search_location_around_lat_lon"), Prepare("search_weather_around_lat_lon")
	b.ReportAllocs()
	for b.Loop() {
		WRatio(x, y)
	}
}
