// Package world describes the tables of a session: columns, cell types and default measures. The
// phone's pack declares the built-in tables; other packs may declare more and add columns to those.
// The package also has constructors and accessors of cells. It has no state.
package world

import (
	"cmp"
	"fmt"
	"slices"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// These are the built-in tables.
const (
	// Sandbox contains the messages. Its rows are encoded as worldv1.Message.
	Sandbox = "SANDBOX"
	// Setting contains the phone's settings in one row.
	Setting   = "SETTING"
	Contact   = "CONTACT"
	Messaging = "MESSAGING"
	Reminder  = "REMINDER"
)

// Kind is the type of a column's cells. Every cell may also be null.
type Kind uint8

// Kinds have the numbers of worldv1.CellType. Only SANDBOX has KindTexts.
const (
	KindText   = Kind(worldv1.CellType_CELL_TYPE_TEXT)
	KindNumber = Kind(worldv1.CellType_CELL_TYPE_NUMBER)
	KindBool   = Kind(worldv1.CellType_CELL_TYPE_BOOLEAN)
	KindTexts  = Kind(worldv1.CellType_CELL_TYPE_TEXTS)
)

// String returns the name for messages.
func (k Kind) String() string {
	switch k {
	case KindText:
		return "text"
	case KindNumber:
		return "number"
	case KindBool:
		return "boolean"
	case KindTexts:
		return "list of texts"
	default:
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
}

// Column is one column of a table.
type Column struct {
	Name string
	Kind Kind
	// Measure is the default column measure, as scenarios name it.
	Measure     string
	Description string
	// Default is the cell of a row that is written without one; nil is null.
	Default *worldv1.Value
}

// DefaultCell returns the column's default, which must not be changed.
func (c Column) DefaultCell() *worldv1.Value { return cmp.Or(c.Default, Null()) }

// Table is the schema of one table. Cells of a row are in the order of the columns. The first is
// the row's id.
type Table struct {
	Name    string
	Columns []Column
}

// Column returns the index of a column by name, -1 if it is unknown.
func (t Table) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// ColumnNames returns the names of the columns.
func (t Table) ColumnNames() []string {
	var names []string
	for i := range t.Columns {
		names = append(names, t.Columns[i].Name)
	}
	return names
}

// NewRow returns a row with some cells by column. Each other cell is its column's default. A name
// of no column is a defect of the caller, for which NewRow panics.
func (t Table) NewRow(cells map[string]*worldv1.Value) *worldv1.Row {
	row := &worldv1.Row{Cells: make([]*worldv1.Value, len(t.Columns))}
	for i, column := range t.Columns {
		row.Cells[i] = column.DefaultCell()
	}
	for name, cell := range cells {
		at := t.Column(name)
		if at < 0 {
			panic(fmt.Sprintf("table %s has no column %q", t.Name, name))
		}
		row.Cells[at] = cell
	}
	return row
}
