package catalogue

import (
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
)

// narrowed returns the names of the built-in scenarios that are left, by category.
func narrowed(t *testing.T, n narrowing) (names []string, categories map[string]int) {
	t.Helper()
	selection := Selection{Variants: []string{PlainVariant}, narrowing: n}
	scenarios, err := selection.Load(t.Context(), io.Discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	categories = make(map[string]int)
	for _, s := range scenarios {
		names = append(names, s.GetSetup().GetName())
		for _, category := range resultfile.CountedCategories(s.GetSetup().GetCategories()) {
			categories[category]++
		}
	}
	return names, categories
}

// TestLimit draws scenarios: the same ones each time, with the categories of all.
func TestLimit(t *testing.T) {
	t.Parallel()
	all, shares := narrowed(t, narrowing{})
	drawn, categories := narrowed(t, narrowing{limit: 40})
	if len(drawn) != 40 || !slices.IsSorted(drawn) {
		t.Fatalf("drawn: got %v, want 40 scenarios in their order", drawn)
	}
	for category, count := range shares {
		if want := 40 * float64(count) / float64(len(all)); math.Abs(float64(categories[category])-want) > 1.5 {
			t.Errorf("%s: got %d of 40, want about %.1f as in all scenarios", category, categories[category], want)
		}
	}
	again, _ := narrowed(t, narrowing{limit: 40})
	if diff := cmp.Diff(drawn, again); diff != "" {
		t.Errorf("drawn again (-first +second):\n%s", diff)
	}
	if other, _ := narrowed(t, narrowing{limit: 40, seed: 1}); slices.Equal(drawn, other) {
		t.Error("another seed draws the same scenarios")
	}
	if most, _ := narrowed(t, narrowing{limit: 1000}); len(most) != len(all) {
		t.Errorf("limit above all: got %d, want %d", len(most), len(all))
	}
	fewer, _ := narrowed(t, narrowing{limit: 40, excluded: drawn[:1]})
	kept := make(map[string]bool)
	for _, name := range fewer {
		kept[name] = true
	}
	maps.DeleteFunc(kept, func(name string, _ bool) bool { return !slices.Contains(drawn, name) })
	if len(kept) < 30 {
		t.Errorf("without one scenario %d of 40 are drawn again, want most", len(kept))
	}
}

func TestCategoryAndExclude(t *testing.T) {
	t.Parallel()
	names, categories := narrowed(t, narrowing{categories: []string{"COREFERENCE", "DISAMBIGUATION"}, excluded: []string{"a*", "b*"}})
	if categories[resultfile.AllCategories] != len(names) || len(names) == 0 || categories["COREFERENCE"]+categories["DISAMBIGUATION"] < len(names) {
		t.Errorf("categories: got %v of %d", categories, len(names))
	}
	if slices.ContainsFunc(names, func(name string) bool { return name < "c" }) {
		t.Errorf("names: got %v, want none that is excluded", names)
	}
	for want, n := range map[string]narrowing{
		`--category: no selected scenario is in "COREFERENC"; did you mean COREFERENCE?`: {categories: []string{"COREFERENC"}},
		`--category: no selected scenario is in "x"; expected one of ALL_CATEGORIES, `:   {categories: []string{"x"}},
		`--exclude: "nothing*" matches none of the 156 selected scenarios`:               {excluded: []string{"nothing*"}},
		`--exclude: * leaves no scenario`:                                                {excluded: []string{"*"}},
		`--exclude: pattern "[": syntax error in pattern`:                                {excluded: []string{"["}},
		`--limit: -1 given, expected 1 or more`:                                          {limit: -1},
	} {
		selection := Selection{Variants: []string{PlainVariant}, narrowing: n}
		if _, err := selection.Load(t.Context(), io.Discard, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got error %v, want %q", n, err, want)
		}
	}
}
