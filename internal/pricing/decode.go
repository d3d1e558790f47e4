package pricing

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

const (
	missing   = "" // what is given of a field that is not there
	shape     = "source, date and models, as in docs/limits.md"
	providers = "providers, each with its models, e.g. openai: {gpt-4o: {input: 2.5, output: 10}}"
	models    = "models, each with its price, e.g. gpt-4o: {input: 2.5, output: 10}"
	price     = "input and output in dollars per million tokens, e.g. {input: 2.5, output: 10}"
	amount    = "dollars per million tokens"
)

// decode reads a table from a YAML text.
func decode(name string, raw []byte) (*Table, error) {
	file := document(name)
	parsed, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return nil, file.syntaxError(err)
	}
	var root ast.Node
	if len(parsed.Docs) > 0 {
		root = parsed.Docs[0].Body
	}
	if len(parsed.Docs) > 1 {
		return nil, file.fail(parsed.Docs[1].Body, "", "a second document", "one")
	}
	top, err := file.fields(root, "", shape, "source", "date", "models")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"source", "date"} { // for readers of the file: where the prices are from, and when they applied
		if node := top[name].node; node == nil || kind(node) == missing {
			return nil, file.fail(node, name, missing, "a text, because prices change")
		} else if given := kind(node); given == "a list" || given == "a mapping" {
			return nil, file.fail(node, name, given, "a text")
		}
	}
	table := &Table{models: make(map[string]map[string]Price)}
	byProvider, err := file.fields(top["models"].node, "models", providers)
	if err != nil {
		return nil, err
	}
	for _, provider := range slices.Sorted(maps.Keys(byProvider)) {
		at, of := "models."+provider, byProvider[provider]
		byModel, err := file.fields(of.node, at, models)
		if err != nil {
			return nil, err
		}
		table.models[provider] = make(map[string]Price, len(byModel))
		for _, model := range slices.Sorted(maps.Keys(byModel)) {
			if table.models[provider][model], err = file.price(byModel[model], at+"."+model); err != nil {
				return nil, err
			}
		}
	}
	return table, nil
}

// document is the name of a file, for messages.
type document string

func (d document) price(of field, at string) (Price, error) {
	amounts, err := d.fields(of.node, at, price, "input", "cached", "output")
	if err != nil {
		return Price{}, err
	}
	read := func(name string) (*float64, error) {
		node := amounts[name].node
		if node == nil {
			return nil, nil
		}
		given := kind(node)
		if given == "a text" {
			given = node.GetToken().Value
		}
		value, err := strconv.ParseFloat(given, 64)
		if err != nil || !(value >= 0 && value <= maxPrice) {
			return nil, d.fail(node, at+"."+name, given, fmt.Sprintf("%s from 0 to %v", amount, float64(maxPrice)))
		}
		return &value, nil
	}
	input, err := read("input")
	if err != nil {
		return Price{}, err
	}
	output, err := read("output")
	if err != nil {
		return Price{}, err
	}
	cached, err := read("cached")
	if err != nil {
		return Price{}, err
	}
	switch {
	case input == nil:
		return Price{}, d.fail(of.key, at+".input", missing, amount+", 0 if they cost nothing")
	case output == nil:
		return Price{}, d.fail(of.key, at+".output", missing, amount+", 0 if they cost nothing")
	}
	return Price{Input: *input, Cached: cached, Output: *output}, nil
}

// field is an entry of a mapping.
type field struct{ key, node ast.Node }

// fields returns the entries of a mapping by key. Any key is allowed without known ones.
func (d document) fields(node ast.Node, at, want string, known ...string) (map[string]field, error) {
	if node == nil || kind(node) != "a mapping" {
		return nil, d.fail(node, at, kind(node), want)
	}
	var entries []*ast.MappingValueNode
	switch mapping := node.(type) {
	case *ast.MappingNode:
		entries = mapping.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{mapping}
	}
	all := make(map[string]field, len(entries))
	for _, entry := range entries {
		key := entry.Key.GetToken().Value
		switch _, twice := all[key]; {
		case twice:
			return nil, d.fail(entry.Key, at, fmt.Sprintf("%q twice", key), "one entry")
		case len(known) > 0 && !slices.Contains(known, key):
			return nil, d.fail(entry.Key, at, fmt.Sprintf("%q", key), want)
		}
		all[key] = field{entry.Key, entry.Value}
	}
	return all, nil
}

// kind names the kind of a node for messages; it is missing for an empty one.
func kind(node ast.Node) string {
	switch node.(type) {
	case nil, *ast.NullNode:
		return missing
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	default:
		return "a text"
	}
}

// fail returns the error about a node, nil for the file.
func (d document) fail(node ast.Node, at, given, want string) error {
	line := 1
	if node != nil && node.GetToken() != nil && node.GetToken().Position != nil {
		line = node.GetToken().Position.Line
	}
	if at != "" {
		at += ": "
	}
	if given += " given"; given == missing+" given" {
		given = "missing"
	}
	return fmt.Errorf("%s:%d: %s%s, expected %s", string(d), line, at, given, want)
}

func (d document) syntaxError(err error) error {
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("%s: not readable as YAML", string(d))
	}
	line := 1
	if syntax.Token != nil && syntax.Token.Position != nil {
		line = syntax.Token.Position.Line
	}
	return fmt.Errorf("%s:%d: not readable as YAML: %s", string(d), line, syntax.Message)
}
