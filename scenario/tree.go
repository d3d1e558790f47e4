package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// shape is the type of a node in a document.
type shape uint8

const (
	shapeNull shape = iota + 1
	shapeBool
	shapeNumber
	shapeText
	shapeList
	shapeMapping
	// shapeBroken is a node with a recorded mistake.
	shapeBroken
)

// String returns the name for messages.
func (s shape) String() string {
	switch s {
	case shapeNull:
		return "nothing"
	case shapeBool:
		return "a boolean"
	case shapeNumber:
		return "a number"
	case shapeText:
		return "a text"
	case shapeList:
		return "a list"
	case shapeMapping:
		return "a mapping"
	case shapeBroken:
		return "unreadable"
	default:
		return "shape(" + strconv.Itoa(int(s)) + ")"
	}
}

// value is a node of a document with its position.
type value struct {
	shape  shape
	path   string
	line   int
	column int

	boolean bool
	number  float64
	// text is the content of a text, or the JSON form of a number.
	text   string
	list   []*value
	fields []field

	// inside is the position of a text's first character.
	inside textPosition
	// noun is the name for messages instead of that of the shape, e.g. of a computed number.
	noun string
}

// field is an entry of a mapping. Fields are in file order.
type field struct {
	key      string
	position *value // position of the key; shapeNull
	value    *value
}

// get returns the value of a field, nil if it is missing.
func (v *value) get(key string) *value {
	for i := range v.fields {
		if v.fields[i].key == key {
			return v.fields[i].value
		}
	}
	return nil
}

const (
	// MaxFile is the maximum size of a pack's YAML file in bytes.
	MaxFile = 1 << 20
	// maxIndicators is the maximum number of characters that form lists and mappings in a YAML file.
	// The parser needs several hundred bytes for each.
	maxIndicators = 250_000
	// maxDepth is the maximum nesting of a document.
	maxDepth = 40
	// maxMistakes is the maximum number of mistakes of a file, and of a pack's report.
	maxMistakes = 1000
)

// top is the position of a file's start.
func top() *value { return &value{line: 1, column: 1} }

// docReader converts one file to values and collects its mistakes.
type docReader struct {
	file   string
	errors Errors
}

// full reports whether a file has more mistakes than are reported.
func (r *docReader) full() bool { return len(r.errors) > maxMistakes }

// fail records a mistake at a value unless the file has too many.
func (r *docReader) fail(at *value, format string, args ...any) {
	if r.full() {
		return
	}
	r.errors = append(r.errors, &Error{
		File: r.file, Line: at.line, Column: at.column, Field: at.path, Reason: oneLine(fmt.Sprintf(format, args...)),
	})
}

// documents returns the non-empty documents of a file.
func (r *docReader) documents(data []byte) []*value {
	var docs []*value
	for _, s := range r.sections(data) {
		docs = append(docs, r.parse(s)...)
	}
	return docs
}

// section is a part of a file that starts a document.
type section struct {
	file string
	// before is the number of lines before the section.
	before int
	text   string
}

// sections splits a file into parts that can be read one by one, because the parser needs a
// multiple of the text's size. A file with directives or document end marks is one part.
func (r *docReader) sections(data []byte) []section {
	switch {
	case len(data) > MaxFile:
		r.fail(top(), "the file has %d bytes; at most %d are read", len(data), MaxFile)
		return nil
	case !utf8.Valid(data):
		r.fail(top(), "the file is not UTF-8 text")
		return nil
	case countIndicators(data) > maxIndicators:
		r.fail(top(), "the file has more than %d brackets, braces, commas, colons and dashes; no more are read", maxIndicators)
		return nil
	}
	text := string(data)
	if strings.HasPrefix(text, "%") || strings.Contains(text, "\n%") || strings.Contains(text, "\n...") || strings.Contains(text, "\r") {
		return []section{{r.file, 0, text}}
	}
	var out []section
	line, begin := 0, 0
	for from := 0; ; {
		const mark = "\n---"
		at := strings.Index(text[from:], mark)
		if at < 0 {
			return append(out, section{r.file, line, text[begin:]})
		}
		from += at + len(mark)
		if from < len(text) && !strings.ContainsRune("\n \t", rune(text[from])) {
			continue
		}
		next := from - len(mark) + 1
		out = append(out, section{r.file, line, text[begin:next]})
		line += strings.Count(text[begin:next], "\n")
		begin = next
	}
}

// countIndicators counts the characters that form lists and mappings.
func countIndicators(data []byte) int {
	count := 0
	for _, mark := range []string{"[", "{", ",", ":", "- "} {
		count += bytes.Count(data, []byte(mark))
	}
	return count
}

// parse returns the non-empty documents of a section.
func (r *docReader) parse(s section) []*value {
	file, err := parse(s.text, s.before)
	if err != nil {
		r.syntaxError(s, err)
		return nil
	}
	var docs []*value
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			docs = append(docs, r.convert(doc.Body, "", 0))
		}
	}
	return docs
}

// parse runs the YAML parser on a text after some lines of its file. A panic of the parser becomes
// an error.
func parse(text string, before int) (file *ast.File, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			file, err = nil, fmt.Errorf("not readable as YAML: %v", cause)
		}
	}()
	tokens := lexer.Tokenize(text)
	for _, t := range tokens {
		t.Position.Line += before
	}
	if deep := tooDeep(tokens); deep != nil {
		return nil, &yaml.SyntaxError{Message: fmt.Sprintf("nested deeper than %d levels", maxDepth), Token: deep}
	}
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// tooDeep returns the token at which nesting exceeds maxDepth, to protect the recursive parser.
// Block collections nest by indentation or by consecutive indicators on a line.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, line, indicators := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, indicators = t.Position.Line, 0
		}
		switch t.Type { //nolint:exhaustive // other tokens do not nest
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			indicators++
		}
		if flow > maxDepth || indicators > maxDepth || flow == 0 && t.Position.IndentNum > 10*maxDepth {
			return t
		}
	}
	return nil
}

// emptyValue returns an empty value at a node's position.
func emptyValue(node ast.Node, path string) *value {
	v := &value{shape: shapeNull, path: path, line: 1, column: 1}
	if t := node.GetToken(); t != nil && t.Position != nil {
		v.line, v.column = t.Position.Line, t.Position.Column
	}
	return v
}

// markBroken records a mistake at a value. Readers of the value report nothing further.
func (r *docReader) markBroken(v *value, format string, args ...any) {
	v.shape = shapeBroken
	r.fail(v, format, args...)
}

// convert converts a parser's node to a value.
func (r *docReader) convert(node ast.Node, path string, depth int) *value {
	v := emptyValue(node, path)
	if depth > maxDepth {
		r.markBroken(v, "nested deeper than %d levels", maxDepth)
		return v
	}
	switch n := node.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		v.shape, v.boolean = shapeBool, n.Value
	case *ast.StringNode:
		v.shape, v.text, v.inside = shapeText, n.Value, insideScalar(n.GetToken())
		if n.Token.Type == token.StringType && isJSONNumber(n.Value) { // more than 64 bits
			v.shape = shapeNumber
			r.finite(v)
		}
	case *ast.LiteralNode:
		v.shape, v.text, v.inside = shapeText, n.Value.Value, insideBlock(n)
	case *ast.IntegerNode, *ast.FloatNode:
		r.convertNumber(v, node)
	case *ast.InfinityNode, *ast.NanNode:
		r.markBroken(v, "is not a finite number")
	case *ast.SequenceNode:
		v.shape = shapeList
		for i, item := range n.Values {
			v.list = append(v.list, r.convert(item, path+"["+strconv.Itoa(i)+"]", depth+1))
		}
	case *ast.MappingNode:
		r.convertMapping(v, n.Values, depth)
	case *ast.MappingValueNode:
		r.convertMapping(v, []*ast.MappingValueNode{n}, depth)
	case *ast.AnchorNode, *ast.AliasNode:
		r.markBroken(v, "anchors and aliases are not read; write the value out")
	case *ast.TagNode:
		r.markBroken(v, "tags are not read; quote a text, write anything else plainly")
	default:
		r.markBroken(v, "%s is not read here", strings.ToLower(node.Type().String()))
	}
	return v
}

// finite computes a number from its text.
func (r *docReader) finite(v *value) {
	var err error
	if v.number, err = strconv.ParseFloat(v.text, 64); err != nil {
		r.markBroken(v, "%s is not a number that can be kept", v.text)
	}
}

// convertNumber keeps the text if it is a JSON number.
func (r *docReader) convertNumber(v *value, node ast.Node) {
	spelling := node.GetToken().Value
	v.shape = shapeNumber
	switch n := node.(type) {
	case *ast.IntegerNode:
		switch whole := n.Value.(type) {
		case int64:
			v.number, v.text = float64(whole), strconv.FormatInt(whole, 10)
		case uint64:
			v.number, v.text = float64(whole), strconv.FormatUint(whole, 10)
		default:
			r.markBroken(v, "%s is not a number that can be kept", spelling)
		}
	case *ast.FloatNode:
		v.number = n.Value
		if math.IsInf(v.number, 0) || math.IsNaN(v.number) {
			r.markBroken(v, "%s is not a finite number", spelling)
			v.number = 0
		}
		v.text = strconv.FormatFloat(v.number, 'g', -1, 64)
		if isJSONNumber(spelling) {
			v.text = spelling
		} else if !strings.ContainsAny(v.text, ".e") {
			v.text += ".0"
		}
	}
}

// convertMapping converts the entries of a mapping to fields.
func (r *docReader) convertMapping(v *value, entries []*ast.MappingValueNode, depth int) {
	v.shape = shapeMapping
	if len(entries) > 0 && v.line == entries[0].GetToken().Position.Line {
		// The token of a block mapping is its first colon; its position is its first key.
		if key := emptyValue(entries[0].Key, ""); key.line == v.line && key.column < v.column {
			v.column = key.column
		}
	}
	seen := make(map[string]bool, len(entries))
	v.fields = make([]field, 0, len(entries))
	for _, entry := range entries {
		at := emptyValue(entry.Key, v.path)
		key, ok := entry.Key.(*ast.StringNode)
		if !ok {
			r.fail(at, "a key must be a text, not %s", strings.ToLower(entry.Key.Type().String()))
			continue
		}
		at.path = joinPath(v.path, key.Value)
		if seen[key.Value] {
			r.fail(at, "is written twice; keep one")
			continue
		}
		seen[key.Value] = true
		v.fields = append(v.fields, field{key: key.Value, position: at, value: r.convert(entry.Value, at.path, depth+1)})
	}
}

// joinPath appends a key to a field path.
func joinPath(path, key string) string {
	key = oneLine(key)
	if path == "" {
		return key
	}
	return path + "." + key
}

// isJSONNumber reports whether a text is a JSON number.
func isJSONNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}
