package cli

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/form"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// count is a number of scenarios.
type count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// counts is the output of scenario list --counts.
type counts struct {
	// Base is the number of base scenarios, Scenarios the number with the eight variants,
	// Confirmation that of the variants in which tools need consent. Only the eight count for
	// categories.
	Base         int     `json:"base"`
	Scenarios    int     `json:"scenarios"`
	Confirmation int     `json:"confirmation"`
	Categories   []count `json:"categories"`
	// Tools counts the base scenarios per listed tool; AnyTool counts those that list none, and so
	// get all.
	Tools   []count `json:"tools"`
	AnyTool int     `json:"any_tool"`
}

// listCounts counts the selected scenarios over all variants.
func listCounts(ctx context.Context, w, warnings io.Writer, from *catalogue.Selection, args []string, asJSON bool) error {
	from.Variants = []string{catalogue.AllVariants, strings.TrimPrefix(scenario.ConfirmationSuffix, "_")}
	scenarios, err := from.LoadExpanded(ctx, warnings, args)
	if err != nil {
		return err
	}
	counts := countScenarios(scenarios)
	if asJSON {
		return report.JSON(w, counts)
	}
	tools := counts.Tools
	if counts.AnyTool > 0 {
		tools = append(slices.Clone(tools), count{"(any: none is listed)", counts.AnyTool})
	}
	sections := []struct {
		title string
		lines []count
	}{
		{"scenarios", []count{{"base scenarios", counts.Base}, {"with all variants", counts.Scenarios}, {"variants with confirmation", counts.Confirmation}}},
		{"scenarios by category, over all variants", counts.Categories},
		{"base scenarios by tool", tools},
	}
	for _, section := range sections {
		if err := printf(w, "%s:", section.title); err != nil {
			return err
		}
		for _, line := range section.lines {
			if err := printf(w, "%6d  %s", line.Count, line.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func countScenarios(scenarios []scenario.Expanded) *counts {
	out := &counts{}
	categories, tools := make(map[string]int), make(map[string]int)
	for _, e := range scenarios {
		if e.Suffix == scenario.ConfirmationSuffix {
			out.Confirmation++
			continue
		}
		out.Scenarios++
		setup := e.Scenario().GetSetup()
		for _, name := range resultfile.CountedCategories(setup.GetCategories()) {
			categories[name]++
		}
		if e.Suffix != "" {
			continue
		}
		out.Base++
		if len(setup.GetTools().GetAllow()) == 0 {
			out.AnyTool++
		}
		for _, name := range setup.GetTools().GetAllow() {
			tools[name]++
		}
	}
	order := form.Categories()
	for _, v := range scenario.AllVariants() {
		for _, name := range scenario.AugmentationCategories(v.Augmentations) {
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(categories)) { // those of packs
		if !slices.Contains(order, name) && name != resultfile.AllCategories {
			order = append(order, name)
		}
	}
	for _, name := range order {
		out.Categories = append(out.Categories, count{name, categories[name]})
	}
	for _, info := range toolhost.Tools() {
		if name := info.GetTool().GetName(); name != scenario.AllowTool {
			out.Tools = append(out.Tools, count{name, tools[name]})
			delete(tools, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tools)) { // those of packs
		out.Tools = append(out.Tools, count{name, tools[name]})
	}
	slices.SortStableFunc(out.Tools, func(a, b count) int { return cmp.Compare(b.Count, a.Count) })
	return out
}
