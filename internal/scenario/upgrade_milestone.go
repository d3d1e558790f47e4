package scenario

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// moveMilestonesToTurns moves milestones that follow from turns of the oracle to these turns. A
// milestone with a comment stays.
func moveMilestonesToTurns(scenario *yaml.Node) {
	oracle, list := entry(scenario, "oracle"), entry(scenario, "milestones")
	if oracle == nil || list == nil || oracle.Kind != yaml.SequenceNode || list.Kind != yaml.SequenceNode {
		return
	}
	carriers := carriersOf(oracle)
	// turns holds the index of the carrier of each milestone, otherwise -1.
	turns := make([]int, len(list.Content))
	for i, item := range list.Content {
		turns[i] = carrier(carriers, item)
		if turns[i] < 0 || item.Kind != yaml.MappingNode {
			continue
		}
		turn, name := carriers[turns[i]], *entry(item, "name")
		if call := entry(item, "call"); call != nil && entry(call, tolerancesKey) != nil {
			turn.Content = append(turn.Content, scalar(tolerancesKey), entry(call, tolerancesKey))
		}
		turn.Content = append(turn.Content, scalar(milestoneKey), &name)
		if len(item.Content) == 4 {
			list.Content[i] = entry(item, "name")
			continue
		}
		turns[i] = -1 // it stays for its order
		for at := 0; at < len(item.Content); at += 2 {
			if !slices.Contains(formerOrderFields, item.Content[at].Value) {
				item.Content = slices.Delete(item.Content, at, at+2)
				break
			}
		}
	}
	// Trailing milestones in the order of the turns need no entry.
	end := len(turns)
	for end > 0 && turns[end-1] >= 0 && !commented(list.Content[end-1]) && (end == len(turns) || turns[end-1] < turns[end]) {
		end--
	}
	at := slices.Index(scenario.Content, list) - 1
	if end > 0 || commented(scenario.Content[at]) {
		list.Content = list.Content[:max(end, 1)]
		return
	}
	scenario.Content = slices.Delete(scenario.Content, at, at+2)
}

// formerOrderFields are the fields of a listed milestone that do not define its constraints.
var formerOrderFields = append([]string{"name"}, orderFields...)

// carriersOf returns the nodes that can carry milestones, in order: turns, and the calls of turns
// with several.
func carriersOf(oracle *yaml.Node) []*yaml.Node {
	var carriers []*yaml.Node
	for _, turn := range oracle.Content {
		if calls := elements(entry(turn, callsKey)); len(calls) > 1 {
			carriers = append(carriers, calls...)
		} else {
			carriers = append(carriers, turn)
		}
	}
	return carriers
}

// carrier returns the index of the turn or call that carries a milestone or can carry it, otherwise
// -1.
func carrier(turns []*yaml.Node, item *yaml.Node) int {
	if item.Kind == yaml.ScalarNode {
		return slices.IndexFunc(turns, func(turn *yaml.Node) bool {
			name := entry(turn, "milestone")
			return name != nil && name.Value == item.Value
		})
	}
	wants := 0
	for i := 0; i+1 < len(item.Content); i += 2 {
		if !slices.Contains(formerOrderFields, item.Content[i].Value) {
			wants++
		}
	}
	if wants != 1 || entry(item, "name") == nil || commented(item) {
		return -1
	}
	last := len(turns) - 1 // the last of equal calls, which succeeded
	for last >= 0 && !matchesTurn(turns[last], item) {
		last--
	}
	return last
}

// matchesTurn reports whether a milestone expects the text or call of a turn or call without a
// milestone.
func matchesTurn(turn, milestone *yaml.Node) bool {
	if entry(turn, milestoneKey) != nil || entry(turn, tolerancesKey) != nil {
		return false
	}
	if says := entry(milestone, "says"); says != nil {
		return sameNode(entry(turn, "say"), says)
	}
	call := entry(milestone, "call")
	if calls := elements(entry(turn, callsKey)); len(calls) == 1 {
		turn = calls[0]
	}
	return call != nil && entry(turn, toolKey) != nil && sameNode(entry(turn, toolKey), entry(call, toolKey)) &&
		sameArguments(entry(turn, argumentsKey), entry(call, argumentsKey))
}

// sameArguments reports whether two calls have the same arguments. Missing ones equal an empty
// mapping.
func sameArguments(a, b *yaml.Node) bool {
	none := func(node *yaml.Node) bool {
		return node == nil || node.Kind == yaml.MappingNode && len(node.Content) == 0
	}
	return none(a) && none(b) || sameNode(a, b)
}

// entry returns the value of a key, nil if it is missing.
func entry(node *yaml.Node, key string) *yaml.Node {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// sameNode reports whether two nodes are equal, in any style.
func sameNode(a, b *yaml.Node) bool {
	return a != nil && b != nil && a.Kind == b.Kind && a.Value == b.Value && a.ShortTag() == b.ShortTag() && slices.EqualFunc(a.Content, b.Content, sameNode)
}

// commented reports whether a node contains comments.
func commented(node *yaml.Node) bool { return len(comments([]*yaml.Node{node})) > 0 }
