package tool

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// resultType is the hint of what a function returns: one or more alternatives.
type resultType []alternative

// alternative is one type of a union.
type alternative struct {
	kind python.Kind
	// anything accepts every value.
	anything bool
	// items is the type of a list's items or a dict's values, nil for any.
	items resultType
}

// accepts reports whether a value has the type. An int is a valid float, and a bool a valid int.
func (r resultType) accepts(v python.Value) bool {
	return slices.ContainsFunc(r, func(a alternative) bool {
		return a.anything || a.acceptsKind(v.Kind()) && (a.items == nil || a.acceptsItems(v))
	})
}

func (a alternative) acceptsKind(kind python.Kind) bool {
	switch kind {
	case python.KindBool:
		return a.kind == python.KindBool || a.kind == python.KindInt || a.kind == python.KindFloat
	case python.KindInt:
		return a.kind == python.KindInt || a.kind == python.KindFloat
	default:
		return a.kind == kind
	}
}

func (a alternative) acceptsItems(v python.Value) bool {
	list, _ := v.AsList()
	dict, _ := v.AsDict()
	for _, item := range dict.Items() {
		list = append(slices.Clip(list), item.Value)
	}
	return !slices.ContainsFunc(list, func(item python.Value) bool { return !a.items.accepts(item) })
}

// result checks the hint of what a tool returns, and returns it.
func (m *module) result(def *syntax.Def) resultType {
	hint := def.Function.Returns
	if hint == nil {
		return nil
	}
	result, ok := m.resultType(hint)
	if !ok {
		m.fail(hint.Offset(), def.Name.ID, "the type of what it returns is none that a tool can give; write None, str, bool, int, float, List[…] or Dict[str, …], perhaps in Optional[…] or Union[…]")
		return nil
	}
	m.checkReturns(def, result)
	return result
}

// resultType reads a hint. ok is false for a type that JSON does not have. A type that the file
// defines may be anything.
func (m *module) resultType(hint syntax.Expr) (result resultType, ok bool) {
	parts, ok := source.UnionTypes(hint, nil)
	for _, part := range parts {
		var a alternative
		switch part := part.(type) {
		case *syntax.Constant:
			a.kind = python.KindNone
			ok = ok && part.Value == nil
		case *syntax.Name:
			at := slices.IndexFunc(named(), func(c class) bool { return c.name == part.ID })
			switch {
			case at >= 0:
				a.kind = named()[at].kind
			case part.ID == "List", part.ID == "tuple", part.ID == "Tuple":
				a.kind = python.KindList
			case part.ID == "Dict":
				a.kind = python.KindDict
			default:
				a.anything = true
				ok = ok && (part.ID == "Any" || m.binds(part.ID))
			}
		case *syntax.Subscript:
			var valid bool
			a, valid = m.containerType(part)
			ok = ok && valid
		}
		result = append(result, a)
	}
	return result, ok
}

// containerType reads List[X], Dict[str, X], Tuple[…] or Literal[…].
func (m *module) containerType(hint *syntax.Subscript) (a alternative, ok bool) {
	name, isName := hint.X.(*syntax.Name)
	if !isName {
		return a, false
	}
	switch name.ID {
	case "List", "list":
		a.kind = python.KindList
		a.items, ok = m.resultType(hint.Index)
	case "Dict", "dict":
		a.kind = python.KindDict
		if pair, isPair := hint.Index.(*syntax.Sequence); isPair && len(pair.Items) == 2 {
			a.items, ok = m.resultType(pair.Items[1])
		}
	case "Tuple", "tuple":
		return alternative{kind: python.KindList}, true
	case "Literal":
		return alternative{anything: true}, true
	}
	return a, ok
}

// binds reports whether a name is a variable of the file.
func (m *module) binds(name string) bool {
	return slices.Contains(m.program.Scope.Names, name) && !isTypingName(name)
}

// checkReturns reports literals that do not have the type of the hint, and a function that returns
// nothing although its hint says otherwise.
func (m *module) checkReturns(def *syntax.Def, result resultType) {
	returns := false
	syntax.Walk(def.Function.Body, func(node syntax.Expr) bool {
		switch node := node.(type) {
		case *syntax.Def, *syntax.Lambda:
			return false
		case *syntax.Return:
			returns = true
			if value, ok := literalValue(node.X); ok && !result.accepts(value) {
				m.fail(node.Offset(), def.Name.ID, "it returns %s, but the hint says %s", value.TypeName(), m.text(def.Function.Returns))
			}
		}
		return true
	})
	body := def.Function.Body
	if len(body) == 0 || returns || result.accepts(python.None()) {
		return
	}
	switch body[len(body)-1].(type) {
	case *syntax.Raise, *syntax.While, *syntax.If, *syntax.Try: // perhaps it never gets to its end
	default:
		m.fail(def.Offset(), def.Name.ID, "it returns nothing, but the hint says %s; add a return, or write -> None", m.text(def.Function.Returns))
	}
}

// literalValue returns the value of a literal without its items, or of no expression.
func literalValue(x syntax.Expr) (python.Value, bool) {
	switch x := x.(type) {
	case nil:
		return python.None(), true
	case *syntax.JoinedStr:
		return python.Str(""), true
	case *syntax.Dict:
		return python.DictOf(), true
	case *syntax.Sequence:
		return python.List(), x.Kind == syntax.KindList || x.Kind == syntax.KindTuple
	default:
		return constant(x)
	}
}

// text returns a hint as written.
func (m *module) text(hint syntax.Expr) string {
	text, _ := syntax.Unparse(hint)
	return text
}
