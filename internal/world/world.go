// Package world describes the tables of a session: their columns with cell types and default
// measures. schema.yaml declares the built-in ones, packs may declare more. Beside that it has
// small accessors for cells. It holds no state.
package world

import (
	"fmt"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// The built-in tables.
const (
	// Sandbox holds the messages. Its rows travel as worldv1.Message.
	Sandbox = "SANDBOX"
	// Setting holds the settings of the phone, in one row.
	Setting   = "SETTING"
	Contact   = "CONTACT"
	Messaging = "MESSAGING"
	Reminder  = "REMINDER"
)

// Kind is the type of a column's cells; every cell may also be null.
type Kind uint8

// The kinds of cells, numbered as worldv1.CellType. KindTexts occurs in SANDBOX only.
const (
	KindText   = Kind(worldv1.CellType_CELL_TYPE_TEXT)
	KindNumber = Kind(worldv1.CellType_CELL_TYPE_NUMBER)
	KindBool   = Kind(worldv1.CellType_CELL_TYPE_BOOLEAN)
	KindTexts  = Kind(worldv1.CellType_CELL_TYPE_TEXTS)
)

// String returns the word used in messages to people.
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
	// Measure is how cells are compared by default, as scenarios name column measures.
	Measure     string
	Description string
}

// Table is the shape of one table. The cells of a row stand in the order of the columns; the first
// is the row's id.
type Table struct {
	Name        string
	Description string
	Columns     []Column
}

// Column returns the position of the named column, or -1.
func (t Table) Column(name string) int {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i
		}
	}
	return -1
}
