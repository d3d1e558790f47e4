package scenario

import (
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// eachCall visits the turns of a scenario and all calls: in scripts, demonstrations and
// constraints.
func eachCall(scenario *yaml.Node, turn func(node *yaml.Node, f form), call func(node *yaml.Node, f form)) {
	turns := func(list *yaml.Node, f form, calls form) {
		for _, item := range elements(list) {
			turn(item, f)
			for _, made := range elements(entry(item, callsKey)) {
				call(made, calls)
			}
		}
	}
	turns(entry(scenario, "oracle"), oracleTurnForm(), oracleCallForm())
	if user := entry(scenario, "user"); user != nil {
		turns(entry(user, "script"), turnForm(), callForm())
		turns(entry(user, "demonstrations"), demonstrationForm(), shownCallForm())
	}
	for _, graph := range []string{"milestones", "minefields"} {
		for _, node := range graphNodes(scenario, graph) {
			turns(entry(node, "triggered_by"), turnForm(), callForm())
			for _, constraint := range append(elements(entry(node, "constraints")), node) {
				wanted := entry(constraint, "call")
				if wanted != nil && wanted.Kind != yaml.SequenceNode {
					call(wanted, wantedCallForm())
				}
				for _, one := range elements(wanted) {
					call(one, wantedCallForm())
				}
			}
		}
	}
}

// elements returns the items of a list, none for other nodes.
func elements(node *yaml.Node) []*yaml.Node {
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	return slices.Clone(node.Content)
}

// expandCalls expands short calls, so that the upgrade handles one form.
func expandCalls(scenario *yaml.Node) {
	eachCall(scenario, func(turn *yaml.Node, f form) {
		if at := toolEntry(turn, f); at >= 0 {
			call := mapping(scalar(toolKey), scalar(turn.Content[at].Value), scalar(argumentsKey), turn.Content[at+1])
			list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{call}}
			turn.Content[at].Value, turn.Content[at+1] = callsKey, list
		}
	}, func(call *yaml.Node, f form) {
		if at := toolEntry(call, f); at >= 0 {
			name := scalar(call.Content[at].Value)
			call.Content[at].Value = toolKey
			call.Content = slices.Insert(call.Content, at+1, name, scalar(argumentsKey))
		} else if call.Kind == yaml.ScalarNode && call.ShortTag() == "!!str" && toolName.MatchString(call.Value) {
			name := *call
			*call = *mapping(scalar(toolKey), &name)
		}
	})
}

// toolEntry returns the index of the tool's key in a short call, otherwise -1.
func toolEntry(node *yaml.Node, f form) int {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if !f.has(f.currentName(node.Content[i].Value)) && f.acceptsTool(node, i) {
			return i
		}
	}
	return -1
}

// shortenCalls writes calls in the short form.
func shortenCalls(scenario *yaml.Node) {
	eachCall(scenario, func(turn *yaml.Node, f form) {
		list := entry(turn, callsKey)
		if len(f.replaceable) == 0 || list == nil || list.Kind != yaml.SequenceNode || len(list.Content) != 1 || commented(list) {
			return
		}
		call, at := list.Content[0], slices.Index(turn.Content, list)
		tool, arguments := entry(call, toolKey), entry(call, argumentsKey)
		if !canShorten(call, f) || entry(call, "id") != nil || entry(call, milestoneKey) != nil {
			return
		}
		if arguments == nil {
			arguments = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		}
		turn.Content[at-1].Value, turn.Content[at] = tool.Value, flowMapping(arguments, len("  - : ")+len(tool.Value))
	}, func(call *yaml.Node, f form) {
		tool, arguments := entry(call, toolKey), entry(call, argumentsKey)
		if !canShorten(call, f) || commented(call) {
			return
		}
		if len(call.Content) == 2 || len(call.Content) == 4 && arguments != nil && len(arguments.Content) == 0 {
			*call = *scalar(tool.Value)
			return
		}
		if arguments == nil {
			arguments = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		} else {
			at := slices.Index(call.Content, arguments)
			call.Content = slices.Delete(call.Content, at-1, at+1)
		}
		at := slices.Index(call.Content, tool)
		call.Content[at-1].Value, call.Content[at] = tool.Value, flowMapping(arguments, len("      - : ")+len(tool.Value))
	})
}

// canShorten reports whether a call has a short form: its tool is not a field of the form, and it
// has no unknown fields.
func canShorten(call *yaml.Node, f form) bool {
	tool, arguments := entry(call, toolKey), entry(call, argumentsKey)
	if tool == nil || tool.Kind != yaml.ScalarNode || f.has(tool.Value) || !toolName.MatchString(tool.Value) ||
		arguments != nil && arguments.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(call.Content); i += 2 {
		if name := call.Content[i].Value; name != toolKey && name != argumentsKey && !slices.Contains([]string{"id", tolerancesKey, milestoneKey, "answer", "failed"}, name) {
			return false
		}
	}
	return true
}

// flowMapping puts a mapping of scalars on one line after some columns if it fits.
func flowMapping(node *yaml.Node, columns int) *yaml.Node {
	if commented(node) {
		return node
	}
	for _, child := range node.Content {
		columns += utf8.RuneCountInString(child.Value) + len(": ")
		if child.Kind != yaml.ScalarNode || child.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			return node
		}
		if child.Style != 0 {
			columns += len(`""`)
		}
	}
	if columns <= lineWidth {
		node.Style |= yaml.FlowStyle
	}
	return node
}

func scalar(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

// mapping returns a mapping on one line from alternating keys and values.
func mapping(content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: content}
}
