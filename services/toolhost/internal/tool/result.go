package tool

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// result checks the hint of what a tool returns, and returns it.
func (m *module) result(def *syntax.Def) *Type {
	hint := def.Function.Returns
	if hint == nil {
		return nil
	}
	result, ok := hints{program: m.prepared, results: true, binds: m.binds}.read(hint)
	if !ok {
		m.fail(hint.Offset(), def.Name.ID, "the type of what it returns is none that a tool can give; write None, str, bool, int, float, List[…] or Dict[str, …], perhaps in Optional[…] or Union[…]")
		return nil
	}
	m.checkReturns(def, &result)
	return &result
}

// binds reports whether a name is a variable of the file.
func (m *module) binds(name string) bool {
	return slices.Contains(m.program.Scope.Names, name) && !isTypingName(name)
}

// checkReturns reports literals that do not have the type of the hint, and a function that returns
// nothing although its hint says otherwise.
func (m *module) checkReturns(def *syntax.Def, result *Type) {
	returns := false
	syntax.Walk(def.Function.Body, func(node syntax.Expr) bool {
		switch node := node.(type) {
		case *syntax.Def, *syntax.Lambda:
			return false
		case *syntax.Return:
			returns = true
			if value, ok := literalValue(node.X); ok && !result.acceptsAll(value) {
				m.fail(node.Offset(), def.Name.ID, "it returns %s, but the hint says %s", value.TypeName(), m.text(def.Function.Returns))
			}
		}
		return true
	})
	body := def.Function.Body
	if len(body) == 0 || returns || result.acceptsAll(python.None()) {
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
