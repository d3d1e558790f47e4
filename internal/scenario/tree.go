package scenario

import (
	"bytes"
	"cmp"
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

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
	"github.com/toolsandbox/toolsandbox/internal/world"
)

// shape is what a node of a document holds.
type shape uint8

const (
	shapeNull shape = iota + 1
	shapeBool
	shapeNumber
	shapeText
	shapeList
	shapeMapping
	// shapeBroken stands for a node whose mistake has been recorded.
	shapeBroken
)

// String returns the word used in messages to people.
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

// value is a node of a document: plain data with the place where it was written.
type value struct {
	shape  shape
	path   string
	line   int
	column int

	boolean bool
	number  float64
	// text is the content of a text, and the JSON spelling of a number.
	text   string
	list   []*value
	fields []field

	// inside is where the characters of a text stand.
	inside inside
	// time is the expression that a number comes from, nil if it is written as one.
	time *celexpr.Time
}

// field is an entry of a mapping, in written order.
type field struct {
	key   string
	place *value // shapeNull; where the key stands
	value *value
}

// get returns the value of a field, or nil.
func (v *value) get(key string) *value {
	for i := range v.fields {
		if v.fields[i].key == key {
			return v.fields[i].value
		}
	}
	return nil
}

// reader turns one file into values and collects its mistakes.
type reader struct {
	file string
	// schema is that of the pack's tables; nil is the built-in one.
	schema *world.Schema
	// own are the pack's own measures, for its tables.
	own    ownMeasures
	errors Errors
}

// world returns the schema of the pack's tables.
func (r *reader) world() *world.Schema { return cmp.Or(r.schema, world.Builtin()) }

// full says whether a file has more mistakes than are reported.
func (r *reader) full() bool { return len(r.errors) > maxMistakes }

// fail records a mistake at a value, unless the file has too many already.
func (r *reader) fail(at *value, format string, args ...any) {
	if r.full() {
		return
	}
	r.errors = append(r.errors, &Error{
		File: r.file, Line: at.line, Column: at.column, Field: at.path, Reason: oneLine(fmt.Sprintf(format, args...)),
	})
}

// documents returns what is in a file. Empty documents are left out.
func (r *reader) documents(data []byte) []*value {
	var docs []*value
	for _, part := range r.sections(data) {
		docs = append(docs, r.parse(part)...)
	}
	return docs
}

// section is a part of a file that begins with the mark of a document.
type section struct {
	file string
	// before is how many lines of the file are before it.
	before int
	text   string
}

// sections returns the parts of a file, which can be read one by one: what the parser needs for a
// text is many times its length. A file with directives or marks for the end of a document is one
// part.
func (r *reader) sections(data []byte) []section {
	switch {
	case len(data) > MaxFile:
		r.fail(top(), "the file has %d bytes; at most %d are read", len(data), MaxFile)
		return nil
	case !utf8.Valid(data):
		r.fail(top(), "the file is not UTF-8 text")
		return nil
	case marks(data) > maxMarks:
		r.fail(top(), "the file has more than %d brackets, braces, commas, colons and dashes; no more are read", maxMarks)
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

// marks counts the characters that lists and mappings are made of.
func marks(data []byte) int {
	count := 0
	for _, mark := range []string{"[", "{", ",", ":", "- "} {
		count += bytes.Count(data, []byte(mark))
	}
	return count
}

// parse returns the documents of a section. Empty ones are left out.
func (r *reader) parse(part section) []*value {
	file, err := parse(part.text, part.before)
	if err != nil {
		r.syntax(part, err)
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

// parse runs the YAML parser on a text that stands behind some lines. A document that makes it
// panic is a mistake of the document.
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

// tooDeep returns the token at which nesting passes maxDepth, before a recursive parser sees it.
// Block collections nest by indentation or by indicators that follow one another on a line.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, line, indicators := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, indicators = t.Position.Line, 0
		}
		switch t.Type { //nolint:exhaustive // the other tokens do not nest
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

// place returns an empty value at a node.
func place(node ast.Node, path string) *value {
	v := &value{shape: shapeNull, path: path, line: 1, column: 1}
	if t := node.GetToken(); t != nil && t.Position != nil {
		v.line, v.column = t.Position.Line, t.Position.Column
	}
	return v
}

// breaks records a mistake at a value and makes everything that reads it be silent.
func (r *reader) breaks(v *value, format string, args ...any) {
	v.shape = shapeBroken
	r.fail(v, format, args...)
}

// convert turns a node of the parser into a value.
func (r *reader) convert(node ast.Node, path string, depth int) *value {
	v := place(node, path)
	if depth > maxDepth {
		r.breaks(v, "nested deeper than %d levels", maxDepth)
		return v
	}
	switch n := node.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		v.shape, v.boolean = shapeBool, n.Value
	case *ast.StringNode:
		v.shape, v.text, v.inside = shapeText, n.Value, insideScalar(n.GetToken())
		if n.Token.Type == token.StringType && isJSONNumber(n.Value) { // one beyond 64 bits
			v.shape = shapeNumber
			r.finite(v)
		}
	case *ast.LiteralNode:
		v.shape, v.text, v.inside = shapeText, n.Value.Value, insideBlock(n)
	case *ast.IntegerNode, *ast.FloatNode:
		r.convertNumber(v, node)
	case *ast.InfinityNode, *ast.NanNode:
		r.breaks(v, "is not a finite number")
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
		r.breaks(v, "anchors and aliases are not read; write the value out")
	case *ast.TagNode:
		r.breaks(v, "tags are not read; quote a text, write anything else plainly")
	default:
		r.breaks(v, "%s is not read here", strings.ToLower(node.Type().String()))
	}
	return v
}

// finite works out a number from its spelling.
func (r *reader) finite(v *value) {
	var err error
	if v.number, err = strconv.ParseFloat(v.text, 64); err != nil {
		r.breaks(v, "%s is not a number that can be kept", v.text)
	}
}

// convertNumber keeps the spelling where JSON has the same.
func (r *reader) convertNumber(v *value, node ast.Node) {
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
			r.breaks(v, "%s is not a number that can be kept", spelling)
		}
	case *ast.FloatNode:
		v.number = n.Value
		if math.IsInf(v.number, 0) || math.IsNaN(v.number) {
			r.breaks(v, "%s is not a finite number", spelling)
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

// convertMapping turns the entries of a mapping into fields.
func (r *reader) convertMapping(v *value, entries []*ast.MappingValueNode, depth int) {
	v.shape = shapeMapping
	if len(entries) > 0 && v.line == entries[0].GetToken().Position.Line {
		// A block mapping's own token is its first colon; its place is its first key.
		if key := place(entries[0].Key, ""); key.line == v.line && key.column < v.column {
			v.column = key.column
		}
	}
	seen := make(map[string]bool, len(entries))
	v.fields = make([]field, 0, len(entries))
	for _, entry := range entries {
		at := place(entry.Key, v.path)
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
		v.fields = append(v.fields, field{key: key.Value, place: at, value: r.convert(entry.Value, at.path, depth+1)})
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

// isJSONNumber says whether a spelling is a number in JSON too.
func isJSONNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}
