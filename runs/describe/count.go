package describe

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/form"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// Count is a number of scenarios.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Counts are the numbers of scenarios by category and by tool.
type Counts struct {
	// Base is the number of base scenarios, Scenarios the number with the eight variants,
	// Confirmation that of the variants in which tools need consent. Only the eight count for
	// categories.
	Base         int     `json:"base"`
	Scenarios    int     `json:"scenarios"`
	Confirmation int     `json:"confirmation"`
	Categories   []Count `json:"categories"`
	// Tools counts the base scenarios per listed tool; AnyTool counts those that list none, and so
	// get all.
	Tools   []Count `json:"tools"`
	AnyTool int     `json:"any_tool"`
}

// Write writes the counts as text. The error is that of w.
func (c *Counts) Write(w io.Writer) error {
	tools := c.Tools
	if c.AnyTool > 0 {
		tools = append(slices.Clone(tools), Count{"(any: none is listed)", c.AnyTool})
	}
	sections := []struct {
		title string
		lines []Count
	}{
		{"scenarios", []Count{{"base scenarios", c.Base}, {"with all variants", c.Scenarios}, {"variants with confirmation", c.Confirmation}}},
		{"scenarios by category, over all variants", c.Categories},
		{"base scenarios by tool", tools},
	}
	for _, section := range sections {
		if _, err := fmt.Fprintf(w, "%s:\n", section.title); err != nil {
			return err
		}
		for _, line := range section.lines {
			if _, err := fmt.Fprintf(w, "%6d  %s\n", line.Count, line.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// CountScenarios counts scenarios with their variants.
func CountScenarios(scenarios []scenario.Expanded) *Counts {
	out := &Counts{}
	categories, tools := make(map[string]int), make(map[string]int)
	for _, e := range scenarios {
		switch e.Suffix {
		case scenario.ConfirmationSuffix:
			out.Confirmation++
			continue
		case scenario.ArgumentNameSuffix: // the original counts eight
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
		out.Categories = append(out.Categories, Count{name, categories[name]})
	}
	for _, info := range toolhost.Tools() {
		if name := info.GetTool().GetName(); name != scenario.AllowTool {
			out.Tools = append(out.Tools, Count{name, tools[name]})
			delete(tools, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tools)) { // those of packs
		out.Tools = append(out.Tools, Count{name, tools[name]})
	}
	slices.SortStableFunc(out.Tools, func(a, b Count) int { return cmp.Compare(b.Count, a.Count) })
	return out
}
