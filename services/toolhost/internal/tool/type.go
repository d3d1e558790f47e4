package tool

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// Type is the type in a hint: alternatives, of which a value has one.
type Type struct {
	// Annotation is Python's text of the type in type errors.
	Annotation string
	// NotGiven reports that omitting the argument differs from any value.
	NotGiven bool

	alternatives []alternative // without None
	nullable     bool
	// anything reports that every value passes.
	anything bool
}

const notGiven = "tool_sandbox.common.utils.NotGiven"

// alternative is one type of a union.
type alternative struct {
	kind python.Kind
	// name is Python's text of the type within another.
	name string
	// items is the type of a list's items or a dict's values, nil for any.
	items *Type
	// choices are the values of a Literal or an enumeration, empty for any.
	choices []python.Value
}

// scalars returns the types of scalars in the order of error texts.
func scalars() []alternative {
	return []alternative{
		{kind: python.KindStr, name: "str"}, {kind: python.KindBool, name: "bool"},
		{kind: python.KindInt, name: "int"}, {kind: python.KindFloat, name: "float"},
	}
}

// named returns the types with their own names.
func named() []alternative {
	return append(scalars(), alternative{kind: python.KindList, name: "list"}, alternative{kind: python.KindDict, name: "dict"})
}

// schemaName returns the JSON Schema type of a kind of value.
func schemaName(kind python.Kind) string {
	return [...]string{"null", "boolean", "integer", "number", "string", "array", "object"}[kind]
}

// typeOf returns the type of alternatives, perhaps with None or NotGiven.
func typeOf(alternatives []alternative, nullable, maybe bool) Type {
	t := Type{NotGiven: maybe, alternatives: alternatives, nullable: nullable}
	if t.Annotation = t.text(); len(alternatives) == 1 && !nullable && !maybe && !strings.HasPrefix(t.Annotation, "typing.") {
		kind := "class"
		if len(alternatives[0].choices) > 0 {
			kind = "enum"
		}
		t.Annotation = "<" + kind + " '" + t.Annotation + "'>"
	}
	return t
}

// text is Python's text of the type within another.
func (t *Type) text() string {
	if t.anything {
		return "typing.Any"
	}
	var names []string
	for _, a := range t.alternatives {
		if !slices.Contains(names, a.name) { // a Literal of several kinds has several alternatives
			names = append(names, a.name)
		}
	}
	if len(names) == 1 && t.nullable && !t.NotGiven {
		return "typing.Optional[" + names[0] + "]"
	}
	if t.nullable {
		names = append(names, "NoneType")
	}
	if t.NotGiven {
		names = append(names, notGiven)
	}
	if len(names) == 1 {
		return names[0]
	}
	return "typing.Union[" + strings.Join(names, ", ") + "]"
}

// Str is str.
func Str() Type { return typeOf(scalars()[:1], false, false) }

// Number is Union[float, int].
func Number() Type { return typeOf([]alternative{scalars()[3], scalars()[2]}, false, false) }

// OptionalDict is Optional[dict].
func OptionalDict() Type { return typeOf(named()[len(named())-1:], true, false) }

// accepts reports whether a value passes the type check, which as in the original leaves items of
// lists and dicts alone unless they are choices. A bool is a valid int and an int a valid float.
func (t *Type) accepts(v python.Value) bool {
	if t.anything || v.IsNone() {
		return t.anything || t.nullable
	}
	for i := range t.alternatives {
		if t.alternatives[i].accepts(v, false) {
			return true
		}
	}
	return false
}

// acceptsAll reports whether a value and all items in it have the type.
func (t *Type) acceptsAll(v python.Value) bool {
	return t.anything || v.IsNone() && t.nullable ||
		slices.ContainsFunc(t.alternatives, func(a alternative) bool { return a.accepts(v, true) })
}

func (a *alternative) accepts(v python.Value, all bool) bool {
	switch {
	case !a.acceptsKind(v.Kind()):
		return false
	case len(a.choices) > 0:
		return slices.ContainsFunc(a.choices, func(choice python.Value) bool { return sameChoice(choice, v) })
	case a.items == nil || !all && !a.items.hasChoices():
		return true
	}
	for _, item := range itemsOf(v) {
		if all && !a.items.acceptsAll(item.Value) || !all && !a.items.accepts(item.Value) {
			return false
		}
	}
	return true
}

// sameChoice reports whether a value is a choice. Unlike in Python, True is not 1.
func sameChoice(choice, v python.Value) bool {
	return choice.Equal(v) && (choice.Kind() == python.KindBool) == (v.Kind() == python.KindBool)
}

func (a *alternative) acceptsKind(kind python.Kind) bool {
	switch kind {
	case python.KindBool:
		return a.kind == python.KindBool || a.kind == python.KindInt || a.kind == python.KindFloat
	case python.KindInt:
		return a.kind == python.KindInt || a.kind == python.KindFloat
	default:
		return a.kind == kind
	}
}

// hasChoices reports whether only some values of a kind have the type, or items in it.
func (t *Type) hasChoices() bool {
	return slices.ContainsFunc(t.alternatives, func(a alternative) bool {
		return len(a.choices) > 0 || a.items != nil && a.items.hasChoices()
	})
}

// itemsOf returns the items of a list or a dict, with their subscripts as keys.
func itemsOf(v python.Value) []python.Item {
	list, _ := v.AsList()
	dict, _ := v.AsDict()
	items := make([]python.Item, 0, len(list)+dict.Len())
	for i, item := range list {
		items = append(items, python.Item{Key: "[" + python.Repr(python.Int(int64(i))) + "]", Value: item})
	}
	for _, item := range dict.Items() {
		items = append(items, python.Item{Key: "[" + python.Repr(python.Str(item.Key)) + "]", Value: item.Value})
	}
	return items
}

// refuse returns the exception for a value that accepts refuses. name is the parameter's.
func (t *Type) refuse(name string, v python.Value) error {
	var choices []string
	for i := range t.alternatives {
		a := &t.alternatives[i]
		if !a.acceptsKind(v.Kind()) {
			continue
		}
		for _, choice := range a.choices {
			choices = append(choices, python.Repr(choice))
		}
		for _, item := range itemsOf(v) {
			if a.items != nil && a.items.hasChoices() && !a.items.accepts(item.Value) {
				return a.items.refuse(name+item.Key, item.Value)
			}
		}
	}
	if len(choices) == 0 {
		return raise("TypeError", "Parameter '"+name+"' is of type '"+v.ClassName()+"', but expected '"+t.Annotation+"'.")
	}
	return raise("ValueError", "Parameter '"+name+"' is "+python.Repr(v)+", but expected one of "+strings.Join(choices, ", ")+".")
}

// schema returns the JSON Schema of the type as a model sees it. As in the original it does not
// mention None.
func (t *Type) schema() *python.Dict {
	schema := &python.Dict{}
	alternatives := t.alternatives
	isNumber := func(a alternative) bool { return a.kind == python.KindInt || a.kind == python.KindFloat }
	if slices.ContainsFunc(alternatives, func(a alternative) bool { return a.kind == python.KindFloat && len(a.choices) == 0 }) { // an int is a valid float
		alternatives = slices.DeleteFunc(slices.Clone(alternatives), func(a alternative) bool { return a.kind == python.KindInt && isNumber(a) })
	}
	if len(alternatives) == 1 {
		alternatives[0].describe(schema)
	}
	if len(alternatives) < 2 {
		return schema
	}
	several := make([]python.Value, len(alternatives))
	for i := range alternatives {
		one := &python.Dict{}
		alternatives[i].describe(one)
		several[i] = one.Value()
	}
	schema.Set("anyOf", python.List(several...))
	return schema
}

// describe adds the type, its items and its choices to a schema.
func (a *alternative) describe(schema *python.Dict) {
	schema.Set("type", python.Str(schemaName(a.kind)))
	if a.items != nil {
		if items := a.items.schema(); items.Len() > 0 {
			schema.Set(map[python.Kind]string{python.KindList: "items", python.KindDict: "additionalProperties"}[a.kind], items.Value())
		}
	}
	if len(a.choices) > 0 {
		schema.Set("enum", python.List(a.choices...))
	}
}
