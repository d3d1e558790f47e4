package session

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/python"
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

func (c Where) equal(other Where) bool {
	return c.Column == other.Column && sameValue(c.Value, other.Value)
}

// Change is a new value of a column.
type Change struct {
	Column int
	Value  python.Value
}

// Find returns the given columns of the selected rows.
func (w *World) Find(name string, where Where, columns ...int) []Row {
	var set columnSet
	for _, column := range columns {
		set |= columnBit(column)
	}
	w.recordRowsRead(name, where, set)
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

// Count returns the number of selected rows.
func (w *World) Count(name string, where Where) int { return len(w.Find(name, where)) }

// Append adds a row to a table. It takes ownership of the row.
func (w *World) Append(name string, row Row) {
	w.recordWrite(Write{kind: writeAppend, table: name, where: All(), row: row})
	w.write(name, append(slices.Clip(w.table(name).rows), row))
}

// Update changes the selected rows and moves them behind the others.
func (w *World) Update(name string, where Where, changes ...Change) {
	var columns columnSet
	for _, change := range changes {
		columns |= columnBit(change.Column)
	}
	if w.effects != nil {
		w.recordWrite(Write{kind: writeUpdate, table: name, where: where, columns: columns, selection: w.newRead(name, where, 0)})
	}
	old := w.table(name).rows
	unchanged, changed := make([]Row, 0, len(old)), []Row(nil)
	for _, row := range old {
		if !where.selects(row) {
			unchanged = append(unchanged, row)
			continue
		}
		row = slices.Clone(row)
		for _, change := range changes {
			row[change.Column] = change.Value
		}
		changed = append(changed, row)
	}
	w.write(name, append(unchanged, changed...))
}

// Remove removes the selected rows and returns their number. As in the original, two removals are
// special. One that selects nothing stores an identical version of a table that ever had a row. One
// that removes the last rows of a table that was empty before restores the rows from before the
// execution.
func (w *World) Remove(name string, where Where) int {
	w.recordRowsRead(name, where, 0)
	if w.effects != nil {
		w.effects.Reads = append(w.effects.Reads, Read{resource: ResourceVersions, table: name, where: All()})
	}
	w.recordWrite(Write{kind: writeRemove, table: name, where: where})
	old := w.table(name).rows
	remaining := make([]Row, 0, len(old))
	for _, row := range old {
		if !where.selects(row) {
			remaining = append(remaining, row)
		}
	}
	switch len(remaining) {
	case len(old):
		w.repeatVersion(name)
	case 0:
		w.clearTable(name)
	default:
		w.write(name, remaining)
	}
	return len(old) - len(remaining)
}

// clearTable removes a table's last rows. Only the first version without rows is stored. In a table
// that was empty before, the execution loses its writes and the earlier rows are restored.
func (w *World) clearTable(name string) {
	if !w.table(name).hadNoRows {
		w.write(name, nil)
		w.table(name).hadNoRows = true
		return
	}
	if t := w.mutable(name); t.written {
		t.rows, t.before, t.written = t.before, nil, false
	}
}

// repeatVersion stores an identical version of the table if it ever had a row.
func (w *World) repeatVersion(name string) {
	if t := w.table(name); t.hadRows {
		w.write(name, t.rows)
	}
}
