package scenario

import (
	"regexp"
	"slices"
)

const (
	toolKey       = "tool"
	argumentsKey  = "arguments"
	callsKey      = "calls"
	milestoneKey  = "milestone"
	tolerancesKey = "tolerances"
)

// toolName is what a text must look like to be the name of a tool that is called without arguments.
var toolName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// writeOut writes a call out whose tool is the key of its arguments, or stands alone where only a
// call can: as tool and arguments, and in a turn as its only call. Anything else stays.
func (v *value) writeOut(f form) {
	at := slices.IndexFunc(v.fields, func(field field) bool { return f.callsTool(v, field) })
	var call []field
	switch {
	case v.shape == shapeText && f.has(toolKey) && toolName.MatchString(v.text):
		tool := *v
		*v = value{shape: shapeMapping, path: v.path, line: v.line, column: v.column}
		call = []field{{key: toolKey, place: &tool, value: &tool}}
	case at >= 0:
		written := v.fields[at]
		tool := *written.place
		tool.shape, tool.text = shapeText, written.key
		call = []field{
			{key: toolKey, place: written.place, value: &tool}, {key: argumentsKey, place: written.value, value: written.value},
		}
		v.fields = slices.Delete(slices.Clone(v.fields), at, at+1)
	default:
		return
	}
	if f.has(callsKey) {
		only := &value{shape: shapeMapping, path: call[0].place.path, line: v.line, column: v.column, fields: call}
		list := &value{shape: shapeList, path: only.path, line: v.line, column: v.column, list: []*value{only}}
		call = []field{{key: callsKey, place: call[0].place, value: list}}
	}
	v.fields = append(v.fields, call...)
}

// callsTool says whether a field of a mapping names a tool and holds its arguments: it is none of
// the form, and no other field says what is called or said.
func (f form) callsTool(v *value, candidate field) bool {
	if f.has(candidate.key) || f.former[candidate.key] != "" || candidate.value.shape != shapeMapping {
		return false
	}
	for _, other := range v.fields {
		if other.key != candidate.key && (!f.has(other.key) || slices.Contains(f.instead, other.key)) {
			return false
		}
	}
	return true
}
