package describe

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// toolTraceColumn is the column of SANDBOX with the calls of tools.
const toolTraceColumn = "tool_trace"

// milestoneCounts counts what milestones compare.
type milestoneCounts struct {
	milestones int
	columns    map[string]int // by TABLE.column
	tools      map[string]int
}

// add counts the milestones of a scenario. A milestone counts once for each column and each tool
// that it names.
func (c *milestoneCounts) add(graph *evaluationv1.Graph) {
	for _, node := range graph.GetNodes() {
		c.milestones++
		columns, tools := make(map[string]bool), make(map[string]bool)
		for _, constraint := range node.GetConstraints() {
			for _, row := range constraint.GetTarget() {
				for _, cell := range row.GetCells() {
					columns[constraint.GetTable()+"."+cell.GetColumn()] = true
					if constraint.GetTable() == world.Sandbox && cell.GetColumn() == toolTraceColumn {
						for _, name := range tracedTools(cell.GetValue().GetText()) {
							tools[name] = true
						}
					}
				}
			}
		}
		for name := range columns {
			c.columns[name]++
		}
		for name := range tools {
			c.tools[name]++
		}
	}
}

// tracedTools returns the names of the tools of a tool trace, which is one or a list.
func tracedTools(text string) []string {
	type trace struct {
		Tool string `json:"tool_name"`
	}
	var list []trace
	if json.Unmarshal([]byte(text), &list) != nil {
		list = []trace{{}}
		if json.Unmarshal([]byte(text), &list[0]) != nil {
			return nil
		}
	}
	var names []string
	for _, t := range list {
		names = append(names, t.Tool)
	}
	return names
}

// sorted returns counts, the largest first.
func sorted(counts map[string]int) []Count {
	list := []Count{}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, Count{name, counts[name]})
	}
	slices.SortStableFunc(list, func(a, b Count) int { return cmp.Compare(b.Count, a.Count) })
	return list
}
