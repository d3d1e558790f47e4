package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds how deeply values may be nested; the deepest that the original writes is below
// 20.
const maxDepth = 100

// shape is the kind of a JSON value.
type shape uint8

const (
	shapeNull shape = iota
	shapeBool
	shapeNumber
	shapeText
	shapeList
	shapeObject
)

// String returns the word used in messages to people.
func (s shape) String() string {
	return [...]string{"null", "a boolean", "a number", "a text", "a list", "an object"}[s]
}

// node is a JSON value with its position.
type node struct {
	shape  shape
	offset int
	// flag is the value of a boolean, text that of a text and the spelling of a number.
	flag bool
	text string
	// items are those of a list or an object; names are an object's fields.
	items []*node
	names []string
	// parent is nil at the top; name or position says which item of it this is.
	parent   *node
	name     string
	position int
}

// get returns the field of an object, or nil.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for i := range n.names {
		if n.names[i] == name {
			return n.items[i]
		}
	}
	return nil
}

// path returns the path of the value, e.g. scenarios[0].messages[2].sender.
func (n *node) path() string {
	switch {
	case n.parent == nil:
		return ""
	case n.parent.shape == shapeList:
		return n.parent.path() + "[" + strconv.Itoa(n.position) + "]"
	case n.parent.parent == nil:
		return n.name
	default:
		return n.parent.path() + "." + n.name
	}
}

// syntaxError is text that is no JSON.
type syntaxError struct {
	offset int
	reason string
}

func (e *syntaxError) Error() string { return e.reason }

// parse parses one JSON value without trailing data. The error is a *syntaxError.
func parse(data []byte) (*node, error) {
	var whole json.RawMessage
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(data, &whole); {
	case errors.As(err, &syntax):
		return nil, &syntaxError{max(0, int(syntax.Offset)-1), syntax.Error()}
	case err != nil:
		return nil, &syntaxError{0, err.Error()}
	}
	p := &parser{data: data, decoder: json.NewDecoder(bytes.NewReader(data))}
	p.decoder.UseNumber()
	return p.value(nil, 0)
}

// parser builds the tree from the decoder's tokens.
type parser struct {
	data    []byte
	decoder *json.Decoder
}

// next returns where the next token begins.
func (p *parser) next() int {
	offset := int(p.decoder.InputOffset())
	for offset < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[offset]) >= 0 {
		offset++
	}
	return offset
}

func (p *parser) value(parent *node, depth int) (*node, error) {
	n := &node{offset: p.next(), parent: parent}
	if depth > maxDepth {
		return nil, &syntaxError{n.offset, fmt.Sprintf("values are nested more than %d deep", maxDepth)}
	}
	token, err := p.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case nil:
	case bool:
		n.shape, n.flag = shapeBool, token
	case json.Number:
		n.shape, n.text = shapeNumber, token.String()
	case string:
		n.shape, n.text = shapeText, token
	case json.Delim:
		n.shape = shapeList
		if token == '{' {
			n.shape = shapeObject
		}
		return n, p.fill(n, depth)
	}
	return n, nil
}

// fill reads the items of a list or an object and its end.
func (p *parser) fill(n *node, depth int) error {
	for p.decoder.More() {
		name := ""
		at := p.next()
		if n.shape == shapeObject {
			token, err := p.decoder.Token()
			if err != nil {
				return err
			}
			name, _ = token.(string) // the decoder accepts nothing else here
			if n.get(name) != nil {
				return &syntaxError{at, fmt.Sprintf("the field %q occurs twice", name)}
			}
		}
		item, err := p.value(n, depth+1)
		if err != nil {
			return err
		}
		item.name, item.position = name, len(n.items)
		n.items = append(n.items, item)
		if n.shape == shapeObject {
			n.names = append(n.names, name)
		}
	}
	_, err := p.decoder.Token()
	return err
}

// lineColumn returns the line and the column, in characters, of an offset; both count from 1.
func lineColumn(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}
