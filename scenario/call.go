package scenario

import (
	"regexp"
	"slices"
	"strings"
)

const (
	toolKey       = "tool"
	argumentsKey  = "arguments"
	callsKey      = "calls"
	milestoneKey  = "milestone"
	tolerancesKey = "tolerances"
)

// toolName matches the name of a tool that is called without arguments.
var toolName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// read checks that a value is a mapping whose fields belong to the form. It returns nil for any
// other shape.
func (f form) read(r *docReader, v *value) *value {
	if v != nil && len(f.replaceable) > 0 {
		f.expandCall(v)
	}
	if !r.checkShape(v, shapeMapping) {
		return nil
	}
	for i := range v.fields {
		if !r.full() && !f.has(v.fields[i].key) {
			r.fail(v.fields[i].position, "unknown field%s%s", hint(v.fields[i].key, f.names()), f.suggestTool(v))
		}
	}
	for i := range f.fields {
		if f.fields[i].required {
			r.require(v, f.fields[i].name)
		}
	}
	f.checkChoice(r, v)
	return v
}

// suggestTool suggests a call with an unknown field as the tool, for a mapping that can be a call.
func (f form) suggestTool(v *value) string {
	if len(f.replaceable) == 0 || slices.ContainsFunc(f.replaceable, func(name string) bool { return v.get(name) != nil }) {
		return ""
	}
	return ", or one tool with its arguments, as in search_contacts: {name: Ada}"
}

// checkChoice checks that a mapping has exactly one of the exclusive fields.
func (f form) checkChoice(r *docReader, v *value) {
	count := len(v.fields)
	for _, name := range f.additional {
		if v.get(name) != nil {
			count--
		}
	}
	if f.exactlyOne && count != 1 {
		r.fail(v, "has %d fields, expected one of %s", count, strings.Join(f.choices(), ", "))
	}
}

// expandCall expands the short form of a call to the fields tool and arguments. The short form is
// the tool as the key of its arguments, or the tool alone where only a call is possible. A turn
// gets the field calls. Other values do not change.
func (f form) expandCall(v *value) {
	at := slices.IndexFunc(v.fields, func(field field) bool { return f.isToolField(v, field) })
	var call []field
	switch {
	case v.shape == shapeText && f.has(toolKey) && toolName.MatchString(v.text):
		tool := *v
		*v = value{shape: shapeMapping, path: v.path, line: v.line, column: v.column}
		call = []field{{key: toolKey, position: &tool, value: &tool}}
	case at >= 0:
		written := v.fields[at]
		tool := *written.position
		tool.shape, tool.text = shapeText, written.key
		call = []field{
			{key: toolKey, position: written.position, value: &tool}, {key: argumentsKey, position: written.value, value: written.value},
		}
		v.fields = slices.Delete(slices.Clone(v.fields), at, at+1)
	default:
		return
	}
	if f.has(callsKey) {
		only := &value{shape: shapeMapping, path: call[0].position.path, line: v.line, column: v.column, fields: call}
		list := &value{shape: shapeList, path: only.path, line: v.line, column: v.column, list: []*value{only}}
		call = []field{{key: callsKey, position: call[0].position, value: list}}
	}
	v.fields = append(v.fields, call...)
}

// isToolField reports whether a field of a mapping names a tool and contains its arguments. It must
// not be a field of the form, and no other field may contain a call or a text.
func (f form) isToolField(v *value, candidate field) bool {
	if f.has(candidate.key) || candidate.value.shape != shapeMapping {
		return false
	}
	for _, other := range v.fields {
		if other.key != candidate.key && (!f.has(other.key) || slices.Contains(f.replaceable, other.key)) {
			return false
		}
	}
	return true
}
