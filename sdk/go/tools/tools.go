// Package tools serves tools of a ToolSandbox pack that are written in Go. A tool is a function of
// its arguments and of the rows that it declares; it keeps no state between calls.
package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

// Row is a row of a table by column: texts, booleans, numbers and nil. In rows that a call
// receives, a number is a json.Number, which keeps all digits and whether it is an integer.
type Row = map[string]any

// Call is the context of one call: its inputs besides the arguments, and its changes. It is valid
// for one call only.
type Call struct {
	// Rows are the declared rows by table.
	Rows map[string][]Row
	// Now is the session's time in POSIX seconds; 0 unless the tool declares Clock.
	Now float64
	// IDs are new row ids, as many as the tool declares.
	IDs []string

	changes []*toolsv1.Change
	err     error
}

// Add adds a row to a table. Missing columns are null.
func (c *Call) Add(table string, row Row) {
	c.change(&toolsv1.Change{Table: table, Kind: &toolsv1.Change_AddJson{AddJson: c.json(row)}})
}

// Update changes values of the only row of a table whose column has the value.
func (c *Call) Update(table, column string, value any, values Row) {
	c.change(&toolsv1.Change{Table: table, Kind: &toolsv1.Change_Update{Update: &toolsv1.Update{
		Where: c.condition(column, value), ValuesJson: c.json(values),
	}}})
}

// Remove removes the rows of a table whose column has the value.
func (c *Call) Remove(table, column string, value any) {
	c.change(&toolsv1.Change{Table: table, Kind: &toolsv1.Change_Remove{Remove: c.condition(column, value)}})
}

func (c *Call) condition(column string, value any) *toolsv1.Where {
	return &toolsv1.Where{Column: column, ValueJson: c.json(value)}
}

func (c *Call) change(change *toolsv1.Change) { c.changes = append(c.changes, change) }

func (c *Call) json(v any) string {
	raw, err := json.Marshal(v)
	if err != nil && c.err == nil {
		c.err = err
	}
	return string(raw)
}

// Raised is a Python exception, which agents know. A tool returns it as its error; any other error
// becomes a RuntimeError with its text.
type Raised struct{ Type, Text string }

// Error implements error.
func (r *Raised) Error() string { return r.Type + ": " + r.Text }

// Raise returns an exception, such as Raise("ValueError", "…").
func Raise(kind, text string) error { return &Raised{Type: kind, Text: text} }

// Tool is a tool that New returns.
type Tool struct {
	declared *toolsv1.Tool
	run      func(ctx context.Context, call *Call, arguments []byte) (any, error)
}

// Option declares a property of a tool.
type Option func(*toolsv1.Tool)

// Reads declares rows that every call receives: all columns of a table, or the named ones.
func Reads(table string, columns ...string) Option {
	return func(t *toolsv1.Tool) { t.Reads = append(t.Reads, &toolsv1.Rows{Table: table, Columns: columns}) }
}

// Writes declares the tables or columns that calls may change.
func Writes(table string, columns ...string) Option {
	return func(t *toolsv1.Tool) { t.Writes = append(t.Writes, &toolsv1.Rows{Table: table, Columns: columns}) }
}

// Clock declares that calls receive the session's time.
func Clock() Option { return func(t *toolsv1.Tool) { t.Clock = true } }

// IDs declares the number of new ids that every call receives, at most 16.
func IDs(n int) Option { return func(t *toolsv1.Tool) { t.Ids = int32(n) } }

// User gives the tool to the simulated user instead of the agent.
func User() Option { return func(t *toolsv1.Tool) { t.User = true } }

// Schema replaces the JSON Schema that New derives from the type of the arguments.
func Schema(schema string) Option { return func(t *toolsv1.Tool) { t.ParametersJson = schema } }

// New returns a tool. A is a struct: each exported field is an argument, named by its json tag and
// described by its doc tag. A pointer, or a field with omitempty in its json tag, is optional. A
// number in a field of type any is a json.Number.
// Without Schema, New panics for another A or another type of a field.
func New[A any](name, description string, run func(ctx context.Context, call *Call, arguments A) (any, error), options ...Option) Tool {
	t := Tool{declared: &toolsv1.Tool{Name: name, Description: description}}
	for _, option := range options {
		option(t.declared)
	}
	if t.declared.ParametersJson == "" {
		t.declared.ParametersJson = schemaOf(name, reflect.TypeFor[A]())
	}
	t.run = func(ctx context.Context, call *Call, raw []byte) (any, error) {
		var arguments A
		if err := decode(raw, &arguments); err != nil {
			return nil, Raise("TypeError", err.Error())
		}
		return run(ctx, call, arguments)
	}
	return t
}

// decode parses JSON. A number for an interface is a json.Number, because a float64 has 53 bits and
// is written back as an integer if it can be.
func decode(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// schemaOf returns the JSON Schema of the fields of a struct, in order.
func schemaOf(tool string, of reflect.Type) string {
	if of.Kind() != reflect.Struct {
		panic(fmt.Sprintf("tool %s: its arguments are %s, expected a struct", tool, of))
	}
	var properties, required []string
	for i := range of.NumField() {
		field := of.Field(i)
		tag := field.Tag.Get("json")
		if !field.IsExported() || tag == "-" {
			continue
		}
		name, flags, _ := strings.Cut(tag, ",")
		if name == "" {
			name = field.Name
		}
		kind := field.Type
		optional := strings.Contains(flags, "omit")
		if kind.Kind() == reflect.Pointer {
			kind, optional = kind.Elem(), true
		}
		schema := typeOf(tool, name, kind)
		if doc := field.Tag.Get("doc"); doc != "" {
			schema = strings.TrimSuffix(schema, "}") + `,"description":` + quote(doc) + "}"
		}
		properties = append(properties, quote(name)+":"+schema)
		if !optional {
			required = append(required, quote(name))
		}
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
}

// typeOf returns the schema of a type.
func typeOf(tool, name string, of reflect.Type) string {
	switch of.Kind() { // others are refused
	case reflect.String:
		return `{"type":"string"}`
	case reflect.Bool:
		return `{"type":"boolean"}`
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return `{"type":"integer"}`
	case reflect.Float32, reflect.Float64:
		return `{"type":"number"}`
	case reflect.Slice:
		return `{"type":"array","items":` + typeOf(tool, name, of.Elem()) + `}`
	case reflect.Map:
		return `{"type":"object","additionalProperties":` + typeOf(tool, name, of.Elem()) + `}`
	case reflect.Interface:
		return `{}`
	default:
		panic(fmt.Sprintf("tool %s: argument %s is of type %s, expected a text, boolean, number, slice or map; or give Schema", tool, name, of))
	}
}

func quote(text string) string {
	raw, err := json.Marshal(text)
	if err != nil { // a text has JSON
		panic(err)
	}
	return string(raw)
}
