package scenario

import (
	"cmp"
	"slices"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// tableEdit applies the description of a table to the rows of its base, which do not change.
type tableEdit struct {
	*reader

	schema world.Table
	world  *startWorld
	zone   *time.Location
	// rows are the current rows, nil for removed ones.
	rows []*worldv1.Row
	// created are rows that the edit created and may change.
	created map[*worldv1.Row]bool
	// added are the new rows, written their sources in the file.
	added   []*worldv1.Row
	written []*document.Value
	// sources are the ids that the edit wrote or drew.
	sources map[*worldv1.Row]idSource
	// index holds row positions by cell content, for columns that have been searched.
	index map[int]map[cellKey][]int
}

// cellKey is a map key of a cell. Equal cells have equal keys.
type cellKey struct {
	kind   byte
	text   string
	number float64
}

func keyOf(cell *worldv1.Value) cellKey {
	switch kind := cell.GetKind().(type) {
	case *worldv1.Value_Boolean:
		if kind.Boolean {
			return cellKey{kind: 'b', number: 1}
		}
		return cellKey{kind: 'b'}
	case *worldv1.Value_Number:
		return cellKey{kind: 'n', number: kind.Number}
	case *worldv1.Value_Text:
		return cellKey{kind: 't', text: kind.Text}
	default:
		return cellKey{}
	}
}

// copyRow returns a copy of a row. Its cells may be replaced.
func copyRow(row *worldv1.Row) *worldv1.Row { return &worldv1.Row{Cells: slices.Clone(row.GetCells())} }

// apply returns the rows after the edit.
func (e *tableEdit) apply(v *document.Value) []*worldv1.Row {
	if !e.CheckShape(v, document.ShapeList, document.ShapeMapping) {
		return e.rows
	}
	e.created, e.sources = map[*worldv1.Row]bool{}, map[*worldv1.Row]idSource{}
	if v.Shape == document.ShapeList {
		e.rows = nil
		e.add(v)
		return e.rows
	}
	e.rows = slices.Clone(e.rows)
	e.object(v, form.Edit(world.AuthorName(e.schema.Name)))
	for _, where := range e.Items(v.Get("remove")) {
		for _, at := range e.find(where) {
			e.rows[at] = nil
		}
	}
	for _, change := range e.Items(v.Get("change")) {
		if e.object(change, form.Change(world.AuthorName(e.schema.Name))) == nil {
			continue
		}
		for _, at := range e.find(change.Get("where")) {
			e.set(at, change.Get("set"))
		}
	}
	e.rows = slices.DeleteFunc(e.rows, func(row *worldv1.Row) bool { return row == nil })
	e.index = nil // positions have changed, and no search follows
	if set := v.Get("set"); set != nil {
		for at := range e.rows {
			e.set(at, set)
		}
	}
	e.add(v.Get("add"))
	return e.rows
}

// set replaces cells of the row at a position.
func (e *tableEdit) set(at int, v *document.Value) {
	if !e.CheckShape(v, document.ShapeMapping) {
		return
	}
	row := e.rows[at]
	if !e.created[row] {
		copied := copyRow(row)
		e.world.copyRecords(row, copied)
		e.rows[at], row, e.created[copied] = copied, copied, true
	}
	for i := range v.Fields {
		column := e.column(v.Fields[i])
		if column < 0 {
			continue
		}
		cell := e.cell(v.Fields[i].Value, e.schema.Columns[column].Kind, e.zone)
		if reason := (Options{}).badPhone(e.schema.Columns[column].Name, cell); reason != "" {
			e.Fail(v.Fields[i].Value, "%s", reason)
		}
		e.moveIndex(column, at, row.GetCells()[column], cell)
		row.Cells[column] = cell
		if column == 0 {
			e.setSource(row, idSource{at: v.Fields[i].Value})
		}
		e.world.relative.add(row, column, e.times[v.Fields[i].Value])
	}
}

// moveIndex updates the index of a column when a cell changes.
func (e *tableEdit) moveIndex(column, at int, before, after *worldv1.Value) {
	positions := e.index[column]
	if positions == nil || keyOf(before) == keyOf(after) {
		return
	}
	old, next := keyOf(before), keyOf(after)
	if i, found := slices.BinarySearch(positions[old], at); found {
		positions[old] = slices.Delete(positions[old], i, i+1)
	}
	if i, found := slices.BinarySearch(positions[next], at); !found {
		positions[next] = slices.Insert(positions[next], i, at)
	}
}

// column returns the position of the column that a field names, otherwise -1.
func (e *tableEdit) column(f document.Field) int {
	at := e.schema.Column(f.Key)
	if at < 0 && !e.Full() {
		e.Fail(f.Position, "%s has no column %q%s", world.AuthorName(e.schema.Name), f.Key, spelling.Hint(f.Key, e.schema.ColumnNames()))
	}
	return at
}

// find returns the positions of rows with the given cells. No row is a mistake.
func (e *tableEdit) find(where *document.Value) []int {
	if !e.CheckShape(where, document.ShapeMapping) {
		return nil
	}
	if len(where.Fields) == 0 {
		e.Fail(where, "is empty, expected cells of the rows that are meant; set changes all rows, and a list in place of this mapping replaces them")
		return nil
	}
	wanted := map[int]cellKey{}
	for i := range where.Fields {
		at := e.column(where.Fields[i])
		if at < 0 || where.Fields[i].Value.Shape == document.ShapeBroken {
			return nil
		}
		wanted[at] = keyOf(e.cell(where.Fields[i].Value, e.schema.Columns[at].Kind, e.zone))
	}
	candidates := e.candidates(wanted)
	if !e.budget.visit(e.Reader, where, len(candidates)) {
		return nil
	}
	var found []int
	for _, at := range candidates {
		matches := e.rows[at] != nil
		for column, key := range wanted {
			matches = matches && keyOf(e.rows[at].GetCells()[column]) == key
		}
		if matches {
			found = append(found, at)
		}
	}
	if len(found) == 0 && !e.world.broken {
		e.Fail(where, "no row of %s is like this", world.AuthorName(e.schema.Name))
	}
	return found
}

// candidates returns sorted positions that include all wanted rows. It uses the wanted cell with
// the fewest rows.
func (e *tableEdit) candidates(wanted map[int]cellKey) []int {
	var fewest []int
	first := true
	for column, key := range wanted {
		if e.index[column] == nil {
			e.indexColumn(column)
		}
		if positions := e.index[column][key]; first || len(positions) < len(fewest) {
			fewest, first = positions, false
		}
	}
	if first {
		for at := range e.rows {
			fewest = append(fewest, at)
		}
	}
	return slices.Clone(fewest)
}

func (e *tableEdit) indexColumn(column int) {
	if e.index == nil {
		e.index = map[int]map[cellKey][]int{}
	}
	positions := map[cellKey][]int{}
	for at, row := range e.rows {
		if row != nil {
			key := keyOf(row.GetCells()[column])
			positions[key] = append(positions[key], at)
		}
	}
	e.index[column] = positions
}

// add appends rows. The first column is the row's id; by default it depends on the row's content.
func (e *tableEdit) add(v *document.Value) {
	for _, item := range e.Items(v) {
		row := e.schema.NewRow(nil)
		e.rows, e.created[row] = append(e.rows, row), true
		e.added, e.written = append(e.added, row), append(e.written, item)
		e.set(len(e.rows)-1, item)
		if item.Get(e.schema.Columns[0].Name) == nil {
			row.Cells[0] = world.Text(rowID(e.schema, row))
			e.setSource(row, idSource{at: cmp.Or(item.Get(nameColumn(e.schema)), item), drawn: true})
		}
	}
}
