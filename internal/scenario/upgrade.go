package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/toolsandbox/toolsandbox/internal/world"
)

// Upgrade converts a file of a pack from earlier versions of the format to the canonical form of
// the current one. Errors are those of Format.
func Upgrade(name string, data []byte) ([]byte, error) {
	if _, err := Format(name, data); err != nil {
		return nil, err
	}
	nodes, err := parseNodes(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrFormat, err)
	}
	before := comments(nodes)
	u := upgrade{forms: forms(world.Builtin())}
	var named *yaml.Node
	kept := nodes[:0]
	for _, node := range nodes {
		root := node.Content[0]
		key, scenario := formerFields(root)
		switch {
		case key != nil && named != nil:
			named.Content = append(named.Content, key, scenario)
			head := &yaml.Node{HeadComment: key.HeadComment}
			moveComments(key, node, head)
		case key != nil:
			named = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, scenario}}
			node.Content[0] = named
			kept = append(kept, node)
		default:
			u.document(root)
			kept = append(kept, node)
		}
		if key != nil {
			u.former(scenario)
		}
	}
	if !slices.Equal(before, comments(kept)) {
		return nil, fmt.Errorf("%s: %w: a comment would be lost; put it on a line of its own above a field", name, ErrFormat)
	}
	if data, err = encodeNodes(kept); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrFormat, err)
	}
	return Format(name, data)
}

// upgrade converts nodes to the current format.
type upgrade struct{ forms map[string]form }

// document upgrades a document of the current format: a pack, a world or scenarios by name.
func (u upgrade) document(root *yaml.Node) {
	if root.Kind != yaml.MappingNode || len(matchForm(root, u.forms, "pack", "world").fields) > 0 {
		u.value(root, "pack|world")
		writePlainTimes(root)
		return
	}
	for i := 1; i < len(root.Content); i += 2 {
		if scenario := root.Content[i]; len(matchForm(scenario, u.forms, "scenario").fields) > 0 {
			u.scenario(scenario)
		}
	}
}

// former upgrades a scenario of an earlier version of the format, with milestones in a list and
// other defaults.
func (u upgrade) former(scenario *yaml.Node) {
	u.value(scenario, "scenario")
	expandCalls(scenario)
	writePlainTimes(scenario)
	moveMilestonesToTurns(scenario)
	removeToldMilestone(scenario)
	if entry(scenario, "extra_tools") == nil {
		scenario.Content = append(scenario.Content, scalar("extra_tools"), scalar(allTools))
	}
	u.scenario(scenario)
}

// scenario upgrades the fields of a scenario.
func (u upgrade) scenario(scenario *yaml.Node) {
	u.value(scenario, "scenario")
	expandCalls(scenario)
	writePlainTimes(scenario)
	removeDerivedCategories(scenario)
	if user := entry(scenario, "user"); user != nil {
		moveUnknownItems(user)
		removeLastEnd(user)
		unwrapSingleTexts(user)
	}
	removeOracleTools(scenario)
	shortenCalls(scenario)
	shortenConstraints(scenario)
	nameNodes(scenario, "milestones")
	nameNodes(scenario, "minefields")
}

// value upgrades a field's value.
func (u upgrade) value(node *yaml.Node, holds string) {
	if inner, ok := mappingValue(holds); ok {
		u.named(node, inner)
		return
	}
	single, items := alternatives(holds)
	switch node.Kind { //nolint:exhaustive // aliases are not read
	case yaml.MappingNode:
		u.mapping(node, matchForm(node, u.forms, single...))
	case yaml.SequenceNode:
		for _, item := range node.Content {
			if item.Kind == yaml.MappingNode {
				u.mapping(item, matchForm(item, u.forms, items...))
			} else {
				u.scalar(item, items)
			}
		}
	case yaml.ScalarNode:
		u.scalar(node, single)
	}
}

// named upgrades a mapping from names, or its former list.
func (u upgrade) named(node *yaml.Node, holds string) {
	form, _, _ := strings.Cut(holds, "|")
	for _, item := range node.Content {
		if item.Kind == yaml.MappingNode { // keys are scalars
			u.mapping(item, u.forms[form])
		}
	}
}

func (u upgrade) mapping(node *yaml.Node, f form) {
	for i := 0; i+1 < len(node.Content) && len(f.fields) > 0; i += 2 {
		key := node.Content[i]
		key.Value = f.currentName(key.Value)
		u.value(node.Content[i+1], f.field(key.Value).holds)
	}
}

// scalar upgrades a text of one of several primitives.
func (u upgrade) scalar(node *yaml.Node, primitives []string) {
	for _, name := range primitives {
		if now, renamed := formerValues(name)[node.Value]; renamed && node.Kind == yaml.ScalarNode {
			node.Value = now
			return
		}
	}
}

// localExpression matches an expression that is only a local time.
var localExpression = regexp.MustCompile(`^local\("([^"]+)"\)$`)

// writePlainTimes replaces expressions of timestamps by plain times. It does not change recordings,
// because their texts are literal.
func writePlainTimes(node *yaml.Node) {
	for i, child := range node.Content {
		isValue := node.Kind == yaml.MappingNode && i%2 == 1
		if !isValue {
			writePlainTimes(child)
			continue
		}
		switch key := node.Content[i-1].Value; {
		case key == "recordings" || key == "extractor":
		case isTimestamp(key) && child.Kind == yaml.MappingNode:
			writePlainTime(child)
		default:
			writePlainTimes(child)
		}
	}
}

// writePlainTime replaces the mapping of an expression by its time, if that can be plain.
func writePlainTime(node *yaml.Node) {
	if len(node.Content) != 2 || node.Content[0].Value != expressionKey {
		return
	}
	source := strings.TrimSpace(node.Content[1].Value)
	if found := localExpression.FindStringSubmatch(source); found != nil {
		source = found[1]
	} else if source != nowText {
		return
	}
	node.Kind, node.Style, node.Tag, node.Value, node.Content = yaml.ScalarNode, 0, "", source, nil
}

// unknownItem matches one sentence about what the user does not know.
var unknownItem = regexp.MustCompile(`^` + unknownMark + `([^\s.][^.\n]*[^\s.])\.$`)

// moveUnknownItems moves trailing sentences about what the user does not know from knowledge to
// unknown.
func moveUnknownItems(user *yaml.Node) {
	known := entry(user, "knowledge")
	if known == nil || known.Kind != yaml.SequenceNode || entry(user, "unknown") != nil {
		return
	}
	end := len(known.Content)
	for end > 0 {
		item := known.Content[end-1]
		found := unknownItem.FindStringSubmatch(item.Value)
		if item.Kind != yaml.ScalarNode || found == nil {
			break
		}
		item.Value = found[1]
		end--
	}
	if end == len(known.Content) {
		return
	}
	moved := &yaml.Node{Kind: yaml.SequenceNode, Style: known.Style, Content: known.Content[end:]}
	user.Content = append(user.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "unknown"}, moved)
	at := slices.Index(user.Content, known)
	if known.Content = known.Content[:end:end]; end == 0 && !commented(user.Content[at-1]) && !commented(known) {
		user.Content = slices.Delete(user.Content, at-1, at+1)
	}
}

// removeLastEnd removes the end of a demonstration, which is the default.
func removeLastEnd(user *yaml.Node) {
	turns := elements(entry(user, "demonstrations"))
	if last := len(turns) - 1; last > 0 && len(turns[last].Content) == 2 && entry(turns[last], "end") != nil && !commented(turns[last]) {
		entry(user, "demonstrations").Content = turns[:last]
	}
}
