package tool

import (
	"math/big"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// hints reads the types in hints of a file.
type hints struct {
	// program has the enumerations of the file; it may be nil.
	program *interp.Program
	// results reports that the hints are those of results, which may also be tuples and None.
	results bool
	// binds reports whether a name is one of the file. A result of such a type may be anything.
	binds func(name string) bool
}

// read returns the type of a hint. ok is false for a type that tools do not support.
func (h hints) read(hint syntax.Expr) (t Type, ok bool) {
	parts, ok := source.UnionTypes(hint, nil)
	if !ok {
		return Type{}, false
	}
	var alternatives []alternative
	nullable, maybe := false, false
	for _, part := range parts {
		name := source.TypeName(part)
		constant, isConstant := part.(*syntax.Constant)
		switch {
		case isConstant && constant.Value == nil:
			nullable = true
		case name == "NotGiven" && !h.results:
			maybe = true
		case name == "Any":
			return Type{anything: true, Annotation: "typing.Any"}, len(parts) == 1 || h.results
		default:
			more, none, ok := h.alternatives(part)
			if !ok {
				return Type{anything: true}, h.results && name != "" && h.binds(name)
			}
			alternatives, nullable = append(alternatives, more...), nullable || none
		}
	}
	return typeOf(alternatives, nullable, maybe), len(alternatives) > 0 || h.results
}

// alternatives returns the types of one part of a union. none reports that None is among them.
func (h hints) alternatives(part syntax.Expr) (list []alternative, none, ok bool) {
	if hint, isSubscript := part.(*syntax.Subscript); isSubscript {
		if source.TypeName(hint.X) == "Literal" {
			list, none = literalTypes(hint.Index)
			return list, none, len(list) > 0
		}
		container, ok := h.container(hint)
		return []alternative{container}, false, ok
	}
	name := source.TypeName(part)
	if at := slices.IndexFunc(named(), func(a alternative) bool { return a.name == name }); at >= 0 {
		return named()[at : at+1], false, true
	}
	switch {
	case name == "List", name == "Sequence", h.results && (name == "tuple" || name == "Tuple"):
		return []alternative{{kind: python.KindList, name: "typing.List"}}, false, true
	case name == "Dict", name == "Mapping":
		return []alternative{{kind: python.KindDict, name: "typing.Dict"}}, false, true
	case h.program == nil:
		return nil, false, false
	}
	values, ok := h.program.Choices(part)
	return choicesOf(values, name), false, ok
}

// choicesOf returns one alternative for each kind of the values.
func choicesOf(values []python.Value, name string) (list []alternative) {
	for _, value := range values {
		at := slices.IndexFunc(list, func(a alternative) bool { return a.kind == value.Kind() })
		if at < 0 {
			at, list = len(list), append(list, alternative{kind: value.Kind(), name: name})
		}
		list[at].choices = append(list[at].choices, value)
	}
	return list
}

// literalTypes returns the types of Literal[…]. list is empty if one of the values is no literal.
func literalTypes(index syntax.Expr) (list []alternative, none bool) {
	items := []syntax.Expr{index}
	if several, ok := index.(*syntax.Sequence); ok {
		items = several.Items
	}
	var values []python.Value
	var texts []string
	for _, item := range items {
		value, ok := constant(item)
		if _, isFloat := value.AsFloat(); !ok || isFloat {
			return nil, false
		}
		texts = append(texts, python.Repr(value))
		if none = none || value.IsNone(); !value.IsNone() {
			values = append(values, value)
		}
	}
	return choicesOf(values, "typing.Literal["+strings.Join(texts, ", ")+"]"), none
}

// container returns the type of List[X], list[X], Dict[str, X] or dict[str, X].
func (h hints) container(hint *syntax.Subscript) (a alternative, ok bool) {
	item, open := hint.Index, "typing.List["
	switch source.TypeName(hint.X) {
	case "List", "list", "Sequence":
		a.kind = python.KindList
	case "Tuple", "tuple":
		return alternative{kind: python.KindList, name: "typing.Tuple"}, h.results
	case "Dict", "dict", "Mapping":
		pair, isPair := hint.Index.(*syntax.Sequence)
		if !isPair || len(pair.Items) != 2 || source.TypeName(pair.Items[0]) != "str" && !h.results {
			return a, false
		}
		a.kind, item, open = python.KindDict, pair.Items[1], "typing.Dict[str, "
	default:
		return a, false
	}
	items, ok := h.read(item)
	a.name, a.items = open+items.text()+"]", &items
	return a, ok && !items.NotGiven
}

// constant returns the value of a scalar literal.
func constant(x syntax.Expr) (python.Value, bool) {
	switch x := x.(type) {
	case *syntax.Constant:
		switch x.Value.(type) {
		case nil, bool, int, *big.Int, float64, string:
			return python.ValueOf(x.Value), true
		}
	case *syntax.Unary:
		value, _ := constant(x.X)
		if i, ok := value.AsBigInt(); ok && x.Op == "-" {
			return python.BigInt(i.Neg(i)), true
		}
		if f, ok := value.AsFloat(); ok && x.Op == "-" {
			return python.Float(-f), true
		}
	}
	return python.None(), false
}
