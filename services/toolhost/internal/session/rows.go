package session

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// Where selects the rows whose cell in a column is equal to a value.
type Where struct {
	Column int
	Value  python.Value
}

// All returns the condition that selects every row.
func All() Where { return Where{Column: -1} }

func (c Where) all() bool { return c.Column < 0 }

func (c Where) selects(row Row) bool { return c.all() || row[c.Column].Equal(c.Value) }

func (c Where) same(other Where) bool {
	return c.Column == other.Column && sameValue(c.Value, other.Value)
}

// Change is a new value of a column.
type Change struct {
	Column int
	Value  python.Value
	// KeepNull leaves a cell that is None as it is.
	KeepNull bool
}

// Copy fills a cell of an added row: with the Cell of the first row of a table that Where selects,
// with None if there is none. The call that adds the row does not learn it.
type Copy struct {
	To    int
	Table string
	Where Where
	Cell  int
}

// Find returns some columns of the rows that a condition selects.
func (w *World) Find(name string, where Where, columns ...int) []Row {
	var set columnSet
	for _, column := range columns {
		set |= columnBit(column)
	}
	w.readRows(name, where, set)
	var found []Row
	for _, row := range w.table(name).rows {
		if !where.selects(row) {
			continue
		}
		cells := make(Row, len(columns))
		for i, column := range columns {
			cells[i] = row[column]
		}
		found = append(found, cells)
	}
	return found
}

// Count returns how many rows a condition selects.
func (w *World) Count(name string, where Where) int { return len(w.Find(name, where)) }

// Append adds a row to a table. It takes ownership of the row.
func (w *World) Append(name string, row Row, copies ...Copy) {
	var copied columnSet
	for _, c := range copies {
		copied |= columnBit(c.To)
		row[c.To] = python.None()
		rows := w.table(c.Table).rows
		if at := slices.IndexFunc(rows, c.Where.selects); at >= 0 {
			row[c.To] = rows[at][c.Cell]
		}
		if w.record != nil {
			w.record.Shapes = append(w.record.Shapes, w.question(c.Table, c.Where, columnBit(c.Cell)))
		}
	}
	w.wrote(Write{kind: writeAppend, table: name, where: All(), row: row, columns: copied})
	w.write(name, append(slices.Clip(w.table(name).rows), row))
}

// Update changes the rows that a condition selects and puts them behind the others.
func (w *World) Update(name string, where Where, changes ...Change) {
	var columns columnSet
	for _, change := range changes {
		columns |= columnBit(change.Column)
	}
	if w.record != nil {
		w.wrote(Write{kind: writeUpdate, table: name, where: where, columns: columns, picks: w.question(name, where, 0)})
	}
	old := w.table(name).rows
	kept, changed := make([]Row, 0, len(old)), []Row(nil)
	for _, row := range old {
		if !where.selects(row) {
			kept = append(kept, row)
			continue
		}
		row = slices.Clone(row)
		for _, change := range changes {
			if !change.KeepNull || !row[change.Column].IsNone() {
				row[change.Column] = change.Value
			}
		}
		changed = append(changed, row)
	}
	w.write(name, append(kept, changed...))
}

// Remove takes the rows away that a condition selects and returns how many there were. As in the
// original, two removals are special. One that finds nothing stores an identical version of a table
// that ever had a row. One that takes the last rows of a table that had no row before brings the
// rows back that it had before the execution.
func (w *World) Remove(name string, where Where) int {
	w.readRows(name, where, 0)
	if w.record != nil {
		w.record.Reads = append(w.record.Reads, Read{of: PartVersions, table: name, where: All()})
	}
	w.wrote(Write{kind: writeRemove, table: name, where: where})
	old := w.table(name).rows
	kept := make([]Row, 0, len(old))
	for _, row := range old {
		if !where.selects(row) {
			kept = append(kept, row)
		}
	}
	switch len(kept) {
	case len(old):
		w.touch(name)
	case 0:
		w.clear(name)
	default:
		w.write(name, kept)
	}
	return len(old) - len(kept)
}

// clear removes a table's last rows. Only the first version without rows is stored: in a table that
// had one before, the execution loses what it wrote and the rows from before it are back.
func (w *World) clear(name string) {
	if !w.table(name).blank {
		w.write(name, nil)
		w.table(name).blank = true
		return
	}
	if t := w.change(name); t.written {
		t.rows, t.before, t.written = t.before, nil, false
	}
}

// touch stores an identical version of the table if it ever had a row.
func (w *World) touch(name string) {
	if t := w.table(name); t.ever {
		w.write(name, t.rows)
	}
}
