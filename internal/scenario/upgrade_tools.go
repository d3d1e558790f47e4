package scenario

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// otherTools leaves out the tools that the agent gets because the oracle calls them, where that
// keeps their order. It takes calls that are written out.
func otherTools(scenario *yaml.Node) {
	list, denied := entry(scenario, "extra_tools"), elements(entry(scenario, "without_tools"))
	if list == nil || list.Kind != yaml.SequenceNode || commented(list) {
		return
	}
	var called []string
	for _, turn := range elements(entry(scenario, "oracle")) {
		for _, call := range elements(entry(turn, callsKey)) {
			if tool := entry(call, toolKey); tool != nil && tool.Value != endTool && !slices.Contains(called, tool.Value) {
				called = append(called, tool.Value)
			}
		}
	}
	names := make([]string, len(list.Content))
	for i, item := range list.Content {
		names[i] = item.Value
	}
	for _, item := range denied {
		if slices.Contains(called, item.Value) {
			return
		}
	}
	if count := len(called); count <= len(names) && slices.Equal(called, names[:count]) {
		list.Content = list.Content[count:]
	}
	if len(list.Content) == 0 {
		at := slices.Index(scenario.Content, list)
		if commented(scenario.Content[at-1]) {
			return
		}
		scenario.Content = slices.Delete(scenario.Content, at-1, at+1)
		return
	}
}
