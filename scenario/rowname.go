package scenario

import (
	"slices"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// rowNamePrefix is the prefix of a row's name, which represents its id.
const rowNamePrefix = "$"

// rowNames finds rows by content: a contact by its name, a message or reminder by its content.
type rowNames struct {
	*reader

	// rows are the rows of each table, given the rows being added.
	rows  map[string][]*worldv1.Row
	given map[string][]namedRow
	// found holds the named rows of searched tables, by name.
	found map[string][]namedRow
	// quiet reports that unknown names follow from a mistake in the world, which is reported.
	quiet bool
}

type namedRow struct{ name, id string }

// names returns the rows of a world by name, with the changes that tables describe. tables may be
// nil.
func (r *reader) names(w *startWorld, tables *document.Value) *rowNames {
	n := &rowNames{
		reader: r, rows: map[string][]*worldv1.Row{}, given: map[string][]namedRow{},
		found: map[string][]namedRow{}, quiet: w.broken,
	}
	for _, schema := range r.schema.StoredTables() {
		n.rows[schema.Name] = w.tables[schema.Name].GetRows()
		if tables == nil || tables.Shape != document.ShapeMapping {
			continue
		}
		rows := tables.Get(world.AuthorName(schema.Name))
		if rows != nil && rows.Shape == document.ShapeMapping {
			rows = rows.Get("add")
		} else if rows != nil {
			n.rows[schema.Name] = nil
		}
		if rows == nil {
			continue
		}
		for _, row := range rows.List {
			n.given[schema.Name] = append(n.given[schema.Name], namedRowOf(schema, row))
		}
	}
	return n
}

// resolveNames replaces row names by ids in a scenario, except in its tables.
func (b *builder) resolveNames(v *document.Value, start *startWorld) {
	names := b.names(start, nil)
	names.quiet = names.quiet || v.Get("world") == nil && v.Get("clock") == nil // Validate reports that
	for _, field := range rolloutParts(v) {
		names.resolve(field)
	}
}

// namedRowOf returns name and id of a row in a file.
func namedRowOf(schema world.Table, row *document.Value) namedRow {
	text := func(column string) string {
		if v := row.Get(column); v != nil && v.Shape == document.ShapeText {
			return v.Text
		}
		return ""
	}
	about := text(nameColumn(schema))
	id := text(schema.Columns[0].Name)
	if name, named := strings.CutPrefix(id, rowNamePrefix); named {
		return namedRow{name, contentID(name)}
	}
	if id != "" {
		return namedRow{rowName(about), id}
	}
	return namedRow{rowName(about), contentID(about)}
}

// nameColumn returns the column that names a row: name, content, or the first text after the id.
// It is empty if the table has none.
func nameColumn(schema world.Table) string {
	for _, column := range []string{"name", "content"} {
		if schema.Column(column) >= 0 {
			return column
		}
	}
	for _, column := range schema.Columns[1:] {
		if column.Kind == world.KindText {
			return column.Name
		}
	}
	return ""
}

// rowName returns the row name of a content: its letters and digits in lower case, with underscores
// between words.
func rowName(about string) string {
	words := strings.FieldsFunc(strings.ToLower(about), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "_")
}

// idTable returns the table whose ids a column or argument contains, e.g. contacts for
// sender_person_id.
func (r *reader) idTable(name string) (world.Table, bool) {
	for _, schema := range r.schema.StoredTables() {
		if id := schema.Columns[0].Name; name == id || strings.HasSuffix(name, "_"+id) {
			return schema, true
		}
	}
	return world.Table{}, false
}

// resolve replaces names by ids in all id fields of a value.
func (n *rowNames) resolve(v *document.Value) {
	if v == nil || n.budget.Stopped() {
		return
	}
	for _, item := range v.List {
		n.resolve(item)
	}
	for i := range v.Fields {
		child := v.Fields[i].Value
		schema, holdsID := n.idTable(v.Fields[i].Key)
		if name, named := strings.CutPrefix(child.Text, rowNamePrefix); named && holdsID && child.Shape == document.ShapeText {
			n.resolveName(child, schema, name)
			continue
		}
		n.resolve(child)
	}
}

// resolveName replaces a name by the id of its row: the row with this explicit name, with this
// content, or the only row whose name starts with it.
func (n *rowNames) resolveName(v *document.Value, schema world.Table, name string) {
	rows := n.search(v, schema)
	explicit := contentID(name) // id of a row with this explicit name
	ids := idsOf(rows, func(row namedRow) bool { return row.id == explicit })
	if len(ids) == 0 {
		ids = idsOf(rows, func(row namedRow) bool { return row.name == name })
	}
	if begin := name + "_"; len(ids) == 0 && name != "" {
		ids = idsOf(rows, func(row namedRow) bool { return strings.HasPrefix(row.name, begin) })
	}
	table := world.AuthorName(schema.Name)
	switch {
	case n.budget.Stopped():
	case len(ids) == 0 && n.quiet:
	case len(ids) == 1:
		v.Text = ids[0]
		return
	case len(ids) > 1:
		n.Fail(v, "%d rows of %s are called so; write more of the name, or give one a name of its own, %s: $…", len(ids), table, schema.Columns[0].Name)
	default:
		names := make([]string, len(rows))
		for i, row := range rows {
			names[i] = row.name
		}
		slices.Sort(names)
		names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
		n.Fail(v, "no row of %s is called %q%s", table, name, spelling.Hint(name, names))
	}
	v.Shape = document.ShapeBroken
}

func idsOf(rows []namedRow, matches func(namedRow) bool) []string {
	var ids []string
	for _, row := range rows {
		if matches(row) && !slices.Contains(ids, row.id) {
			ids = append(ids, row.id)
		}
	}
	return ids
}

// search returns the rows of a table with their names. at is the searching value.
func (n *rowNames) search(at *document.Value, schema world.Table) []namedRow {
	found, searched := n.found[schema.Name]
	if !n.budget.visit(n.Reader, at, len(n.rows[schema.Name])+len(n.given[schema.Name])) || searched {
		return found
	}
	about := schema.Column(nameColumn(schema))
	for _, row := range n.rows[schema.Name] {
		if about >= 0 {
			found = append(found, namedRow{rowName(row.GetCells()[about].GetText()), row.GetCells()[0].GetText()})
		}
	}
	found = append(found, n.given[schema.Name]...)
	n.found[schema.Name] = found
	return found
}
