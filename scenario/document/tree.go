// Package document reads YAML and JSON files into values that know their positions, so that every
// mistake in a file can name its line and column. It knows nothing about the content of the files.
package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Shape is the type of a node in a document.
type Shape uint8

// The shapes.
const (
	ShapeNull Shape = iota + 1
	ShapeBool
	ShapeNumber
	ShapeText
	ShapeList
	ShapeMapping
	// ShapeBroken is a node with a recorded mistake.
	ShapeBroken
)

// String returns the name for messages.
func (s Shape) String() string {
	switch s {
	case ShapeNull:
		return "nothing"
	case ShapeBool:
		return "a boolean"
	case ShapeNumber:
		return "a number"
	case ShapeText:
		return "a text"
	case ShapeList:
		return "a list"
	case ShapeMapping:
		return "a mapping"
	case ShapeBroken:
		return "unreadable"
	default:
		return "shape(" + strconv.Itoa(int(s)) + ")"
	}
}

// Value is a node of a document with its position.
type Value struct {
	Shape  Shape
	Path   string
	Line   int
	Column int

	Boolean bool
	Number  float64
	// Text is the content of a text, or the JSON form of a number.
	Text   string
	List   []*Value
	Fields []Field
	// Unknown reports that a field of a mapping is recorded as unknown.
	Unknown bool

	// Inside is the position of a text's first character.
	Inside TextPosition
	// Noun is the name for messages instead of that of the shape, e.g. of a computed number.
	Noun string
}

// Field is an entry of a mapping. Fields are in file order.
type Field struct {
	Key      string
	Position *Value // position of the key; shapeNull
	Value    *Value
}

// Get returns the value of a field, nil if it is missing.
func (v *Value) Get(key string) *Value {
	for i := range v.Fields {
		if v.Fields[i].Key == key {
			return v.Fields[i].Value
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
	// maxKeys is the maximum number of keys of a mapping with a line for each. The parser's time
	// grows with the square of it.
	maxKeys = 20_000
	// MaxMistakes is the maximum number of mistakes of a file, and of a pack's report.
	MaxMistakes = 1000
)

// Top is the position of a file's start.
func Top() *Value { return &Value{Line: 1, Column: 1} }

// Reader converts one file to values and collects its mistakes. Readers of parts, like Text, record
// a mistake for a value of another shape and return the zero value for it and for a missing value.
type Reader struct {
	File   string
	Errors Errors
}

// Full reports whether a file has more mistakes than are reported.
func (r *Reader) Full() bool { return len(r.Errors) > MaxMistakes }

// Fail records a mistake at a value unless the file has too many.
func (r *Reader) Fail(at *Value, format string, args ...any) {
	if r.Full() {
		return
	}
	r.Errors = append(r.Errors, &Error{
		File: r.File, Line: at.Line, Column: at.Column, Field: at.Path, Reason: oneLine(fmt.Sprintf(format, args...)),
	})
}

// Documents returns the non-empty documents of a file.
func (r *Reader) Documents(data []byte) []*Value {
	var docs []*Value
	for _, s := range r.Sections(data) {
		docs = append(docs, r.Parse(s)...)
	}
	return docs
}

// isForbidden reports whether YAML does not allow a character: a control character other than tabs
// and line breaks.
func isForbidden(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f }

// Section is a part of a file that starts a document.
type Section struct {
	File string
	// Before is the number of lines before the section.
	Before int
	Text   string
}

// Sections splits a file into parts that can be read one by one, because the parser needs a
// multiple of the text's size. A file with directives or document end marks is one part.
func (r *Reader) Sections(data []byte) []Section {
	switch {
	case len(data) > MaxFile:
		r.Fail(Top(), "the file has %d bytes; at most %d are read", len(data), MaxFile)
		return nil
	case !utf8.Valid(data):
		r.Fail(Top(), "the file is not UTF-8 text")
		return nil
	case countIndicators(data) > maxIndicators:
		r.Fail(Top(), "the file has more than %d brackets, braces, commas, colons and dashes; no more are read", maxIndicators)
		return nil
	}
	text := string(data)
	if at := strings.IndexFunc(text, isForbidden); at >= 0 {
		before := text[:at]
		r.Fail(&Value{Line: 1 + strings.Count(before, "\n"), Column: 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])},
			`YAML does not allow the character %U; write it as \x%02x in double quotes`, text[at], text[at])
		return nil
	}
	if strings.HasPrefix(text, "%") || strings.Contains(text, "\n%") || strings.Contains(text, "\n...") || strings.Contains(text, "\r") {
		return []Section{{r.File, 0, text}}
	}
	var out []Section
	line, begin := 0, 0
	for from := 0; ; {
		const mark = "\n---"
		at := strings.Index(text[from:], mark)
		if at < 0 {
			return append(out, Section{r.File, line, text[begin:]})
		}
		from += at + len(mark)
		if from < len(text) && !strings.ContainsRune("\n \t", rune(text[from])) {
			continue
		}
		next := from - len(mark) + 1
		out = append(out, Section{r.File, line, text[begin:next]})
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

// Parse returns the non-empty documents of a section.
func (r *Reader) Parse(s Section) []*Value {
	file, err := parse(s.Text, s.Before)
	if err != nil {
		r.syntaxError(s, err)
		return nil
	}
	var docs []*Value
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
	if wide := tooWide(tokens); wide != nil {
		return nil, &yaml.SyntaxError{Message: fmt.Sprintf("a mapping with more than %d keys; divide it among files", maxKeys), Token: wide}
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
		switch t.Type { // other tokens do not nest
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

// tooWide returns the key with which a mapping exceeds maxKeys. The keys of a block mapping have
// one column.
func tooWide(tokens token.Tokens) *token.Token {
	type mapping struct{ column, keys int }
	var open []mapping
	flow := 0
	for i, t := range tokens {
		key := t
		switch t.Type { // others neither begin nor end a mapping
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.DocumentHeaderType, token.DocumentEndType:
			open = nil
		case token.MappingValueType:
			if i > 0 && tokens[i-1].Position.Line == t.Position.Line {
				key = tokens[i-1]
			}
		}
		if flow > 0 || t.Type != token.MappingValueType && t.Type != token.SequenceEntryType {
			continue
		}
		for len(open) > 0 && open[len(open)-1].column > key.Position.Column {
			open = open[:len(open)-1]
		}
		if t.Type == token.SequenceEntryType {
			continue
		}
		if len(open) == 0 || open[len(open)-1].column < key.Position.Column {
			open = append(open, mapping{column: key.Position.Column})
		}
		if open[len(open)-1].keys++; open[len(open)-1].keys > maxKeys {
			return key
		}
	}
	return nil
}

// emptyValue returns an empty value at a node's position.
func emptyValue(node ast.Node, path string) *Value {
	v := &Value{Shape: ShapeNull, Path: path, Line: 1, Column: 1}
	if t := node.GetToken(); t != nil && t.Position != nil {
		v.Line, v.Column = t.Position.Line, t.Position.Column
	}
	return v
}

// markBroken records a mistake at a value. Readers of the value report nothing further.
func (r *Reader) markBroken(v *Value, format string, args ...any) {
	v.Shape = ShapeBroken
	r.Fail(v, format, args...)
}

// convert converts a parser's node to a value.
func (r *Reader) convert(node ast.Node, path string, depth int) *Value {
	v := emptyValue(node, path)
	if depth > maxDepth {
		r.markBroken(v, "nested deeper than %d levels", maxDepth)
		return v
	}
	switch n := node.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		v.Shape, v.Boolean = ShapeBool, n.Value
	case *ast.StringNode:
		v.Shape, v.Text, v.Inside = ShapeText, n.Value, insideScalar(n.GetToken())
		if n.Token.Type == token.StringType && isJSONNumber(n.Value) { // more than 64 bits
			v.Shape = ShapeNumber
			r.finite(v)
		}
	case *ast.LiteralNode:
		v.Shape, v.Text, v.Inside = ShapeText, n.Value.Value, insideBlock(n)
	case *ast.IntegerNode, *ast.FloatNode:
		r.convertNumber(v, node)
	case *ast.InfinityNode, *ast.NanNode:
		r.markBroken(v, "is not a finite number")
	case *ast.SequenceNode:
		v.Shape = ShapeList
		for i, item := range n.Values {
			v.List = append(v.List, r.convert(item, path+"["+strconv.Itoa(i)+"]", depth+1))
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
func (r *Reader) finite(v *Value) {
	var err error
	if v.Number, err = strconv.ParseFloat(v.Text, 64); err != nil {
		r.markBroken(v, "%s is not a number that can be kept", v.Text)
	}
}

// convertNumber keeps the text if it is a JSON number.
func (r *Reader) convertNumber(v *Value, node ast.Node) {
	spelling := node.GetToken().Value
	v.Shape = ShapeNumber
	switch n := node.(type) {
	case *ast.IntegerNode:
		switch whole := n.Value.(type) {
		case int64:
			v.Number, v.Text = float64(whole), strconv.FormatInt(whole, 10)
		case uint64:
			v.Number, v.Text = float64(whole), strconv.FormatUint(whole, 10)
		default:
			r.markBroken(v, "%s is not a number that can be kept", spelling)
		}
		if leadingZero.MatchString(spelling) {
			r.markBroken(v, "%s begins with a zero, which YAML's versions read as different numbers: write %q if it is a text", spelling, spelling)
		}
	case *ast.FloatNode:
		v.Number = n.Value
		if math.IsInf(v.Number, 0) || math.IsNaN(v.Number) {
			r.markBroken(v, "%s is not a finite number", spelling)
			v.Number = 0
		}
		v.Text = strconv.FormatFloat(v.Number, 'g', -1, 64)
		if isJSONNumber(spelling) {
			v.Text = spelling
		} else if !strings.ContainsAny(v.Text, ".e") {
			v.Text += ".0"
		}
	}
}

// convertMapping converts the entries of a mapping to fields.
func (r *Reader) convertMapping(v *Value, entries []*ast.MappingValueNode, depth int) {
	v.Shape = ShapeMapping
	if len(entries) > 0 && v.Line == entries[0].GetToken().Position.Line {
		// The token of a block mapping is its first colon; its position is its first key.
		if key := emptyValue(entries[0].Key, ""); key.Line == v.Line && key.Column < v.Column {
			v.Column = key.Column
		}
	}
	seen := make(map[string]bool, len(entries))
	v.Fields = make([]Field, 0, len(entries))
	for _, entry := range entries {
		at := emptyValue(entry.Key, v.Path)
		key, ok := entry.Key.(*ast.StringNode)
		if !ok {
			r.Fail(at, "%s", unreadableKey(entry.Key))
			continue
		}
		at.Path = joinPath(v.Path, key.Value)
		if seen[key.Value] {
			r.Fail(at, "is written twice; keep one")
			continue
		}
		seen[key.Value] = true
		v.Fields = append(v.Fields, Field{Key: key.Value, Position: at, Value: r.convert(entry.Value, at.Path, depth+1)})
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

// leadingZero matches numbers that are octal in YAML 1.1 and decimal in YAML 1.2.
var leadingZero = regexp.MustCompile(`^[-+]?0[0-9_]+$`)

// isJSONNumber reports whether a text is a JSON number.
func isJSONNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}

// unreadableKey says why a key that is no text is not read.
func unreadableKey(key ast.MapKeyNode) string {
	if key.Type() == ast.MergeKeyType {
		return "merge keys (<<) are not read; write the fields out"
	}
	return fmt.Sprintf("a key must be a text, not %s; quote it", strings.ToLower(key.Type().String()))
}
