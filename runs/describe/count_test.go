package describe

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/original/importer/importertest"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// TestCountOriginal counts the original's scenarios, whose numbers are known.
func TestCountOriginal(t *testing.T) {
	t.Parallel()
	scenarios := importertest.Scenarios(t)
	opts, err := scenario.OptionsFor(toolhost.Tools())
	if err != nil {
		t.Fatal(err)
	}
	opts.AllowUnreachable = true
	expanded := scenario.Expand(scenarios.All(), toolhost.ConsentTools())
	for _, e := range expanded {
		if e.Suffix != scenario.ConfirmationSuffix {
			continue
		}
		if problems := scenario.Validate(e.Scenario(), opts); problems != nil {
			t.Errorf("%s: got %v, want no problem", e.Name, problems)
		}
	}
	got := CountScenarios(expanded)
	if got.Confirmation == 0 {
		t.Error("variants with confirmation: got none, want some")
	}
	want := []Count{
		{"STATE_DEPENDENCY", 192}, {"CANONICALIZATION", 472}, {"SINGLE_TOOL_CALL", 152}, {"MULTIPLE_TOOL_CALL", 656},
		{"SINGLE_USER_TURN", 584}, {"MULTIPLE_USER_TURN", 224}, {"INSUFFICIENT_INFORMATION", 224}, {"COREFERENCE", 0}, {"DISAMBIGUATION", 0},
		{"NO_DISTRACTION_TOOLS", 129}, {"THREE_DISTRACTION_TOOLS", 129}, {"TEN_DISTRACTION_TOOLS", 129}, {"ALL_TOOLS_AVAILABLE", 129},
		{"TOOL_DESCRIPTION_SCRAMBLED", 129}, {"ARG_TYPE_SCRAMBLED", 129}, {"ARG_DESCRIPTION_SCRAMBLED", 129}, {"TOOL_NAME_SCRAMBLED", 129},
	}
	if diff := cmp.Diff(want, got.Categories); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
	if got.Base != 129 || got.Scenarios != 1032 || got.AnyTool != 0 {
		t.Errorf("got %d base scenarios, %d in all, %d with any tool, want 129, 1032, 0", got.Base, got.Scenarios, got.AnyTool)
	}
	if first := (Count{"end_conversation", 129}); got.Tools[0] != first || len(got.Tools) != 34 {
		t.Errorf("got %d tools, the first %v, want 34 and %v", len(got.Tools), got.Tools[0], first)
	}
}

// TestBuiltInCounts compares the built-in catalogue with the original's. No category is smaller. No
// tool is needed less often, or by fewer than three base scenarios.
func TestBuiltInCounts(t *testing.T) {
	t.Parallel()
	scenarios := importertest.Scenarios(t)
	chosen, err := (&catalogue.Selection{Variants: []string{catalogue.AllVariants}}).LoadExpanded(t.Context(), io.Discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	original, builtIn := CountScenarios(scenario.Expand(scenarios.All(), nil)), CountScenarios(chosen)
	if builtIn.Base < original.Base || builtIn.Scenarios < original.Scenarios {
		t.Errorf("got %d base scenarios and %d in all, want at least %d and %d", builtIn.Base, builtIn.Scenarios, original.Base, original.Scenarios)
	}
	number := func(counts []Count, name string) int {
		for _, c := range counts {
			if c.Name == name {
				return c.Count
			}
		}
		return 0
	}
	for _, c := range original.Categories {
		if got := number(builtIn.Categories, c.Name); got < c.Count {
			t.Errorf("category %s: got %d, want at least %d", c.Name, got, c.Count)
		}
	}
	const fewest = 3
	for _, c := range original.Tools {
		if got, want := number(builtIn.Tools, c.Name), max(c.Count, fewest); got < want {
			t.Errorf("base scenarios that need %s: got %d, want at least %d", c.Name, got, want)
		}
	}
}
