package scenario

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// rowReferences fills missing cells of added rows from the rows to which they refer:
// sender_phone_number from the phone_number of the contact in sender_person_id.
type rowReferences struct {
	*reader

	world *startWorld
	// rows holds the rows of searched tables by id.
	rows map[string]map[string]*worldv1.Row
}

// fill completes added rows. written are their sources in the file.
func (f *rowReferences) fill(schema world.Table, rows []*worldv1.Row, written []*document.Value) {
	for at, column := range schema.Columns {
		named, ok := f.idTable(column.Name)
		if !ok || column.Name == named.Columns[0].Name {
			continue
		}
		prefix := strings.TrimSuffix(column.Name, named.Columns[0].Name)
		for source, about := range named.Columns {
			into := schema.Column(prefix + about.Name)
			if into < 0 || into == at {
				continue
			}
			for i, row := range rows {
				if found := f.row(named.Name, row.GetCells()[at].GetText()); found != nil && written[i].Get(prefix+about.Name) == nil {
					row.Cells[into] = found.GetCells()[source]
				}
			}
		}
	}
}

// row returns the row of a table with an id, nil if it is missing.
func (f *rowReferences) row(table, id string) *worldv1.Row {
	if f.rows[table] == nil {
		f.rows[table] = map[string]*worldv1.Row{}
		for _, row := range f.world.tables[table].GetRows() {
			f.rows[table][row.GetCells()[0].GetText()] = row
		}
	}
	return f.rows[table][id]
}
