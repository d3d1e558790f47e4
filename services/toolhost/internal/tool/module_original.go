package tool

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// This file tells the author of a tool for the original, line by line, what to change in it.

// refusal is what to do about an import of a module that tools do not have.
func refusal(module string) string {
	first, _, _ := strings.Cut(module, ".")
	if remedy := replacements()[first]; remedy != "" {
		return "remove this import of " + module + ": " + remedy
	}
	return module + " cannot be imported: tools may import " + source.Importable + "; the world is there as world"
}

// replacements says what tools have in place of modules.
func replacements() map[string]string {
	return map[string]string{
		"tool_sandbox":      "decorators, NOT_GIVEN and the exceptions need none, and the world is there as world",
		"polars":            "world.rows asks the tables, and NoDataError needs no import",
		"typeguard":         "arguments are checked against their hints",
		"typing_extensions": "import the name from typing",
		"uuid":              "ids come from world.new_id()",
		"random":            "a number from 0 to below 1 comes from world.random()",
		"time":              "the time comes from world.now()",
	}
}

// These are functions and decorators of the original.
const (
	registerDecorator = "register_as_tool"
	checkedDecorator  = "typechecked"
	contextFunction   = "get_current_context"
)

// originalDecorator reports what to write instead of a decorator of the original. ok is false for
// others.
func (m *module) originalDecorator(def *syntax.Def, x syntax.Expr) (ok bool) {
	name := calledName(x)
	switch {
	case m.defs[name] != nil:
		return false
	case name == checkedDecorator:
		m.fail(x.Offset(), def.Name.ID, "remove this decorator: arguments are checked against their hints")
	case name == registerDecorator:
		m.fail(x.Offset(), def.Name.ID, "%s", registered(x))
	default:
		return false
	}
	m.replaced[x] = true
	return true
}

// calledName returns the last name of an expression, or of the function that it calls.
func calledName(x syntax.Expr) string {
	if call, ok := x.(*syntax.Call); ok {
		x = call.Func
	}
	switch x := x.(type) {
	case *syntax.Name:
		return x.ID
	case *syntax.Attribute:
		return x.Name
	default:
		return ""
	}
}

// registered returns the decorators to write instead of register_as_tool.
func registered(x syntax.Expr) string {
	var roles, instead []string
	for _, name := range namesIn(argument(x, "visible_to", 0)) {
		if role := strings.ToLower(name); role == toAgent || role == toUser {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	switch {
	case slices.Equal(roles, []string{toUser}):
		instead = append(instead, "@user")
	case slices.Contains(roles, toUser):
		instead = append(instead, `@visible_to("agent", "user")`)
	}
	if backend := calledName(argument(x, "backend", 1)); backend != "" && backend != defaultBackend {
		instead = append(instead, `@backend("`+backend+`")`)
	}
	if len(instead) == 0 {
		return "remove this decorator: a tool is the agent's"
	}
	return "write " + strings.Join(instead, " and ") + " instead of this decorator"
}

// argument returns an argument of a call by name or position, nil if it is missing.
func argument(x syntax.Expr, name string, position int) syntax.Expr {
	call, ok := x.(*syntax.Call)
	if !ok {
		return nil
	}
	for i := range call.Args {
		if call.Args[i].Name == name || call.Args[i].Name == "" && call.Args[i].Stars == 0 && i == position {
			return call.Args[i].X
		}
	}
	return nil
}

// namesIn returns the last names in an expression, as AGENT of RoleType.AGENT.
func namesIn(x syntax.Expr) (names []string) {
	syntax.WalkExpr(x, func(node syntax.Expr) bool {
		if attribute, ok := node.(*syntax.Attribute); ok {
			names = append(names, attribute.Name)
			return false
		}
		return true
	})
	return names
}

// foreignNames returns the names that imports of other modules bind, with their modules.
func foreignNames(program *syntax.Module) map[string]string {
	foreign := make(map[string]string)
	syntax.Walk(program.Body, func(node syntax.Expr) bool {
		switch s := node.(type) {
		case *syntax.Import:
			foreign[s.Name.ID] = s.Module
		case *syntax.ImportFrom:
			if s.Name != nil {
				foreign[s.Name.ID] = s.Module
			}
		}
		return true
	})
	for name, module := range foreign {
		if first, _, _ := strings.Cut(module, "."); replacements()[first] == "" || library().Has(name) || isTypingName(name) {
			delete(foreign, name)
		}
	}
	return foreign
}

// original reports what to write instead of a use of the original's context, of polars and of other
// modules that tools do not have. It returns false for what contains no such use.
func (r *nameChecker) original(node syntax.Expr) bool {
	if r.replaced[node] {
		return true
	}
	instead := ""
	switch node := node.(type) {
	case *syntax.Assign:
		instead = r.contextAssigned(node.X, node.Targets...)
	case *syntax.AnnAssign:
		instead = r.contextAssigned(node.X, node.Target)
	case *syntax.ExprStmt:
		if call, ok := node.X.(*syntax.Call); ok && calledName(call) == "validate_type" && r.foreign["validate_type"] != "" {
			instead = "remove this line: arguments are checked against their hints"
		}
	case *syntax.Call, *syntax.Attribute, *syntax.Subscript:
		instead = r.insteadOf(node)
	case *syntax.Name:
		if module := r.foreign[node.ID]; module != "" {
			instead = node.ID + " of " + module + " is not here; write it without"
		}
	}
	if instead != "" {
		r.failAt(node, "%s", instead)
	}
	return instead != ""
}

// contextAssigned notes the variables that hold the original's context, and returns what to do
// about their assignment. It is empty for others.
func (r *nameChecker) contextAssigned(x syntax.Expr, targets ...syntax.Expr) string {
	if calledName(x) != contextFunction || r.defs[contextFunction] != nil {
		return ""
	}
	for _, target := range targets {
		if name, ok := target.(*syntax.Name); ok {
			r.contexts[name.ID] = true
		}
	}
	return "remove this line: the world is there as world"
}

// insteadOf returns what to write instead of an expression of the original, empty for others.
func (r *nameChecker) insteadOf(x syntax.Expr) string {
	called := calledName(x)
	inner := argument(x, "", 0)
	switch {
	case called == "str" && inner != nil && r.isUUID(inner), r.isUUID(x):
		return "write world.new_id() instead of " + r.text(x)
	case r.of(x, "time", "time"):
		return "write world.now() instead of " + r.text(x)
	case r.of(x, "random", "random"):
		return "write world.random() instead of " + r.text(x)
	}
	root, steps := r.contextCall(x)
	if root == nil {
		return ""
	}
	table := "table"
	if names := namesIn(argument(root, "namespace", 0)); len(names) == 1 {
		table = strings.ToLower(names[0])
	}
	return r.worldCall(calledName(root), `"`+table+`"`, root, steps)
}

func (r *nameChecker) isUUID(x syntax.Expr) bool { return r.of(x, "uuid", "uuid4") }

// of reports whether an expression calls a function of a foreign module.
func (r *nameChecker) of(x syntax.Expr, module, function string) bool {
	call, ok := x.(*syntax.Call)
	if !ok || calledName(call) != function {
		return false
	}
	switch f := call.Func.(type) {
	case *syntax.Name:
		return r.foreign[f.ID] == module
	case *syntax.Attribute:
		name, ok := f.X.(*syntax.Name)
		return ok && r.foreign[name.ID] == module
	default:
		return false
	}
}

// contextCall returns the call of a method of the original's context that an expression begins
// with, and the calls of methods and the subscripts behind it. root is nil for other expressions.
func (r *nameChecker) contextCall(x syntax.Expr) (root *syntax.Call, steps []syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Call:
		method, ok := x.Func.(*syntax.Attribute)
		if !ok {
			return nil, nil
		}
		name, isName := method.X.(*syntax.Name)
		if isName && r.contexts[name.ID] || calledName(method.X) == contextFunction && r.defs[contextFunction] == nil && !isName {
			return x, nil
		}
		root, steps = r.contextCall(method.X)
		return root, append(steps, x)
	case *syntax.Attribute:
		root, steps = r.contextCall(x.X)
		return root, append(steps, x)
	case *syntax.Subscript:
		root, steps = r.contextCall(x.X)
		return root, append(steps, x)
	default:
		return nil, nil
	}
}

// worldCall returns the call of the world that does the same as a call of a method of the context.
func (r *nameChecker) worldCall(method, table string, root *syntax.Call, steps []syntax.Expr) string {
	switch method {
	case "get_database":
		conditions := ""
		for _, step := range steps {
			more, ok := r.conditions(argument(step, "", 0))
			switch called := calledName(step); {
			case called == "filter" && ok:
				conditions += more
			case called != "to_dicts" && called != "drop" && called != "clone":
				return "write world.rows(" + table + conditions + ") instead, a list of rows that are dicts, and do the rest of this expression with them"
			}
		}
		return "write world.rows(" + table + conditions + ") instead"
	case "add_to_database":
		rows, _ := argument(root, "rows", 1).(*syntax.Sequence)
		if rows == nil || len(rows.Items) != 1 {
			return "write world.add(" + table + ", row) for each row instead"
		}
		return "write world.add(" + table + ", " + r.text(rows.Items[0]) + ") instead"
	case "remove_from_database":
		if conditions, ok := r.conditions(argument(root, "predicate", 1)); ok {
			return "write world.remove(" + table + conditions + ") instead"
		}
		return "write world.remove(" + table + ", column=value) instead"
	case "update_database":
		return "write world.update(" + table + ", {column: new value}, id_column=id) instead"
	default:
		return "the original's context is not here; call world." + strings.Join(worldMethods(), ", world.")
	}
}

// conditions returns the named arguments that mean the same as a condition of polars: comparisons
// of pl.col("name") with ==, joined by &.
func (r *nameChecker) conditions(x syntax.Expr) (text string, ok bool) {
	switch x := x.(type) {
	case *syntax.Binary:
		left, leftOK := r.conditions(x.X)
		right, rightOK := r.conditions(x.Y)
		return left + right, x.Op == "&" && leftOK && rightOK
	case *syntax.Compare:
		column, isColumn := literalText(argument(x.X, "", 0))
		if calledName(x.X) != "col" || !isColumn || !slices.Equal(x.Ops, []string{"=="}) {
			return "", false
		}
		return ", " + column + "=" + r.text(x.Rights[0]), true
	default:
		return "", false
	}
}
