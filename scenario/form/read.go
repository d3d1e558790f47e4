package form

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// These are fields of turns and calls.
const (
	ToolKey       = "tool"
	ArgumentsKey  = "arguments"
	CallsKey      = "calls"
	MilestoneKey  = "milestone"
	TolerancesKey = "tolerances"
)

// toolName matches the name of a tool that is called without arguments.
var toolName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Read checks that a value is a mapping whose fields belong to the form. It returns nil for any
// other shape.
func (f Form) Read(r *document.Reader, v *document.Value) *document.Value {
	if v != nil && len(f.replaceable) > 0 {
		f.expandCall(v)
	}
	if !r.CheckShape(v, document.ShapeMapping) {
		return nil
	}
	for i := range v.Fields {
		if !r.Full() && !f.Has(v.Fields[i].Key) {
			v.Unknown = true
			r.Fail(v.Fields[i].Position, "unknown field%s%s", spelling.Hint(v.Fields[i].Key, f.Names()), f.suggestTool(v))
		}
	}
	for i := range f.fields {
		if f.fields[i].required {
			r.Require(v, f.fields[i].name)
		}
	}
	f.checkChoice(r, v)
	return v
}

// suggestTool suggests a call with an unknown field as the tool, for a mapping that can be a call.
func (f Form) suggestTool(v *document.Value) string {
	if len(f.replaceable) == 0 || slices.ContainsFunc(f.replaceable, func(name string) bool { return v.Get(name) != nil }) {
		return ""
	}
	return ", or one tool with its arguments, as in search_contacts: {name: Ada}"
}

// checkChoice checks that a mapping has exactly one of the exclusive fields.
func (f Form) checkChoice(r *document.Reader, v *document.Value) {
	count := len(v.Fields)
	for _, name := range f.additional {
		if v.Get(name) != nil {
			count--
		}
	}
	if f.exactlyOne && count != 1 && !v.Unknown {
		r.Fail(v, "has %d fields, expected one of %s", count, strings.Join(f.choices(), ", "))
	}
}

// expandCall expands the short form of a call to the fields tool and arguments. The short form is
// the tool as the key of its arguments, or the tool alone where only a call is possible. A turn
// gets the field calls. Other values do not change.
func (f Form) expandCall(v *document.Value) {
	at := slices.IndexFunc(v.Fields, func(field document.Field) bool { return f.isToolField(v, field) })
	var call []document.Field
	switch {
	case v.Shape == document.ShapeText && f.Has(ToolKey) && toolName.MatchString(v.Text):
		tool := *v
		*v = document.Value{Shape: document.ShapeMapping, Path: v.Path, Line: v.Line, Column: v.Column}
		call = []document.Field{{Key: ToolKey, Position: &tool, Value: &tool}}
	case at >= 0:
		written := v.Fields[at]
		tool := *written.Position
		tool.Shape, tool.Text = document.ShapeText, written.Key
		call = []document.Field{
			{Key: ToolKey, Position: written.Position, Value: &tool}, {Key: ArgumentsKey, Position: written.Value, Value: written.Value},
		}
		v.Fields = slices.Delete(slices.Clone(v.Fields), at, at+1)
	default:
		return
	}
	if f.Has(CallsKey) {
		only := &document.Value{Shape: document.ShapeMapping, Path: call[0].Position.Path, Line: v.Line, Column: v.Column, Fields: call}
		list := &document.Value{Shape: document.ShapeList, Path: only.Path, Line: v.Line, Column: v.Column, List: []*document.Value{only}}
		call = []document.Field{{Key: CallsKey, Position: call[0].Position, Value: list}}
	}
	v.Fields = append(v.Fields, call...)
}

// isToolField reports whether a field of a mapping names a tool and contains its arguments. It must
// not be a field of the form, and no other field may contain a call or a text.
func (f Form) isToolField(v *document.Value, candidate document.Field) bool {
	if f.Has(candidate.Key) || candidate.Value.Shape != document.ShapeMapping {
		return false
	}
	for _, other := range v.Fields {
		if other.Key != candidate.Key && (!f.Has(other.Key) || slices.Contains(f.replaceable, other.Key)) {
			return false
		}
	}
	return true
}
