package tool

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python/source"
	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
	"github.com/toolsandbox/toolsandbox/internal/world"
)

// names checks what the names in a block mean, and what can be seen of tables and columns.
func (m *module) names(function string, body []syntax.Stmt) {
	r := &reading{module: m, function: function, inner: make(map[syntax.Expr]bool)}
	source.Walk(body, func(node syntax.Expr, field int) bool {
		r.field = field
		return r.visit(node)
	})
}

// reading is the check of a function's names.
type reading struct {
	*module
	function string
	// field is the offset of the f-string that is read: fields have none of their own. It is -1
	// elsewhere.
	field int
	// inner are the worlds of world.method.
	inner map[syntax.Expr]bool
}

func (r *reading) wrong(at syntax.Expr, format string, args ...any) {
	offset := at.Offset()
	if r.field >= 0 {
		offset = r.field
	}
	r.fail(offset, r.function, format, args...)
}

func (r *reading) visit(node syntax.Expr) bool {
	switch node := node.(type) {
	case *syntax.Attribute:
		if isWorld(node.X) {
			r.inner[node.X] = true
			if !slices.Contains(worldMethods(), node.Name) {
				r.wrong(node, "world has no %s%s", node.Name, suggest(node.Name, worldMethods()))
			} else if slices.Contains(eventMethods(), node.Name) && !r.schema.HasEvents() {
				r.wrong(node, "world.%s needs the table of events; write events: true in schema.yaml", node.Name)
			}
		}
	case *syntax.Call:
		r.tableCall(node)
	case *syntax.Name:
		r.name(node)
	}
	return true
}

// name finds names that mean nothing, and worlds but for those of a method.
func (r *reading) name(name *syntax.Name) {
	switch {
	case name.Place != syntax.PlaceBuiltin:
	case !library().Has(name.ID):
		r.wrong(name, "name %q is not defined", name.ID)
	case isWorld(name) && !r.inner[name]:
		r.wrong(name, "world is no value to keep or pass on; call world.%s", strings.Join(worldMethods(), ", world."))
	}
}

// isWorld says whether an expression is the session's world.
func isWorld(x syntax.Expr) bool {
	name, ok := x.(*syntax.Name)
	return ok && name.ID == worldName && name.Place == syntax.PlaceBuiltin
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
func (r *reading) tableCall(call *syntax.Call) {
	method, ok := call.Func.(*syntax.Attribute)
	if !ok || !isWorld(method.X) || !slices.Contains(tableMethods(), method.Name) {
		return
	}
	if len(call.Args) == 0 || call.Args[0].Name != "" || call.Args[0].Stars > 0 {
		r.wrong(call, "world.%s needs a table first", method.Name)
		return
	}
	name, ok := textOf(call.Args[0].X)
	if !ok {
		return
	}
	table, ok := storedTable(r.schema, name)
	if !ok {
		r.wrong(call.Args[0].X, "there is no table %q%s", name, suggest(name, tableNames(r.schema)))
		return
	}
	if table.Name == world.Event && r.schema.HasEvents() && method.Name != rowsMethod {
		r.wrong(call.Args[0].X, "%s", eventsOnly)
		return
	}
	for _, arg := range call.Args[1:] {
		if arg.Name != "" {
			if _, _, known := condition(table, arg.Name, method.Name == rowsMethod); !known {
				r.wrong(arg.X, "table %s has no column %s%s", name, arg.Name, suggest(arg.Name, columnNames(table)))
			}
		} else if arg.Stars == 0 {
			r.columns(table, arg.X)
		}
	}
}

// columns checks the names in a list, or those of a dict's values.
func (r *reading) columns(table world.Table, x syntax.Expr) {
	var named []syntax.Expr
	switch x := x.(type) {
	case *syntax.Sequence:
		named = x.Items
	case *syntax.Dict:
		named = x.Keys
	}
	for _, x := range named {
		if column, ok := textOf(x); ok && table.Column(column) < 0 {
			r.wrong(x, "table %s has no column %s%s", world.AuthorText(table.Name), column, suggest(column, columnNames(table)))
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
		if !hidden(table.Name) {
			names = append(names, world.AuthorText(table.Name))
		}
	}
	return names
}

func columnNames(table world.Table) (names []string) {
	for _, column := range table.Columns {
		names = append(names, column.Name)
	}
	return names
}
