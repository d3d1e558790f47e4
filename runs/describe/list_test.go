package describe

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/runs/catalogue"
)

// TestListExtensions lists, shows and counts scenarios with what they extend.
func TestListExtensions(t *testing.T) {
	t.Parallel()
	selection := catalogue.Selection{PackPaths: []string{"ride"}, Variants: []string{catalogue.PlainVariant}}
	expanded, err := selection.LoadExpanded(t.Context(), io.Discard, []string{"no_flight_today*"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Count{{"seed", 1}, {"paraphrased", 1}, {"derived", 1}}, CountScenarios(expanded).Kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	scenarios, err := selection.Load(t.Context(), io.Discard, []string{"no_flight_today*"})
	if err != nil {
		t.Fatal(err)
	}
	lines := List(scenarios)
	var got [][4]string
	for _, line := range lines {
		got = append(got, [4]string{line.Name, line.Kind, line.Extends, line.Seed})
	}
	want := [][4]string{
		{"no_flight_today", "seed", "", ""},
		{"no_flight_today_but_a_way_home", "derived", "no_flight_today_in_other_words", "no_flight_today"},
		{"no_flight_today_in_other_words", "paraphrased", "no_flight_today", "no_flight_today"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if text := ListText(lines, 0); strings.Count(text, "(derived: no_flight_today)") != 1 {
		t.Errorf("text: got %s", text)
	}
	var shown strings.Builder
	if err := Write(&shown, Subject{Scenario: scenarios[1]}); err != nil || !strings.Contains(shown.String(), "no_flight_today_in_other_words; derived from the seed no_flight_today") {
		t.Errorf("show: got %v and %s", err, shown.String())
	}
}
