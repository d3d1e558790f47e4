package describe

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// Line is one scenario of a list.
type Line struct {
	Name string `json:"name"`
	// Kind is seed, or what the scenario changes of the scenario Seed: paraphrased or derived. Extends
	// is the scenario that it extends itself. Both are empty for a seed.
	Kind       string   `json:"kind"`
	Extends    string   `json:"extends,omitempty"`
	Seed       string   `json:"seed,omitempty"`
	Categories []string `json:"categories"`
	// Tools are the real names of the listed tools, or of a record's functions.
	Tools      []string `json:"tools"`
	Milestones int      `json:"milestones"`
	Minefields int      `json:"minefields"`
}

// List returns the lines of scenarios in their order.
func List(scenarios []*scenariov1.Scenario) []Line {
	var lines []Line
	for _, s := range scenarios {
		tools := s.GetSetup().GetTools().GetAllow()
		for _, function := range s.GetSetup().GetFunctionCalling().GetFunctions() {
			tools = append(tools, function.GetExecutionName())
		}
		lines = append(lines, Line{
			Name: s.GetSetup().GetName(), Kind: scenario.Kind(s), Extends: s.GetLineage().GetExtends(), Seed: s.GetLineage().GetSeed(),
			Categories: s.GetSetup().GetCategories(), Tools: tools,
			Milestones: len(s.GetEvaluation().GetMilestones().GetNodes()), Minefields: len(s.GetEvaluation().GetMinefields().GetNodes()),
		})
	}
	return lines
}

// ListText returns lines as a table of at most width columns, 0 for any width.
func ListText(lines []Line, width int) string {
	t := output.NewList()
	for _, line := range lines {
		words := strings.Join(line.Categories, " ")
		if line.Seed != "" {
			words = strings.TrimSpace(words + " (" + line.Kind + ": " + line.Seed + ")")
		}
		t.Append(table.Row{
			line.Name, fmt.Sprintf("%d tools", len(line.Tools)), fmt.Sprintf("%d milestones", line.Milestones),
			fmt.Sprintf("%d minefields", line.Minefields), words,
		})
	}
	return output.Trimmed(t.Fit(width))
}
