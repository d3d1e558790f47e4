package scenario

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// formerFields converts a document with the field name to the scenario's key and its other fields.
// It returns nil for other documents.
func formerFields(root *yaml.Node) (key, scenario *yaml.Node) {
	name := entry(root, "name")
	if name == nil || name.Kind != yaml.ScalarNode || len(root.Content) == 2 || entry(root, "description") != nil {
		return nil, nil
	}
	return removeName(root), root
}

// removeName removes the field name of a mapping and returns it as a key, with all comments above
// it.
func removeName(node *yaml.Node) *yaml.Node {
	at := slices.Index(node.Content, entry(node, "name"))
	field, key := node.Content[at-1], node.Content[at]
	node.Content = slices.Delete(node.Content, at-1, at+1)
	node.Style &^= yaml.FlowStyle
	moveComments(key, node, field, key)
	return key
}

// moveComments moves the comments of nodes above a key.
func moveComments(key *yaml.Node, from ...*yaml.Node) {
	var lines []string
	for _, node := range from {
		for _, text := range []*string{&node.HeadComment, &node.LineComment, &node.FootComment} {
			if *text != "" {
				lines = append(lines, *text)
			}
			*text = ""
		}
	}
	key.HeadComment = strings.Join(lines, "\n")
}

// graphNodes returns the milestones or minefields of a scenario, from a list or by name.
func graphNodes(scenario *yaml.Node, graph string) []*yaml.Node {
	nodes := entry(scenario, graph)
	if nodes == nil || nodes.Kind != yaml.MappingNode {
		return elements(nodes)
	}
	var values []*yaml.Node
	for i := 1; i < len(nodes.Content); i += 2 {
		values = append(values, nodes.Content[i])
	}
	return values
}

// nameNodes converts a list of milestones or minefields to a mapping from names.
func nameNodes(scenario *yaml.Node, graph string) {
	list := entry(scenario, graph)
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	var named []*yaml.Node
	for i, item := range list.Content {
		key := scalar(fmt.Sprintf("%s_%d", strings.TrimSuffix(graph, "s"), i+1))
		switch {
		case item.Kind == yaml.ScalarNode:
			key, item = item, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
			moveComments(key, key)
		case item.Kind == yaml.MappingNode && entry(item, "name") != nil && entry(item, "name").Kind == yaml.ScalarNode:
			key = removeName(item)
		case item.Kind == yaml.MappingNode:
			item.Style &^= yaml.FlowStyle
			moveComments(key, item)
		default:
			return
		}
		named = append(named, key, item)
	}
	list.Kind, list.Tag, list.Content = yaml.MappingNode, "", named
	if len(named) > 0 {
		list.Style &^= yaml.FlowStyle
	}
}

// removeToldMilestone removes the milestone told of the oracle's last text, which is the default.
// It marks a last text without a milestone.
func removeToldMilestone(scenario *yaml.Node) {
	turns := elements(entry(scenario, "oracle"))
	if len(turns) == 0 || entry(turns[len(turns)-1], "say") == nil {
		return
	}
	last := turns[len(turns)-1]
	name := entry(last, milestoneKey)
	switch {
	case name == nil && !hasTold(scenario, turns):
		last.Content = append(last.Content, scalar(milestoneKey), scalar(noMilestone))
	case name != nil && name.Value == toldMilestone:
		at := slices.Index(last.Content, name)
		if commented(name) || commented(last.Content[at-1]) {
			return
		}
		if last.Content = slices.Delete(last.Content, at-1, at+1); len(last.Content) == 2 {
			last.Style &^= yaml.FlowStyle
		}
	}
}

// hasTold reports whether a listed milestone, or a turn, has the name told.
func hasTold(scenario *yaml.Node, turns []*yaml.Node) bool {
	isTold := func(node *yaml.Node, key string) bool {
		name := entry(node, key)
		return name != nil && name.Value == toldMilestone
	}
	for _, node := range elements(entry(scenario, "milestones")) {
		if isTold(node, "name") {
			return true
		}
	}
	for _, turn := range turns {
		carriers := append(elements(entry(turn, callsKey)), turn)
		if slices.ContainsFunc(carriers, func(node *yaml.Node) bool { return isTold(node, milestoneKey) }) {
			return true
		}
	}
	return false
}

// unwrapSingleTexts replaces lists of one text by the text in knowledge, unknown and script.
func unwrapSingleTexts(user *yaml.Node) {
	for i := 0; i+1 < len(user.Content); i += 2 {
		key, list := user.Content[i].Value, user.Content[i+1]
		if !slices.Contains([]string{"knowledge", "unknown", "script"}, key) || len(elements(list)) != 1 || commented(list) {
			continue
		}
		item := list.Content[0]
		if say := entry(item, "say"); key == "script" && say != nil && len(item.Content) == 2 {
			item = say
		} else if key == "script" {
			continue
		}
		if item.Kind == yaml.ScalarNode && item.ShortTag() == "!!str" {
			user.Content[i+1] = item
		}
	}
}
