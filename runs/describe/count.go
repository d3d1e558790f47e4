package describe

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
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
	Base         int `json:"base"`
	Scenarios    int `json:"scenarios"`
	Confirmation int `json:"confirmation"`
	// Kinds counts the base scenarios that extend none, and those that extend others by what they
	// change.
	Kinds      []Count `json:"kinds"`
	Categories []Count `json:"categories"`
	// Tools counts the base scenarios per listed tool; AnyTool counts those that list none, and so
	// get all.
	Tools   []Count `json:"tools"`
	AnyTool int     `json:"any_tool"`
	// Milestones is the number of milestones of the base scenarios. Columns counts those that compare
	// a column, as TABLE.column, and MilestoneTools those that compare calls of a tool: tables 7 and 8
	// of the paper.
	Milestones     int     `json:"milestones"`
	Columns        []Count `json:"milestones_by_column"`
	MilestoneTools []Count `json:"milestones_by_tool"`
	// Stateful is the number of the tools in Tools that may change the world, Stateless that of the
	// others. Tools of tool servers are in neither.
	Stateful  int `json:"stateful_tools"`
	Stateless int `json:"stateless_tools"`
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
		{"base scenarios by kind", c.Kinds},
		{"scenarios by category, over all variants", c.Categories},
		{"base scenarios by tool", tools},
		{"tools", []Count{{"may change the world" + c.statefulShare(), c.Stateful}, {"only read", c.Stateless}}},
		{"milestones of base scenarios", []Count{{"milestones", c.Milestones}}},
		{"milestones by table and column", c.Columns},
		{"milestones by tool", c.MilestoneTools},
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

// statefulShare returns the share of stateful tools for people, empty without tools.
func (c *Counts) statefulShare() string {
	if c.Stateful+c.Stateless == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.0f %%)", 100*float64(c.Stateful)/float64(c.Stateful+c.Stateless))
}

// CountScenarios counts scenarios with their variants.
func CountScenarios(scenarios []scenario.Expanded) *Counts {
	out := &Counts{}
	categories, tools, kinds := make(map[string]int), make(map[string]int), make(map[string]int)
	compared := milestoneCounts{columns: make(map[string]int), tools: make(map[string]int)}
	readOnly := make(map[string]bool) // of the tools in Python
	for _, info := range toolhost.Tools() {
		readOnly[info.GetTool().GetName()] = info.GetReadOnly()
	}
	packs := make(map[string]bool)
	for _, e := range scenarios {
		switch e.Suffix {
		case scenario.ConfirmationSuffix:
			out.Confirmation++
			continue
		case scenario.ArgumentNameSuffix, scenario.FailingToolsSuffix: // the original counts eight
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
		kinds[scenario.Kind(e.Scenario())]++
		compared.add(e.Scenario().GetEvaluation().GetMilestones())
		addPackTools(readOnly, packs, setup)
		if len(setup.GetTools().GetAllow()) == 0 {
			out.AnyTool++
		}
		for _, name := range setup.GetTools().GetAllow() {
			tools[name]++
		}
	}
	out.Categories = inOrder(categories)
	for _, kind := range scenario.Kinds() {
		out.Kinds = append(out.Kinds, Count{kind, kinds[kind]})
	}
	for _, info := range toolhost.Tools() {
		if name := info.GetTool().GetName(); name != world.AllowTool {
			out.Tools = append(out.Tools, Count{name, tools[name]})
			delete(tools, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tools)) { // those of packs
		out.Tools = append(out.Tools, Count{name, tools[name]})
	}
	out.Milestones, out.Columns, out.MilestoneTools = compared.milestones, sorted(compared.columns), sorted(compared.tools)
	for _, t := range out.Tools {
		switch reads, known := readOnly[t.Name]; {
		case known && reads:
			out.Stateless++
		case known:
			out.Stateful++
		}
	}
	slices.SortStableFunc(out.Tools, func(a, b Count) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// addPackTools adds the tools of a setup's pack, whose files packs then has.
func addPackTools(readOnly, packs map[string]bool, setup *setupv1.Setup) {
	key := ""
	for _, module := range setup.GetToolModules() {
		key += fmt.Sprintf("%s %p\n", module.GetName(), module)
	}
	if key == "" || packs[key] {
		return
	}
	packs[key] = true
	infos, _, _ := toolhost.PackTools(setup) // mistakes were reported when the pack was loaded
	for _, info := range infos {
		readOnly[info.GetTool().GetName()] = info.GetReadOnly()
	}
}

// inOrder returns the counts of categories in the order of the original, those of packs last.
func inOrder(categories map[string]int) (counts []Count) {
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
		counts = append(counts, Count{name, categories[name]})
	}
	return counts
}
