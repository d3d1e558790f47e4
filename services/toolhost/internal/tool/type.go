package tool

import "github.com/toolsandbox/toolsandbox/internal/python"

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

// Str is str.
func Str() Type {
	return Type{Annotation: "<class 'str'>", Schema: "string", kind: python.KindStr}
}

// Bool is bool.
func Bool() Type {
	return Type{Annotation: "<class 'bool'>", Schema: "boolean", kind: python.KindBool}
}

// Float is float; an int or a bool may stand for it.
func Float() Type {
	return Type{Annotation: "<class 'float'>", Schema: "number", kind: python.KindFloat}
}

// Int is int; a bool may stand for it.
func Int() Type {
	return Type{Annotation: "<class 'int'>", Schema: "integer", kind: python.KindInt}
}

// Number is Union[float, int].
func Number() Type {
	return Type{Annotation: "typing.Union[float, int]", Schema: "number", kind: python.KindFloat}
}

// OptionalFloat is Optional[float].
func OptionalFloat() Type {
	return Type{Annotation: "typing.Optional[float]", Schema: "number", kind: python.KindFloat, nullable: true}
}

// OptionalInt is Optional[int].
func OptionalInt() Type {
	return Type{Annotation: "typing.Optional[int]", Schema: "integer", kind: python.KindInt, nullable: true}
}

// FloatOrNotGiven is Union[float, NotGiven].
func FloatOrNotGiven() Type {
	return Type{Annotation: "typing.Union[float, " + notGiven + "]", Schema: "number", NotGiven: true, kind: python.KindFloat}
}

// OptionalFloatOrNotGiven is Union[float, None, NotGiven].
func OptionalFloatOrNotGiven() Type {
	return Type{Annotation: "typing.Union[float, NoneType, " + notGiven + "]", Schema: "number", NotGiven: true, kind: python.KindFloat, nullable: true}
}

// OptionalStr is Optional[str].
func OptionalStr() Type {
	return Type{Annotation: "typing.Optional[str]", Schema: "string", kind: python.KindStr, nullable: true}
}

// StrOrNotGiven is Union[str, NotGiven].
func StrOrNotGiven() Type {
	return Type{Annotation: "typing.Union[str, " + notGiven + "]", Schema: "string", NotGiven: true, kind: python.KindStr}
}

// BoolOrNotGiven is Union[bool, NotGiven].
func BoolOrNotGiven() Type {
	return Type{Annotation: "typing.Union[bool, " + notGiven + "]", Schema: "boolean", NotGiven: true, kind: python.KindBool}
}

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
