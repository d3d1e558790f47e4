package form

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// lineWidth is the maximum number of columns of a line that Format joins.
const lineWidth = 140

// multilineFields lists fields that Format never joins into one line: texts and steps.
var multilineFields = []string{
	"scenario", "user", "text|[text]", "text|[turn]", "[turn]", "[oracleTurn]", "[demonstration]", "[message]",
	"{milestone|nothing}", "{minefield}", "[anyRecording]", "[declaredTable]",
}

// joiner puts rows, calls and constraints on one line if they fit.
type joiner struct{ forms map[string]Form }

// mapping joins the values of a mapping. indent is the column before its keys.
func (j joiner) mapping(node *yaml.Node, f Form, indent int) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, holds := node.Content[i].Value, f.field(node.Content[i].Value).Type
		if f.acceptsTool(node, i) && holds == "" {
			holds = "object"
		}
		j.value(node.Content[i+1], holds, indent+utf8.RuneCountInString(key)+len(": "), indent+2)
	}
}

// value joins a field's value, otherwise its parts. start is the column before it on the line of
// its key. indent is the column before its lines if it has several.
func (j joiner) value(node *yaml.Node, holds string, start, indent int) {
	if holds == "" || node.Style&yaml.FlowStyle != 0 || !slices.Contains(multilineFields, holds) && join(node, start) {
		return
	}
	if inner, ok := mappingValue(holds); ok {
		for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
			j.value(node.Content[i+1], inner, indent+utf8.RuneCountInString(node.Content[i].Value)+len(": "), indent+2)
		}
		return
	}
	single, items := alternatives(holds)
	switch node.Kind { // other nodes have no parts
	case yaml.MappingNode:
		j.mapping(node, matchForm(node, j.forms, single...), indent)
	case yaml.SequenceNode:
		for _, item := range node.Content {
			f := matchForm(item, j.forms, items...)
			// An item with one field is not shorter in braces.
			if len(f.fields) > 0 && (len(item.Content) == 2 || !join(item, indent+2)) {
				j.mapping(item, f, indent+2)
			}
		}
	}
}

// join puts a list or mapping on one line after start columns, and reports whether it fits.
// Comments and multi-line texts do not change.
func join(node *yaml.Node, start int) bool {
	if node.Kind != yaml.MappingNode && node.Kind != yaml.SequenceNode || len(node.Content) == 0 || len(comments([]*yaml.Node{node})) > 0 {
		return false
	}
	joined, ok := flowCopy(node)
	if !ok {
		return false
	}
	text, err := encodeNodes([]*yaml.Node{joined})
	if err != nil || start+utf8.RuneCount(text)-len("\n") > lineWidth {
		return false
	}
	joined, _ = flowCopy(node)
	*node = *joined
	return true
}

// flowCopy returns a copy of a node in flow style. ok is false if a part needs several lines.
func flowCopy(node *yaml.Node) (*yaml.Node, bool) {
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
		var possible bool
		copied.Content[i], possible = flowCopy(child)
		ok = ok && possible
	}
	return &copied, ok
}
