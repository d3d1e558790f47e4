package tool

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// Type is a parameter's annotation.
type Type struct {
	// Annotation is how Python prints it in a type error.
	Annotation string
	// Schema is the JSON Schema type.
	Schema string
	// NotGiven says that leaving the argument out is different from any value.
	NotGiven bool

	kind     python.Kind
	nullable bool
}

const notGiven = "tool_sandbox.common.utils.NotGiven"

// scalar is a type that a hint names.
type scalar struct {
	kind         python.Kind
	name, schema string
}

// scalars are the types of arguments by the order in which messages list them.
func scalars() []scalar {
	return []scalar{
		{python.KindStr, "str", "string"}, {python.KindBool, "bool", "boolean"},
		{python.KindInt, "int", "integer"}, {python.KindFloat, "float", "number"},
	}
}

// typeOf returns the type of a hint: one scalar, or float and int, perhaps with None or NotGiven.
func typeOf(of []scalar, nullable, maybe bool) Type {
	last := of[len(of)-1]
	t := Type{Annotation: "<class '" + last.name + "'>", Schema: last.schema, NotGiven: maybe, kind: last.kind, nullable: nullable}
	var names []string
	for _, s := range of {
		names = append(names, s.name)
		if s.kind == python.KindFloat { // an int may stand for a float
			t.Schema, t.kind = s.schema, s.kind
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

func str() []scalar     { return scalars()[:1] }
func boolean() []scalar { return scalars()[1:2] }
func integer() []scalar { return scalars()[2:3] }
func float() []scalar   { return scalars()[3:] }

// Str is str.
func Str() Type { return typeOf(str(), false, false) }

// Bool is bool.
func Bool() Type { return typeOf(boolean(), false, false) }

// Float is float; an int or a bool may stand for it.
func Float() Type { return typeOf(float(), false, false) }

// Int is int; a bool may stand for it.
func Int() Type { return typeOf(integer(), false, false) }

// Number is Union[float, int].
func Number() Type { return typeOf(append(float(), integer()...), false, false) }

// OptionalFloat is Optional[float].
func OptionalFloat() Type { return typeOf(float(), true, false) }

// OptionalInt is Optional[int].
func OptionalInt() Type { return typeOf(integer(), true, false) }

// FloatOrNotGiven is Union[float, NotGiven].
func FloatOrNotGiven() Type { return typeOf(float(), false, true) }

// OptionalFloatOrNotGiven is Union[float, None, NotGiven].
func OptionalFloatOrNotGiven() Type { return typeOf(float(), true, true) }

// OptionalStr is Optional[str].
func OptionalStr() Type { return typeOf(str(), true, false) }

// StrOrNotGiven is Union[str, NotGiven].
func StrOrNotGiven() Type { return typeOf(str(), false, true) }

// BoolOrNotGiven is Union[bool, NotGiven].
func BoolOrNotGiven() Type { return typeOf(boolean(), false, true) }

// accepts says whether a given value passes the type check: a bool is an int and an int may stand
// for a float, as in the original.
func (t Type) accepts(v python.Value) bool {
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
