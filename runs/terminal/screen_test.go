package terminal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	tests := map[string]struct {
		text          string
		width, indent int
		want          []string
	}{
		"no terminal":      {"a line as long as it is\nand another", 0, 2, []string{"a line as long as it is", "and another"}},
		"fits":             {"short", 40, 15, []string{"short"}},
		"words":            {"Save Ruben Achterberg, my plumber", 32, 15, []string{"Save Ruben", "Achterberg, my", "plumber"}},
		"wide characters":  {"日本語 日本語 日本語 日本語", 24, 4, []string{"日本語 日本語", "日本語 日本語"}},
		"very little room": {"one two three four five", 10, 8, []string{"one two three", "four five"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, wrapLines(test.text, test.width, test.indent)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
