package scenario

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// lineWidth is how many columns a line has at most that Format joins.
const lineWidth = 140

// spread names what Format never joins into one line, however short it is: what authors read as
// prose or as steps.
var spread = []string{
	"scenario", "user", "text|[text]", "text|[turn]", "[turn]", "[oracleTurn]", "[demonstration]", "[message]",
	"{milestone|nothing}", "{minefield}", "[anyRecording]", "[declaredTable]",
}

// joiner writes rows, calls and constraints on one line where they fit.
type joiner struct{ forms map[string]form }

// mapping joins what the fields of a mapping hold; indent is the column before its keys.
func (j joiner) mapping(node *yaml.Node, f form, indent int) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, holds := node.Content[i].Value, f.field(f.now(node.Content[i].Value)).holds
		if f.takes(node, i) && holds == "" {
			holds = "object"
		}
		j.value(node.Content[i+1], holds, indent+utf8.RuneCountInString(key)+len(": "), indent+2)
	}
}

// value joins what a field holds, or else what is in it. start is the column before it on the line
// of its key, indent the one before its lines if it has several.
func (j joiner) value(node *yaml.Node, holds string, start, indent int) {
	if holds == "" || node.Style&yaml.FlowStyle != 0 || !slices.Contains(spread, holds) && join(node, start) {
		return
	}
	if inner, ok := byName(holds); ok {
		for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
			j.value(node.Content[i+1], inner, indent+utf8.RuneCountInString(node.Content[i].Value)+len(": "), indent+2)
		}
		return
	}
	single, items := alternatives(holds)
	switch node.Kind { //nolint:exhaustive // the others hold nothing
	case yaml.MappingNode:
		j.mapping(node, fitting(node, j.forms, single...), indent)
	case yaml.SequenceNode:
		for _, item := range node.Content {
			f := fitting(item, j.forms, items...)
			// An item with one field is no shorter in braces.
			if len(f.fields) > 0 && (len(item.Content) == 2 || !join(item, indent+2)) {
				j.mapping(item, f, indent+2)
			}
		}
	}
}

// join writes a list or mapping on the line on which it begins behind start columns, and says
// whether it fits. Comments and texts of several lines stay where they are.
func join(node *yaml.Node, start int) bool {
	if node.Kind != yaml.MappingNode && node.Kind != yaml.SequenceNode || len(node.Content) == 0 || commented(node) {
		return false
	}
	joined, ok := inFlow(node)
	if !ok {
		return false
	}
	text, err := encodeNodes([]*yaml.Node{joined})
	if err != nil || start+utf8.RuneCount(text)-len("\n") > lineWidth {
		return false
	}
	joined, _ = inFlow(node)
	*node = *joined
	return true
}

// inFlow returns a copy of a node in flow style; false if something in it needs lines of its own.
func inFlow(node *yaml.Node) (*yaml.Node, bool) {
	copied, ok := *node, true
	switch {
	case node.Kind != yaml.ScalarNode:
		copied.Style |= yaml.FlowStyle
	case node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return nil, false
	case node.Style == 0 && strings.ContainsAny(node.Value, ",[]{}?") && !strings.ContainsAny(node.Value, `"\`):
		copied.Style = yaml.DoubleQuotedStyle
	}
	copied.Content = make([]*yaml.Node, len(node.Content))
	for i, child := range node.Content {
		var fits bool
		copied.Content[i], fits = inFlow(child)
		ok = ok && fits
	}
	return &copied, ok
}
