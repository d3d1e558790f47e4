package tool

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// Type is a parameter's annotation.
type Type struct {
	// Annotation is Python's text of the type in type errors.
	Annotation string
	// Schema is the JSON Schema type. Items is that of an array's items or an object's values, empty
	// for any.
	Schema, Items string
	// NotGiven reports that omitting the argument differs from any value.
	NotGiven bool

	kind     python.Kind
	nullable bool
	// anything reports that every value passes.
	anything bool
}

const notGiven = "tool_sandbox.common.utils.NotGiven"

// class is a type in a hint.
type class struct {
	kind         python.Kind
	name, schema string
	// items is the schema of a list's items or a dict's values, empty for any.
	items string
}

// scalars returns the types of scalars in the order of error texts.
func scalars() []class {
	return []class{
		{kind: python.KindStr, name: "str", schema: "string"}, {kind: python.KindBool, name: "bool", schema: "boolean"},
		{kind: python.KindInt, name: "int", schema: "integer"}, {kind: python.KindFloat, name: "float", schema: "number"},
	}
}

// named returns the types with their own names.
func named() []class {
	return append(scalars(), class{kind: python.KindList, name: "list", schema: "array"}, class{kind: python.KindDict, name: "dict", schema: "object"})
}

// containerOf returns the type of List[X], list[X], Dict[str, X] or dict[str, X]. X is a type name
// or Any.
func containerOf(hint *syntax.Subscript) (container class, ok bool) {
	name, isName := hint.X.(*syntax.Name)
	if !isName {
		return class{}, false
	}
	items, keys := hint.Index, true
	switch name.ID {
	case "List", "list":
		container = class{kind: python.KindList, name: "typing.List[", schema: "array"}
	case "Dict", "dict":
		container = class{kind: python.KindDict, name: "typing.Dict[str, ", schema: "object"}
		pair, isPair := hint.Index.(*syntax.Sequence)
		if !isPair || len(pair.Items) != 2 {
			return class{}, false
		}
		key, isName := pair.Items[0].(*syntax.Name)
		items, keys = pair.Items[1], isName && key.ID == "str"
	default:
		return class{}, false
	}
	if nested, isNested := items.(*syntax.Subscript); isNested {
		inner, ok := containerOf(nested)
		container.name += inner.name + "]"
		container.items = inner.schema
		return container, ok && keys
	}
	item, isName := items.(*syntax.Name)
	if !isName || !keys {
		return class{}, false
	}
	if item.ID == "Any" {
		container.name += "typing.Any]"
		return container, true
	}
	at := slices.IndexFunc(named(), func(c class) bool { return c.name == item.ID })
	if at < 0 {
		return class{}, false
	}
	container.name += item.ID + "]"
	container.items = named()[at].schema
	return container, true
}

// typeOf returns the type of a hint: one class, or float and int, optionally with None or NotGiven.
func typeOf(classes []class, nullable, maybe bool) Type {
	last := classes[len(classes)-1]
	t := Type{Annotation: "<class '" + last.name + "'>", Schema: last.schema, Items: last.items, NotGiven: maybe, kind: last.kind, nullable: nullable}
	if strings.HasPrefix(last.name, "typing.") {
		t.Annotation = last.name
	}
	var names []string
	for _, c := range classes {
		names = append(names, c.name)
		if c.kind == python.KindFloat { // an int is a valid float
			t.Schema, t.kind = c.schema, c.kind
		}
	}
	if len(names) == 1 && nullable && !maybe {
		t.Annotation = "typing.Optional[" + names[0] + "]"
		return t
	}
	if nullable {
		names = append(names, "NoneType")
	}
	if maybe {
		names = append(names, notGiven)
	}
	if len(names) > 1 {
		t.Annotation = "typing.Union[" + strings.Join(names, ", ") + "]"
	}
	return t
}

// Str is str.
func Str() Type { return typeOf(scalars()[:1], false, false) }

// Number is Union[float, int].
func Number() Type { return typeOf([]class{scalars()[3], scalars()[2]}, false, false) }

// OptionalDict is Optional[dict].
func OptionalDict() Type { return typeOf(named()[len(named())-1:], true, false) }

// accepts reports whether a value passes the type check. As in the original, a bool is a valid int
// and an int a valid float.
func (t Type) accepts(v python.Value) bool {
	if t.anything {
		return true
	}
	switch v.Kind() {
	case python.KindNone:
		return t.nullable
	case python.KindBool:
		return t.kind == python.KindBool || t.kind == python.KindInt || t.kind == python.KindFloat
	case python.KindInt:
		return t.kind == python.KindInt || t.kind == python.KindFloat
	default:
		return v.Kind() == t.kind
	}
}
