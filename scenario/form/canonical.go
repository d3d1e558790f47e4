package form

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// ErrFormat means that a file cannot be formatted without loss.
var ErrFormat = errors.New("cannot be formatted")

// Format returns the canonical form of a file of a pack: fields in the usual order, an indentation
// of two columns, rows, calls and constraints on one line if they fit, and one newline at the end.
// It keeps comments, flow style, quotes and the order of rows, columns and arguments. It removes
// empty lines. Format is idempotent. The error is of type document.Errors for an unreadable file,
// and ErrFormat if comments or content would be lost.
func Format(name string, data []byte) ([]byte, error) {
	r := &document.Reader{File: name}
	before := r.Documents(data)
	if len(r.Errors) > 0 {
		return nil, r.Errors
	}
	nodes, err := parseNodes(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrFormat, err)
	}
	all, kinds := forms(world.Builtin()), []string{"pack", "world"}
	if path.Base(filepath.ToSlash(name)) == SchemaFile {
		kinds = []string{"schema"}
	}
	for _, node := range nodes {
		if root := node.Content[0]; root.Kind == yaml.MappingNode {
			f := matchForm(root, all, kinds...)
			if len(f.fields) == 0 && kinds[0] != "schema" {
				f = scenariosForm(root)
			}
			sortFields(root, f, all)
			joiner{all}.mapping(root, f, 0)
		}
	}
	out, err := encodeNodes(nodes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrFormat, err)
	}
	after := (&document.Reader{File: name}).Documents(out)
	written, err := parseNodes(out)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %w", name, ErrFormat, err)
	case !slices.EqualFunc(before, after, sameValue):
		return nil, fmt.Errorf("%s: %w: its content would change", name, ErrFormat)
	case !slices.Equal(comments(nodes), comments(written)):
		return nil, fmt.Errorf("%s: %w: a comment would be lost; put it on a line of its own above a field", name, ErrFormat)
	}
	return out, nil
}

// parseNodes returns the non-empty documents of a file.
func parseNodes(data []byte) ([]*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var nodes []*yaml.Node
	for {
		node := &yaml.Node{}
		err := decoder.Decode(node)
		if errors.Is(err, io.EOF) {
			return nodes, nil
		}
		if err != nil {
			return nil, err
		}
		if len(node.Content) == 1 {
			nodes = append(nodes, node)
		}
	}
}

func encodeNodes(nodes []*yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	for _, node := range nodes {
		hideColons(node)
		if err := encoder.Encode(node); err != nil {
			return nil, err
		}
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(out.Bytes(), []byte(hiddenColon), []byte(":")), nil
}

// hiddenColon replaces a colon in a plain text, e.g. a local time. The encoder would quote the
// colon in flow style.
const hiddenColon = "\ue000"

func hideColons(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Style == 0 {
		node.Value = strings.ReplaceAll(node.Value, ":", hiddenColon)
	}
	for _, child := range node.Content {
		hideColons(child)
	}
}

// matchForm returns the first of the named forms that has all fields of a mapping, the zero form
// otherwise.
func matchForm(node *yaml.Node, all map[string]Form, names ...string) Form {
	for _, name := range names {
		f := all[name]
		matches := len(f.fields) > 0
		for i := 0; i+1 < len(node.Content); i += 2 {
			matches = matches && (f.Has(node.Content[i].Value) || f.acceptsTool(node, i))
		}
		if matches {
			return all[name]
		}
	}
	return Form{}
}

// scenariosForm is the form of a scenario file, whose fields are scenarios.
func scenariosForm(root *yaml.Node) Form {
	var f Form
	for i := 0; i+1 < len(root.Content); i += 2 {
		f.fields = append(f.fields, Field{name: root.Content[i].Value, Type: "scenario"})
	}
	return f
}

// acceptsTool reports whether an entry of a mapping can be a tool with its arguments.
func (f Form) acceptsTool(node *yaml.Node, i int) bool {
	return len(f.replaceable) > 0 && node.Content[i+1].Kind == yaml.MappingNode && !slices.ContainsFunc(f.replaceable, func(name string) bool { return entry(node, name) != nil })
}

// sortFields sorts the fields of a mapping and of nested mappings by their forms.
func sortFields(node *yaml.Node, f Form, all map[string]Form) {
	if len(f.fields) == 0 {
		return
	}
	type placed struct {
		at         int
		key, value *yaml.Node
	}
	names := f.Names()
	var entries []placed
	for i := 0; i+1 < len(node.Content); i += 2 {
		at := slices.Index(names, node.Content[i].Value)
		entries = append(entries, placed{at, node.Content[i], node.Content[i+1]})
		if at >= 0 {
			sortField(node.Content[i+1], f.fields[at].Type, all)
		}
	}
	slices.SortStableFunc(entries, func(a, b placed) int { return a.at - b.at })
	node.Content = node.Content[:0]
	for _, e := range entries {
		node.Content = append(node.Content, e.key, e.value)
	}
}

// sortField sorts the fields in a field's value. Rows keep the order of their columns, because all
// rows of a target have the same order.
func sortField(node *yaml.Node, holds string, all map[string]Form) {
	if inner, ok := mappingValue(holds); ok {
		for i := 1; node.Kind == yaml.MappingNode && i < len(node.Content); i += 2 {
			sortField(node.Content[i], inner, all)
		}
		return
	}
	single, items := alternatives(holds)
	isRow := func(name string) bool { return strings.HasPrefix(name, rowPrefix) }
	switch node.Kind { // other nodes have no fields
	case yaml.MappingNode:
		sortFields(node, matchForm(node, all, slices.DeleteFunc(single, isRow)...), all)
	case yaml.SequenceNode:
		for _, item := range node.Content {
			if item.Kind == yaml.MappingNode {
				sortFields(item, matchForm(item, all, slices.DeleteFunc(slices.Clone(items), isRow)...), all)
			}
		}
	}
}

// mappingValue returns the type of the values of a field that maps names to values.
func mappingValue(holds string) (inner string, ok bool) {
	inner, ok = strings.CutPrefix(holds, "{")
	return strings.TrimSuffix(inner, "}"), ok
}

// alternatives returns the forms and primitives of a field, and those of the items of a list in it.
func alternatives(holds string) (single, items []string) {
	for name := range strings.SplitSeq(holds, "|") {
		if item, isList := strings.CutPrefix(name, "["); isList {
			item = strings.TrimSuffix(item, "]")
			items = append(items, members(item)...)
		} else {
			single = append(single, name)
		}
	}
	return single, items
}

// members returns the forms of a list item.
func members(item string) []string {
	if several, ok := unions()[item]; ok {
		return several
	}
	return []string{item}
}

// sameValue reports whether two values are equal. The order of fields does not matter.
func sameValue(a, b *document.Value) bool {
	if a.Shape != b.Shape || a.Text != b.Text || a.Boolean != b.Boolean || len(a.Fields) != len(b.Fields) {
		return false
	}
	for i := range a.Fields {
		other := b.Get(a.Fields[i].Key)
		if other == nil || !sameValue(a.Fields[i].Value, other) {
			return false
		}
	}
	return slices.EqualFunc(a.List, b.List, sameValue)
}

// comments returns the lines of all comments, sorted.
func comments(nodes []*yaml.Node) []string {
	var out []string
	for _, node := range nodes {
		for _, text := range []string{node.HeadComment, node.LineComment, node.FootComment} {
			for line := range strings.SplitSeq(text, "\n") {
				if line = strings.TrimSpace(line); line != "" {
					out = append(out, line)
				}
			}
		}
		out = append(out, comments(node.Content)...)
	}
	slices.Sort(out)
	return out
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
