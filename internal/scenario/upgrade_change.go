package scenario

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/toolsandbox/toolsandbox/internal/world"
)

// shortenConstraints writes constraints on rows with their measure as a key.
func shortenConstraints(scenario *yaml.Node) {
	for _, graph := range []string{"milestones", "minefields"} {
		for _, node := range graphNodes(scenario, graph) {
			for _, constraint := range append(elements(entry(node, "constraints")), node) {
				shortenConstraint(constraint)
			}
		}
	}
}

func shortenConstraint(constraint *yaml.Node) {
	table, rows := entry(constraint, "table"), entry(constraint, "expect")
	if table == nil || rows == nil || rows.Kind == yaml.ScalarNode || !wantedTableForm(world.Builtin()).has(table.Value) {
		return
	}
	measure, reference := entry(constraint, "measure"), entry(constraint, "reference")
	name := changeMeasures[0]
	if measure != nil {
		name = measure.Value
	}
	if !slices.Contains(changeMeasures, name) || (name == changeMeasures[0]) != (reference == nil) {
		return
	}
	dropped := []*yaml.Node{table, measure}
	if reference != nil && reference.Value == startReference {
		dropped = append(dropped, reference)
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(constraint.Content); i += 2 {
		key, value := constraint.Content[i], constraint.Content[i+1]
		switch {
		case value == rows:
			if rows.Kind == yaml.MappingNode {
				rows = flowMapping(rows, len("        : {: {}}")+len(name)+len(table.Value))
			}
			outer := &yaml.Node{Kind: yaml.MappingNode, Style: rows.Style & yaml.FlowStyle, Content: []*yaml.Node{scalar(table.Value), rows}}
			key.Value = name
			kept = append(kept, key, outer)
		case !slices.Contains(dropped, value):
			kept = append(kept, key, value)
		case commented(key) || commented(value):
			return
		}
	}
	constraint.Content = kept
}
