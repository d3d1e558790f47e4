package scenario

import (
	"slices"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// rowMark begins the name of a row, which stands for its id.
const rowMark = "$"

// rowNames finds rows by what they are about: a contact by its name, a message or a reminder by its
// content.
type rowNames struct {
	*reader
	*usage

	// rows are those of each table, given those that are just being added to it.
	rows  map[string][]*worldv1.Row
	given map[string][]namedRow
	// found holds the named rows of the tables that have been searched, by name.
	found map[string][]namedRow
}

type namedRow struct{ name, id string }

// names returns the rows of a world by their names, with those that tables add to it or put in
// their place; tables may be nil.
func (r *reader) names(u *usage, w *startWorld, tables *value) *rowNames {
	n := &rowNames{
		reader: r, usage: u, rows: map[string][]*worldv1.Row{}, given: map[string][]namedRow{},
		found: map[string][]namedRow{},
	}
	for _, schema := range r.world().Stored() {
		n.rows[schema.Name] = w.tables[schema.Name].GetRows()
		if tables == nil || tables.shape != shapeMapping {
			continue
		}
		rows := tables.get(world.AuthorText(schema.Name))
		if rows != nil && rows.shape == shapeMapping {
			rows = rows.get("add")
		} else if rows != nil {
			n.rows[schema.Name] = nil
		}
		if rows == nil {
			continue
		}
		for _, row := range rows.list {
			n.given[schema.Name] = append(n.given[schema.Name], givenRow(schema, row))
		}
	}
	return n
}

// resolveNames puts ids in the place of names in a scenario, outside its tables.
func (b *builder) resolveNames(v *value, start *startWorld) {
	names := b.names(b.usage, start, nil)
	for _, part := range played(v) {
		names.resolve(part)
	}
}

// givenRow returns the name and the id of a row that is written in a file.
func givenRow(schema world.Table, row *value) namedRow {
	text := func(column string) string {
		if v := row.get(column); v != nil && v.shape == shapeText {
			return v.text
		}
		return ""
	}
	about := text(aboutColumn(schema))
	id := text(schema.Columns[0].Name)
	if name, named := strings.CutPrefix(id, rowMark); named {
		return namedRow{name, contentID(name)}
	}
	if id != "" {
		return namedRow{rowName(about), id}
	}
	return namedRow{rowName(about), contentID(about)}
}

// aboutColumn returns the column that says what a row is about: its name, its content or else its
// first text behind the id. It is empty for a table without one.
func aboutColumn(schema world.Table) string {
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

// rowName returns the name of a row that is about a text: its letters and digits in lower case,
// with an underscore in place of all that stands between them.
func rowName(about string) string {
	words := strings.FieldsFunc(strings.ToLower(about), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "_")
}

// idTable returns the schema of the table whose ids a column or an argument holds, e.g. that of
// contacts for sender_person_id.
func (r *reader) idTable(name string) (world.Table, bool) {
	for _, schema := range r.world().Stored() {
		if id := schema.Columns[0].Name; name == id || strings.HasSuffix(name, "_"+id) {
			return schema, true
		}
	}
	return world.Table{}, false
}

// resolve puts ids in the place of names, in all fields of a value that hold ids.
func (n *rowNames) resolve(v *value) {
	if v == nil || n.stopped {
		return
	}
	for _, item := range v.list {
		n.resolve(item)
	}
	for i := range v.fields {
		held := v.fields[i].value
		schema, holdsID := n.idTable(v.fields[i].key)
		if name, named := strings.CutPrefix(held.text, rowMark); named && holdsID && held.shape == shapeText {
			n.resolveName(held, schema, name)
			continue
		}
		n.resolve(held)
	}
}

// resolveName turns a name into the id of the row that it means: the one that is given this name,
// the one about this, or the only one whose name begins with it.
func (n *rowNames) resolveName(v *value, schema world.Table, name string) {
	rows := n.search(v, schema)
	own := contentID(name) // of a row that is given this name in place of an id
	ids := idsOf(rows, func(row namedRow) bool { return row.id == own })
	if len(ids) == 0 {
		ids = idsOf(rows, func(row namedRow) bool { return row.name == name })
	}
	if begin := name + "_"; len(ids) == 0 && name != "" {
		ids = idsOf(rows, func(row namedRow) bool { return strings.HasPrefix(row.name, begin) })
	}
	table := world.AuthorText(schema.Name)
	switch {
	case n.stopped:
	case len(ids) == 1:
		v.text = ids[0]
		return
	case len(ids) > 1:
		n.fail(v, "%d rows of %s are called so; write more of the name, or give one a name of its own, %s: $…", len(ids), table, schema.Columns[0].Name)
	default:
		names := make([]string, len(rows))
		for i, row := range rows {
			names[i] = row.name
		}
		n.fail(v, "no row of %s is called %q%s", table, name, hint(name, sorted(names)))
	}
	v.shape = shapeBroken
}

func idsOf(rows []namedRow, fits func(namedRow) bool) []string {
	var ids []string
	for _, row := range rows {
		if fits(row) && !slices.Contains(ids, row.id) {
			ids = append(ids, row.id)
		}
	}
	return ids
}

// search returns the rows of a table with their names. at is where one is looked for.
func (n *rowNames) search(at *value, schema world.Table) []namedRow {
	found, searched := n.found[schema.Name]
	if !n.look(n.reader, at, len(n.rows[schema.Name])+len(n.given[schema.Name])) || searched {
		return found
	}
	about := schema.Column(aboutColumn(schema))
	for _, row := range n.rows[schema.Name] {
		if about >= 0 {
			found = append(found, namedRow{rowName(row.GetCells()[about].GetText()), row.GetCells()[0].GetText()})
		}
	}
	found = append(found, n.given[schema.Name]...)
	n.found[schema.Name] = found
	return found
}
