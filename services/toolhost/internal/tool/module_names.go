package tool

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// names checks the names in a block, and literal names of tables and columns.
func (m *module) names(function string, body []syntax.Stmt) {
	r := &nameChecker{module: m, function: function, inner: make(map[syntax.Expr]bool)}
	source.Walk(body, func(node syntax.Expr, field int) bool {
		r.field = field
		return r.visit(node)
	})
}

// nameChecker checks the names in a function.
type nameChecker struct {
	*module
	function string
	// field is the offset of the current f-string, because its fields have none. It is -1 outside.
	field int
	// inner are the occurrences of world in world.method.
	inner map[syntax.Expr]bool
}

func (r *nameChecker) failAt(at syntax.Expr, format string, args ...any) {
	offset := at.Offset()
	if r.field >= 0 {
		offset = r.field
	}
	r.fail(offset, r.function, format, args...)
}

func (r *nameChecker) visit(node syntax.Expr) bool {
	if r.original(node) {
		return false
	}
	switch node := node.(type) {
	case *syntax.Attribute:
		if isWorld(node.X) {
			r.inner[node.X] = true
			if !slices.Contains(worldMethods(), node.Name) {
				r.failAt(node, "world has no %s%s", node.Name, hint(node.Name, worldMethods()))
			} else if slices.Contains(eventMethods(), node.Name) && !r.schema.HasEvents() {
				r.failAt(node, "world.%s needs the table of events; write events: true in schema.yaml", node.Name)
			}
		}
		r.member(node)
	case *syntax.Call:
		r.tableCall(node)
		r.boundCall(node)
	case *syntax.Def:
		r.hints(node)
	case *syntax.Name:
		r.name(node)
	}
	return true
}

// name reports undefined names, and world except in world.method.
func (r *nameChecker) name(name *syntax.Name) {
	switch {
	case name.Binding != syntax.BindingBuiltin:
	case !library().Has(name.ID):
		r.failAt(name, "name %q is not defined", name.ID)
	case isWorld(name) && !r.inner[name]:
		r.failAt(name, "world is no value to keep or pass on; call world.%s", strings.Join(worldMethods(), ", world."))
	}
}

// isWorld reports whether an expression is the session's world.
func isWorld(x syntax.Expr) bool {
	name, ok := x.(*syntax.Name)
	return ok && name.ID == worldName && name.Binding == syntax.BindingBuiltin
}

// changesWorld reports whether a function can change the world, directly or by calling others in
// the file.
func (m *module) changesWorld(function string, seen map[string]bool) (found bool) {
	def := m.defs[function]
	if def == nil || seen[function] {
		return false
	}
	seen[function] = true
	syntax.Walk(def.Function.Body, func(node syntax.Expr) bool {
		switch node := node.(type) {
		case *syntax.Attribute:
			found = found || isWorld(node.X) && !slices.Contains(readingMethods(), node.Name)
		case *syntax.Name:
			found = found || m.changesWorld(node.ID, seen)
		}
		return !found
	})
	return found
}

// tableCall checks literal table and column names in a call of a world method.
func (r *nameChecker) tableCall(call *syntax.Call) {
	method, ok := call.Func.(*syntax.Attribute)
	if !ok || !isWorld(method.X) || !slices.Contains(tableMethods(), method.Name) {
		return
	}
	if len(call.Args) == 0 || call.Args[0].Name != "" || call.Args[0].Stars > 0 {
		r.failAt(call, "world.%s needs a table first", method.Name)
		return
	}
	name, ok := literalText(call.Args[0].X)
	if !ok {
		return
	}
	table, ok := storedTable(r.schema, name)
	if !ok {
		r.failAt(call.Args[0].X, "there is no table %q%s", name, hint(name, tableNames(r.schema)))
		return
	}
	if table.Name == world.Event && r.schema.HasEvents() && method.Name != rowsMethod && method.Name != valueMethod {
		r.failAt(call.Args[0].X, "%s", eventsOnly)
		return
	}
	for _, arg := range call.Args[1:] {
		if arg.Name != "" {
			if _, _, ok := condition(table, arg.Name, slices.Contains(readingMethods(), method.Name)); !ok {
				r.failAt(arg.X, "table %s has no column %s%s", name, arg.Name, hint(arg.Name, table.ColumnNames()))
			}
		} else if arg.Stars == 0 {
			r.columns(table, arg.X)
		}
	}
}

// columns checks a name, the names in a list, or the keys of a dict.
func (r *nameChecker) columns(table world.Table, x syntax.Expr) {
	var named []syntax.Expr
	switch x := x.(type) {
	case *syntax.Sequence:
		named = x.Items
	case *syntax.Dict:
		named = x.Keys
	case *syntax.Constant:
		named = []syntax.Expr{x}
	}
	for _, x := range named {
		if column, ok := literalText(x); ok && table.Column(column) < 0 {
			r.failAt(x, "table %s has no column %s%s", world.AuthorName(table.Name), column, hint(column, table.ColumnNames()))
		}
	}
}

// literalText returns the value of a text literal.
func literalText(x syntax.Expr) (text string, ok bool) {
	constant, ok := x.(*syntax.Constant)
	if !ok {
		return "", false
	}
	text, ok = constant.Value.(string)
	return text, ok
}

func tableNames(schema *world.Schema) (names []string) {
	for _, table := range schema.StoredTables() {
		if !isHidden(table.Name) {
			names = append(names, world.AuthorName(table.Name))
		}
	}
	return names
}
