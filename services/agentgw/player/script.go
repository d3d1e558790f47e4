package player

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// maxScript bounds the bytes of a script.
const maxScript = 8 << 20

// script is a file of turns that is being read.
type script struct{ path string }

// readTurns reads a list of turns: `say: text` or `calls: [{id, tool, arguments}]` each.
func readTurns(path string) ([]*worldv1.Turn, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	if info.Size() > maxScript {
		return nil, fmt.Errorf("%s: %d bytes, expected at most %d", path, info.Size(), maxScript)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	return parseTurns(path, raw)
}

func parseTurns(path string, raw []byte) ([]*worldv1.Turn, error) {
	s := script{path: path}
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return nil, s.syntax(err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, fmt.Errorf("%s:1:1: document: expected one list of turns", path)
	}
	list, err := s.list(file.Docs[0].Body, "document")
	if err != nil {
		return nil, err
	}
	turns := make([]*worldv1.Turn, len(list))
	for i, node := range list {
		if turns[i], err = s.turn(node, fmt.Sprintf("[%d]", i)); err != nil {
			return nil, err
		}
	}
	return turns, nil
}

// syntax gives an error of the YAML parser its place.
func (s script) syntax(err error) error {
	var located yaml.Error
	if errors.As(err, &located) && located.GetToken() != nil {
		at := located.GetToken().Position
		return fmt.Errorf("%s:%d:%d: document: %s", s.path, at.Line, at.Column, located.GetMessage())
	}
	return fmt.Errorf("%s:1:1: document: %s", s.path, strings.Join(strings.Fields(err.Error()), " "))
}

func (s script) fail(node ast.Node, field, format string, args ...any) error {
	at := &token.Position{Line: 1, Column: 1}
	if mapping, ok := node.(*ast.MappingNode); ok && !mapping.IsFlowStyle && len(mapping.Values) > 0 {
		node = mapping.Values[0].Key
	}
	if tk := node.GetToken(); tk != nil && tk.Position != nil {
		at = tk.Position
	}
	return fmt.Errorf("%s:%d:%d: %s: %s", s.path, at.Line, at.Column, field, fmt.Sprintf(format, args...))
}

func (s script) turn(node ast.Node, field string) (*worldv1.Turn, error) {
	values, err := s.object(node, field, "say", "calls")
	if err != nil {
		return nil, err
	}
	say, calls := values["say"], values["calls"]
	switch {
	case (say == nil) == (calls == nil):
		return nil, s.fail(node, field, "expected either say or calls")
	case say != nil:
		text, err := s.text(say, field+".say")
		return &worldv1.Turn{Say: text}, err
	}
	list, err := s.list(calls, field+".calls")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, s.fail(calls, field+".calls", "is empty, expected at least one call")
	}
	turn := &worldv1.Turn{Calls: make([]*worldv1.ToolCall, len(list))}
	for i, item := range list {
		if turn.Calls[i], err = s.call(item, fmt.Sprintf("%s.calls[%d]", field, i)); err != nil {
			return nil, err
		}
	}
	return turn, nil
}

func (s script) call(node ast.Node, field string) (*worldv1.ToolCall, error) {
	values, err := s.object(node, field, "id", "tool", "arguments")
	if err != nil {
		return nil, err
	}
	call := &worldv1.ToolCall{ArgumentsJson: "{}"}
	if id := values["id"]; id != nil {
		text, err := s.text(id, field+".id")
		if err != nil {
			return nil, err
		}
		call.Id = &text
	}
	if values["tool"] == nil {
		return nil, s.fail(node, field, "has no tool")
	}
	if call.Tool, err = s.text(values["tool"], field+".tool"); err != nil {
		return nil, err
	}
	if call.Tool == "" {
		return nil, s.fail(values["tool"], field+".tool", "is empty, expected a tool's name")
	}
	if arguments := values["arguments"]; arguments != nil {
		if _, ok := pairs(arguments); !ok {
			return nil, s.fail(arguments, field+".arguments", "is %s, expected a mapping", kind(arguments))
		}
		raw, err := s.json(nil, arguments, field+".arguments")
		if err != nil {
			return nil, err
		}
		call.ArgumentsJson = string(raw)
	}
	return call, nil
}

// object returns the values of a mapping that has no other fields than the known ones.
func (s script) object(node ast.Node, field string, known ...string) (map[string]ast.Node, error) {
	entries, ok := pairs(node)
	if !ok {
		return nil, s.fail(node, field, "is %s, expected a mapping with %s", kind(node), strings.Join(known, ", "))
	}
	values := make(map[string]ast.Node, len(known))
	for _, entry := range entries {
		key := entry.Key.GetToken().Value
		hint := ""
		for _, name := range known {
			if name == key {
				values[key] = entry.Value
			}
		}
		if values[key] != nil {
			continue
		}
		if near := nearest(key, known); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		return nil, s.fail(entry.Key, field+"."+key, "unknown field, expected one of %s%s", strings.Join(known, ", "), hint)
	}
	return values, nil
}

func (s script) list(node ast.Node, field string) ([]ast.Node, error) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		return nil, s.fail(node, field, "is %s, expected a list", kind(node))
	}
	return sequence.Values, nil
}

func (s script) text(node ast.Node, field string) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return "", s.fail(node, field, "is %s, expected text (quote it)", kind(node))
	default:
		return "", s.fail(node, field, "is %s, expected text", kind(node))
	}
}

// json appends a value as JSON. Keys keep their order and numbers their spelling where JSON has it.
func (s script) json(dst []byte, node ast.Node, field string) ([]byte, error) {
	switch n := node.(type) {
	case *ast.NullNode:
		return append(dst, "null"...), nil
	case *ast.BoolNode:
		return fmt.Append(dst, n.Value), nil
	case *ast.IntegerNode:
		return appendNumber(dst, n.Token.Value, n.Value), nil
	case *ast.FloatNode:
		return appendNumber(dst, n.Token.Value, n.Value), nil
	case *ast.StringNode:
		if n.Token.Type == token.StringType && isNumber(n.Value) {
			return append(dst, n.Value...), nil
		}
		return appendText(dst, n.Value), nil
	case *ast.LiteralNode:
		return appendText(dst, n.Value.Value), nil
	case *ast.SequenceNode:
		dst = append(dst, '[')
		for i, item := range n.Values {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			var err error
			if dst, err = s.json(dst, item, fmt.Sprintf("%s[%d]", field, i)); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	entries, ok := pairs(node)
	if !ok {
		return nil, s.fail(node, field, "is %s, which JSON does not have", kind(node))
	}
	dst = append(dst, '{')
	for i, entry := range entries {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		key := entry.Key.GetToken().Value
		dst = append(appendText(dst, key), ": "...)
		var err error
		if dst, err = s.json(dst, entry.Value, field+"."+key); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// pairs returns the entries of a mapping.
func pairs(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	default:
		return nil, false
	}
}

func appendNumber(dst []byte, text string, value any) []byte {
	if isNumber(text) {
		return append(dst, text...)
	}
	return fmt.Append(dst, value)
}

// isNumber says whether text is a JSON number. The YAML parser takes an unquoted one beyond 64 bits for text.
func isNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}

// appendText appends a JSON text. Strings from YAML are valid UTF-8, so that encoding cannot fail.
func appendText(dst []byte, text string) []byte {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return append(dst, `""`...)
	}
	return append(dst, strings.TrimSuffix(b.String(), "\n")...)
}

// kind returns what a node is, for people.
func kind(node ast.Node) string {
	switch node.(type) {
	case *ast.NullNode:
		return "empty"
	case *ast.BoolNode:
		return "a truth value"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	default:
		return "a " + strings.ToLower(node.Type().String())
	}
}
