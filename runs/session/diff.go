package session

import (
	"math"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// idSuffix ends the name of a first column with row ids.
const idSuffix = "_id"

// Cell is a changed cell.
type Cell struct {
	Column   string
	From, To *worldv1.Value
}

// RowChange is a row with changed cells.
type RowChange struct {
	// Key is the row's id, the text of its first column.
	Key   string
	Cells []Cell
}

// Diff is the difference between two versions of one table.
type Diff struct {
	Table world.Table
	// From and To are the first messages of the versions, -1 for a missing one.
	From, To int
	// Added and Removed are in row order of their version.
	Added, Removed []*worldv1.Row
	// Changed is in row order of the older version.
	Changed []RowChange
	// Reordered is set if common rows have another order.
	Reordered bool
}

// Empty returns whether the versions hold the same rows in the same order.
func (d Diff) Empty() bool {
	return len(d.Added) == 0 && len(d.Removed) == 0 && len(d.Changed) == 0 && !d.Reordered
}

// Compare compares two versions of a table; nil stands for a missing one. It matches rows by their
// id, and rows without an id by equality.
func Compare(schema world.Table, from, to *worldv1.Table) Diff {
	diff := Diff{Table: schema, From: versionOf(from), To: versionOf(to)}
	before, after := from.GetRows(), to.GetRows()
	partner := matchRows(schema, before, after)
	taken := make([]bool, len(after))
	last := -1
	for i, row := range before {
		j := partner[i]
		if j < 0 {
			diff.Removed = append(diff.Removed, row)
			continue
		}
		taken[j] = true
		diff.Reordered = diff.Reordered || j < last
		last = max(last, j)
		if cells := compareCells(schema, row, after[j]); len(cells) > 0 {
			diff.Changed = append(diff.Changed, RowChange{Key: row.GetCells()[0].GetText(), Cells: cells})
		}
	}
	for j, row := range after {
		if !taken[j] {
			diff.Added = append(diff.Added, row)
		}
	}
	return diff
}

// versionOf returns the first message of a version, -1 for none.
func versionOf(table *worldv1.Table) int {
	if table == nil {
		return -1
	}
	return int(table.GetIndex())
}

// matchRows returns for each row before the index of its row after, -1 for none.
func matchRows(schema world.Table, before, after []*worldv1.Row) []int {
	partner := make([]int, len(before))
	old, young := indexByID(schema, before), indexByID(schema, after)
	named := make([]bool, len(after))
	for i, row := range before {
		partner[i] = -1
		key, ok := keyOf(schema, row)
		if j, both := young[key]; ok && both && old[key] == i && j >= 0 {
			partner[i], named[j] = j, true
		}
	}
	for i, row := range before {
		if partner[i] >= 0 {
			continue
		}
		for j, candidate := range after {
			if !named[j] && slices.EqualFunc(row.GetCells(), candidate.GetCells(), equalCells) {
				partner[i], named[j] = j, true
				break
			}
		}
	}
	return partner
}

// indexByID returns the index of the row with each id, -1 for a duplicate id.
func indexByID(schema world.Table, rows []*worldv1.Row) map[string]int {
	index := make(map[string]int, len(rows))
	for i, row := range rows {
		key, ok := keyOf(schema, row)
		if !ok {
			continue
		}
		if _, several := index[key]; several {
			i = -1
		}
		index[key] = i
	}
	return index
}

// keyOf returns a row's id; ok is false without one.
func keyOf(schema world.Table, row *worldv1.Row) (key string, ok bool) {
	if len(schema.Columns) == 0 || !strings.HasSuffix(schema.Columns[0].Name, idSuffix) || len(row.GetCells()) == 0 {
		return "", false
	}
	text, ok := row.GetCells()[0].GetKind().(*worldv1.Value_Text)
	if !ok {
		return "", false
	}
	return text.Text, true
}

// compareCells returns the changed cells of a row, in column order.
func compareCells(schema world.Table, from, to *worldv1.Row) []Cell {
	var cells []Cell
	for i, column := range schema.Columns {
		if a, b := cellOf(from, i), cellOf(to, i); !equalCells(a, b) {
			cells = append(cells, Cell{Column: column.Name, From: a, To: b})
		}
	}
	return cells
}

// cellOf returns a cell; a missing one is null.
func cellOf(row *worldv1.Row, i int) *worldv1.Value {
	if i < len(row.GetCells()) {
		return row.GetCells()[i]
	}
	return world.Null()
}

// equalCells compares bit by bit: 0 is not -0.
func equalCells(a, b *worldv1.Value) bool {
	switch kind := a.GetKind().(type) {
	case *worldv1.Value_Boolean:
		other, ok := b.GetKind().(*worldv1.Value_Boolean)
		return ok && kind.Boolean == other.Boolean
	case *worldv1.Value_Number:
		other, ok := b.GetKind().(*worldv1.Value_Number)
		return ok && math.Float64bits(kind.Number) == math.Float64bits(other.Number)
	case *worldv1.Value_Text:
		other, ok := b.GetKind().(*worldv1.Value_Text)
		return ok && kind.Text == other.Text
	default:
		return b.GetKind() == nil
	}
}
