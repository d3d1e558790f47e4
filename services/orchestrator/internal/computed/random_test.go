package computed

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestArgumentsFit draws many values and checks each against its declared type.
func TestArgumentsFit(t *testing.T) {
	const schema = `{"type": "object", "properties": {
		"b": {"type": "boolean"}, "i": {"type": "integer"}, "n": {"type": "number"}, "s": {"type": "string"},
		"e": {"enum": ["x", "y"]}, "o": {"type": "object", "properties": {"in": {"type": "integer"}}, "required": ["in"]},
		"a": {"type": "array", "items": {"type": "boolean"}}, "u": {"type": ["null", "boolean"]}, "free": {},
		"v": {"anyOf": [{"type": "boolean"}, {"enum": ["z"]}]}},
		"required": ["i", "undescribed"]}`
	checks := map[string]func(any) bool{
		"b": isA[bool], "s": isA[string], "o": isA[map[string]any], "a": isA[[]any],
		"i":           func(v any) bool { f, ok := v.(float64); return ok && f == math.Trunc(f) },
		"n":           isA[float64],
		"e":           func(v any) bool { return v == "x" || v == "y" },
		"u":           func(v any) bool { return v == nil || isA[bool](v) },
		"v":           func(v any) bool { return v == "z" || isA[bool](v) },
		"free":        func(v any) bool { return isA[bool](v) || isA[string](v) || isA[float64](v) },
		"undescribed": func(v any) bool { return isA[bool](v) || isA[string](v) || isA[float64](v) },
	}
	d := drawer{Rand: rand.New(rand.NewPCG(1, 2)), words: []string{"", "home", "12", "7.5"}}
	seen := make(map[string]int)
	for range 500 {
		raw := d.arguments(schema)
		var got map[string]any
		if err := json.Unmarshal([]byte(raw), &got); err != nil {
			t.Fatalf("arguments %s: %v", raw, err)
		}
		for key, value := range got {
			seen[key]++
			if check := checks[key]; check == nil || !check(value) {
				t.Fatalf("arguments %s: %s does not fit", raw, key)
			}
		}
	}
	for key := range checks {
		if want := 500; slices.Contains([]string{"i", "undescribed"}, key) && seen[key] != want {
			t.Errorf("required %s: got %d of %d", key, seen[key], want)
		}
		if seen[key] < 150 {
			t.Errorf("%s: drawn %d times of 500, want at least 150", key, seen[key])
		}
	}
}

func isA[T any](v any) bool { _, ok := v.(T); return ok }

func TestUnreadableSchema(t *testing.T) {
	d := drawer{Rand: rand.New(rand.NewPCG(1, 2)), words: []string{""}}
	for _, schema := range []string{"", "{", "[]", `{"properties": 3, "required": "x"}`, `{"required": [3]}`} {
		if got := d.arguments(schema); got != "{}" {
			t.Errorf("schema %q: got %s, want {}", schema, got)
		}
	}
}

func TestWords(t *testing.T) {
	first, second := "Call Ann-Marie at +15551234. 3.5 miles?", "{'person_id': 'a22e1984-6c6c', 'name': 'Ann-Marie'}"
	got := wordsOf([]*worldv1.Message{{Body: &worldv1.Message_Text{Text: first}}, {}, {Body: &worldv1.Message_Text{Text: second}}})
	want := []string{"", "home", "friend", "Hello", "+12453344098", "USD", "Grand Canyon",
		"person_id", "a22e1984-6c6c", "name", "Ann-Marie", "Call", "at", "+15551234", "3.5", "miles"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}
