package scenario

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Upgrade returns the canonical form of a file of a pack that is written in an earlier version of the format, in today's. A file
// in today's format only gets its canonical form. Errors are those of Format.
func Upgrade(name string, data []byte) ([]byte, error) {
	data, err := Format(name, data)
	if err != nil {
		return nil, err
	}
	nodes, err := parseNodes(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrFormat, err)
	}
	u := upgrade{forms: forms()}
	for _, node := range nodes {
		u.value(node.Content[0], "pack|world|scenario")
	}
	if data, err = encodeNodes(nodes); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrFormat, err)
	}
	return Format(name, data)
}

// upgrade brings nodes into today's format.
type upgrade struct{ forms map[string]form }

// value upgrades what a field holds.
func (u upgrade) value(node *yaml.Node, holds string) {
	single, items := alternatives(holds)
	switch node.Kind { //nolint:exhaustive // aliases are not read
	case yaml.MappingNode:
		u.mapping(node, fitting(node, u.forms, single...))
	case yaml.SequenceNode:
		for _, item := range node.Content {
			if item.Kind == yaml.MappingNode {
				u.mapping(item, fitting(item, u.forms, items...))
			} else {
				u.scalar(item, items)
			}
		}
	case yaml.ScalarNode:
		u.scalar(node, single)
	}
}

func (u upgrade) mapping(node *yaml.Node, f form) {
	for i := 0; i+1 < len(node.Content) && len(f.fields) > 0; i += 2 {
		key := node.Content[i]
		key.Value = f.now(key.Value)
		u.value(node.Content[i+1], f.field(key.Value).holds)
	}
}

// scalar upgrades a text that may be one of several primitives.
func (u upgrade) scalar(node *yaml.Node, primitives []string) {
	for _, name := range primitives {
		if now, renamed := formerValues(name)[node.Value]; renamed && node.Kind == yaml.ScalarNode {
			node.Value = now
			return
		}
	}
}
