package tool

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
	"github.com/toolsandbox/toolsandbox/internal/world"
)

// names checks what the names in a block mean, and what can be seen of tables and columns.
func (m *module) names(function string, body []syntax.Stmt) {
	inner := make(map[syntax.Expr]bool) // the worlds of world.method
	syntax.Walk(body, func(node syntax.Expr) bool {
		switch node := node.(type) {
		case *syntax.Attribute:
			if isWorld(node.X) {
				inner[node.X] = true
				if !slices.Contains(worldMethods(), node.Name) {
					m.fail(node.Offset(), function, "world has no %s%s", node.Name, suggest(node.Name, worldMethods()))
				}
			}
		case *syntax.Call:
			m.tableCall(function, node)
		}
		return m.checkName(function, inner)(node)
	})
}

// isWorld says whether an expression is the session's world.
func isWorld(x syntax.Expr) bool {
	name, ok := x.(*syntax.Name)
	return ok && name.ID == worldName && name.Place == syntax.PlaceBuiltin
}

// checkName returns a visitor that finds names which mean nothing, and worlds but for the inner
// ones.
func (m *module) checkName(function string, inner map[syntax.Expr]bool) func(syntax.Expr) bool {
	return func(node syntax.Expr) bool {
		name, ok := node.(*syntax.Name)
		switch {
		case !ok || name.Place != syntax.PlaceBuiltin:
		case !library().Has(name.ID):
			m.fail(name.Offset(), function, "name %q is not defined", name.ID)
		case isWorld(name) && !inner[name]:
			m.fail(name.Offset(), function, "world is no value to keep or pass on; call world.%s", strings.Join(worldMethods(), ", world."))
		}
		return true
	}
}

// changes says whether a function can change the world, itself or through others of the file.
func (m *module) changes(function string, seen map[string]bool) (found bool) {
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
			found = found || m.changes(node.ID, seen)
		}
		return !found
	})
	return found
}

// tableCall checks the table and the columns that a call of the world's methods writes out.
func (m *module) tableCall(function string, call *syntax.Call) {
	method, ok := call.Func.(*syntax.Attribute)
	if !ok || !isWorld(method.X) || !slices.Contains(tableMethods(), method.Name) {
		return
	}
	if len(call.Args) == 0 || call.Args[0].Name != "" || call.Args[0].Stars > 0 {
		m.fail(call.Offset(), function, "world.%s needs a table first", method.Name)
		return
	}
	name, ok := textOf(call.Args[0].X)
	if !ok {
		return
	}
	table, ok := storedTable(m.schema, name)
	if !ok {
		m.fail(call.Args[0].X.Offset(), function, "there is no table %q%s", name, suggest(name, tableNames(m.schema)))
		return
	}
	for _, arg := range call.Args[1:] {
		if arg.Name != "" {
			if _, _, known := condition(table, arg.Name, method.Name == rowsMethod); !known {
				m.fail(arg.X.Offset(), function, "table %s has no column %s%s", name, arg.Name, suggest(arg.Name, columnNames(table)))
			}
			continue
		}
		m.columns(function, table, arg.X)
	}
}

// columns checks the names in a list, or those of a dict's values.
func (m *module) columns(function string, table world.Table, x syntax.Expr) {
	var named []syntax.Expr
	switch x := x.(type) {
	case *syntax.Sequence:
		named = x.Items
	case *syntax.Dict:
		named = x.Keys
	}
	for _, x := range named {
		if column, ok := textOf(x); ok && table.Column(column) < 0 {
			m.fail(x.Offset(), function, "table %s has no column %s%s", world.AuthorText(table.Name), column, suggest(column, columnNames(table)))
		}
	}
}

// textOf returns the text that an expression writes out.
func textOf(x syntax.Expr) (text string, ok bool) {
	constant, ok := x.(*syntax.Constant)
	if !ok {
		return "", false
	}
	text, ok = constant.Value.(string)
	return text, ok
}

func tableNames(schema *world.Schema) (names []string) {
	for _, table := range schema.Stored() {
		names = append(names, world.AuthorText(table.Name))
	}
	return names
}

func columnNames(table world.Table) (names []string) {
	for _, column := range table.Columns {
		names = append(names, column.Name)
	}
	return names
}
