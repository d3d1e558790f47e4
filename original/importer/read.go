package importer

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// reader reads values from a tree and collects mistakes. Its methods accept nil for an absent
// value, which is no mistake.
type reader struct {
	file string
	data []byte
	// strict rejects unknown fields.
	strict   bool
	mistakes document.Errors
}

// open parses a document.
func (r *reader) open() *node {
	top, err := parse(r.data)
	if err == nil {
		return top
	}
	at := &node{}
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		at.offset = syntax.offset
	}
	r.fail(at, "is no JSON: %s", err)
	return nil
}

// err returns the mistakes, nil if there are none.
func (r *reader) err() error {
	if len(r.mistakes) == 0 {
		return nil
	}
	return r.mistakes
}

// fail records a mistake.
func (r *reader) fail(n *node, format string, args ...any) {
	line, column := lineColumn(r.data, n.offset)
	r.mistakes = append(r.mistakes, &document.Error{
		File: r.file, Line: line, Column: column, Field: n.path(), Reason: fmt.Sprintf(format, args...),
	})
}

// hasShape reports whether a value has one of the shapes, and records a mistake if not.
func (r *reader) hasShape(n *node, shapes ...shape) bool {
	if n == nil {
		return false
	}
	if slices.Contains(shapes, n.shape) {
		return true
	}
	words := make([]string, len(shapes))
	for i := range shapes {
		words[i] = shapes[i].String()
	}
	r.fail(n, "is %s, expected %s", n.shape, strings.Join(words, " or "))
	return false
}

// object returns the value if it is an object, and records unknown fields.
func (r *reader) object(n *node, names ...string) *node {
	if !r.hasShape(n, shapeObject) {
		return nil
	}
	for i, name := range n.names {
		if r.strict && !slices.Contains(names, name) {
			r.fail(n.items[i], "unknown field%s", spelling.Hint(name, names))
		}
	}
	return n
}

// required returns the field of an object and records a missing one.
func (r *reader) required(n *node, name string) *node {
	field := n.get(name)
	if n != nil && field == nil {
		r.fail(n, "has no %q, which is required", name)
	}
	return field
}

// list returns the items of a list; null has none.
func (r *reader) list(n *node) []*node {
	if n == nil || n.shape == shapeNull || !r.hasShape(n, shapeList) {
		return nil
	}
	return n.items
}

func (r *reader) text(n *node) string {
	if !r.hasShape(n, shapeText) {
		return ""
	}
	return n.text
}

// optional returns a text that may be null.
func (r *reader) optional(n *node) *string {
	if n == nil || n.shape == shapeNull || !r.hasShape(n, shapeText) {
		return nil
	}
	return &n.text
}

func (r *reader) texts(n *node) []string {
	var texts []string
	for _, item := range r.list(n) {
		texts = append(texts, r.text(item))
	}
	return texts
}

// integer returns a whole number of at least minimum.
func (r *reader) integer(n *node, minimum int32) int32 {
	if !r.hasShape(n, shapeNumber) {
		return 0
	}
	value, err := strconv.ParseInt(n.text, 10, 32)
	if err != nil || value < int64(minimum) {
		r.fail(n, "is %s, expected a whole number from %d", n.text, minimum)
		return 0
	}
	return int32(value)
}

// number returns a number, including non-finite ones, which are written as texts.
func (r *reader) number(n *node) float64 {
	if !r.hasShape(n, shapeNumber, shapeText) {
		return 0
	}
	value, err := strconv.ParseFloat(n.text, 64)
	if n.shape == shapeText {
		switch n.text {
		case "NaN":
			return math.NaN()
		case "Infinity":
			return math.Inf(1)
		case "-Infinity":
			return math.Inf(-1)
		}
		err = strconv.ErrSyntax
	}
	if err != nil {
		r.fail(n, "is %s, expected a number, \"NaN\", \"Infinity\" or \"-Infinity\"", strconv.Quote(n.text))
	}
	return value
}

// role returns the role of a name.
func (r *reader) role(n *node) worldv1.Role {
	if !r.hasShape(n, shapeText) {
		return 0
	}
	role, ok := world.ParseRole(n.text)
	if !ok {
		r.fail(n, "unknown role %q%s", n.text, spelling.Hint(n.text, world.RoleNames()))
	}
	return role
}

// table returns the table of a name, which stands in n.
func (r *reader) table(n *node, text string) string {
	if _, ok := world.Builtin().Table(text); !ok {
		r.fail(n, "unknown table %q%s", text, spelling.Hint(text, tables()))
		return ""
	}
	return text
}

// choice returns what a text stands for.
func choice[T any](r *reader, n *node, what string, choices map[string]T) T {
	var none T
	if !r.hasShape(n, shapeText) {
		return none
	}
	value, ok := choices[n.text]
	if !ok {
		r.fail(n, "unknown %s %q%s", what, n.text, spelling.Hint(n.text, slices.Sorted(maps.Keys(choices))))
	}
	return value
}

func tables() []string {
	var names []string
	for _, schema := range world.Builtin().Tables() {
		names = append(names, schema.Name)
	}
	return names
}
