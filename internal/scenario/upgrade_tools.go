package scenario

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// removeOracleTools removes tools that the oracle calls. It expects expanded calls.
func removeOracleTools(scenario *yaml.Node) {
	list := entry(scenario, "extra_tools")
	if list == nil || list.Kind != yaml.SequenceNode || commented(list) {
		return
	}
	called := make(map[string]bool)
	for _, turn := range elements(entry(scenario, "oracle")) {
		for _, call := range elements(entry(turn, callsKey)) {
			if tool := entry(call, toolKey); tool != nil {
				called[tool.Value] = true
			}
		}
	}
	for _, item := range elements(entry(scenario, "without_tools")) {
		delete(called, item.Value)
	}
	list.Content = slices.DeleteFunc(list.Content, func(item *yaml.Node) bool { return called[item.Value] })
	at := slices.Index(scenario.Content, list)
	if len(list.Content) == 0 && !commented(scenario.Content[at-1]) {
		scenario.Content = slices.Delete(scenario.Content, at-1, at+1)
	}
}
