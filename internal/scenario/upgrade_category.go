package scenario

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// removeDerivedCategories removes trailing categories that follow from the solution.
func removeDerivedCategories(scenario *yaml.Node) {
	list, oracle := entry(scenario, "categories"), entry(scenario, "oracle")
	if list == nil || list.Kind != yaml.SequenceNode || commented(list) || oracle == nil || len(oracle.Content) == 0 {
		return
	}
	given := make([]string, len(list.Content))
	for i, item := range list.Content {
		given[i] = item.Value
	}
	tools, speaks := toolsOf(oracle), false
	if user := entry(scenario, "user"); user != nil && entry(user, "script") != nil {
		speaks = slices.ContainsFunc(entry(user, "script").Content, func(turn *yaml.Node) bool {
			say := entry(turn, "say")
			return say != nil && say.Value != ""
		})
	}
	for end := range given {
		if !slices.Equal(given[end:], derivedCategories(given[:end], tools, speaks)) {
			continue
		}
		at := slices.Index(scenario.Content, list) - 1
		if list.Content = list.Content[:end]; end == 0 && !commented(scenario.Content[at]) {
			scenario.Content = slices.Delete(scenario.Content, at, at+2)
		}
		return
	}
}

// toolsOf returns the tools that a script calls.
func toolsOf(script *yaml.Node) map[string]bool {
	tools := make(map[string]bool)
	for _, turn := range script.Content {
		calls := entry(turn, "calls")
		for i := 0; calls != nil && i < len(calls.Content); i++ {
			if tool := entry(calls.Content[i], "tool"); tool != nil {
				tools[tool.Value] = true
			}
		}
	}
	return tools
}
