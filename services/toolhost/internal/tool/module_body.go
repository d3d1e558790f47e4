package tool

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// isTypingName reports whether a name means a type in hints, which need no import of it.
func isTypingName(name string) bool {
	return slices.Contains([]string{"Any", "Callable", "Dict", "Iterable", "Iterator", "List", "Literal", "Mapping", "NotGiven", "Optional",
		"Sequence", "Set", "Tuple", "Union"}, name)
}

// hints checks the names in the hints of a function that is no tool. Those of tools are checked as
// types.
func (r *nameChecker) hints(def *syntax.Def) {
	if r.defs[def.Name.ID] == def && !strings.HasPrefix(def.Name.ID, "_") {
		return
	}
	hints := []syntax.Expr{def.Function.Returns}
	for i := range def.Function.Params {
		hints = append(hints, def.Function.Params[i].Hint)
	}
	for _, hint := range hints {
		syntax.WalkExpr(hint, func(node syntax.Expr) bool {
			name, ok := node.(*syntax.Name)
			if ok && !isTypingName(name.ID) && !library().Has(name.ID) && !r.binds(name.ID) {
				r.failAt(name, "name %q is not defined", name.ID)
			}
			return true
		})
	}
}

// member checks the name in json.name and in Color.NAME. It ignores names that are bound to
// something else as well.
func (r *nameChecker) member(attribute *syntax.Attribute) {
	x, ok := attribute.X.(*syntax.Name)
	if !ok || x.Binding != syntax.BindingGlobal {
		return
	}
	if names := r.missingMember(attribute); names != nil {
		r.failAt(attribute, "%s has no member %s%s", x.ID, attribute.Name, hint(attribute.Name, names))
		return
	}
	var imported *syntax.Import
	for _, s := range r.program.Body {
		if i, ok := s.(*syntax.Import); ok && i.Name != nil && i.Name.ID == x.ID {
			imported = i
		}
	}
	if imported == nil {
		return
	}
	if known := interp.Members(imported.Module); known != nil && !slices.Contains(known, attribute.Name) {
		r.failAt(attribute, "%s has no %s%s", imported.Module, attribute.Name, hint(attribute.Name, known))
	}
}

// missingMember returns the members of an enumeration if x is Color.NAME and none of them.
func (m *module) missingMember(x syntax.Expr) (names []string) {
	attribute, ok := x.(*syntax.Attribute)
	if !ok {
		return nil
	}
	if of, isName := attribute.X.(*syntax.Name); isName {
		names = m.prepared.MemberNames(of)
	}
	if attribute.Name != strings.ToUpper(attribute.Name) || strings.HasPrefix(attribute.Name, "_") || slices.Contains(names, attribute.Name) {
		return nil
	}
	return names
}

// boundCall checks the arguments of a call of a function of the file, or of the functions that all
// tools have.
func (r *nameChecker) boundCall(call *syntax.Call) {
	signature, ok := r.signatureOf(call.Func)
	if !ok {
		return
	}
	var positional []python.Value
	keyword := &python.Dict{}
	for _, arg := range call.Args {
		switch {
		case arg.Stars > 0:
			return
		case arg.Name == "":
			positional = append(positional, python.None())
		default:
			keyword.Set(arg.Name, python.None())
		}
	}
	if _, err := signature.Bind(positional, keyword); err != nil {
		r.failAt(call, "the call of %s does not fit: %s", signature.Func, strings.TrimPrefix(err.Error(), "TypeError: "))
	}
}

// signatureOf returns the parameters of a called function. ok is false if they are unknown or take
// any arguments.
func (r *nameChecker) signatureOf(called syntax.Expr) (signature python.Signature, ok bool) {
	if method, isMethod := called.(*syntax.Attribute); isMethod && isWorld(method.X) {
		f := tableOfFunctions()[worldName+"."+method.Name]
		if f == nil || f.takesRest {
			return signature, false
		}
		return f.signed, true
	}
	name, isName := called.(*syntax.Name)
	if !isName {
		return signature, false
	}
	if f := tableOfFunctions()[name.ID]; f != nil && name.Binding == syntax.BindingBuiltin {
		return f.signed, !f.takesRest
	}
	def := r.defs[name.ID]
	if def == nil || name.Binding != syntax.BindingGlobal || len(def.Decorators) > 0 {
		return signature, false
	}
	f := def.Function
	if f.Args >= 0 || f.Kwargs >= 0 || f.PositionalOnly > 0 || f.Positional < len(f.Params) {
		return signature, false
	}
	signature.Func = name.ID
	for i := range f.Params {
		signature.Params = append(signature.Params, python.Param{Name: f.Params[i].Name, HasDefault: f.Params[i].Default != nil})
	}
	return signature, true
}
