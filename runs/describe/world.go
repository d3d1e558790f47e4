package describe

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// world writes the differences of the starting tables from those of the world, or all rows if the
// world is unknown.
func (p *printer) world(subject Subject) {
	if subject.World != "" {
		p.pair("world", subject.World)
	}
	for _, table := range subject.Scenario.GetSetup().GetTables() {
		if table.GetIndex() > 0 {
			p.heading("Later version of " + table.GetName())
			p.table(table, nil)
			continue
		}
		var base *worldv1.Table
		for _, other := range subject.Base {
			if other.GetName() == table.GetName() {
				base = other
			}
		}
		if proto.Equal(base, table) && base != nil {
			continue
		}
		p.heading("World: " + table.GetName())
		p.table(table, base)
	}
}

// table writes added (+), removed (-) and changed (~) rows, by their ids.
func (p *printer) table(table, base *worldv1.Table) {
	schema, ok := p.schema.Table(table.GetName())
	if !ok {
		return
	}
	before := make(map[string]*worldv1.Row)
	for _, row := range base.GetRows() {
		before[rowID(row)] = row
	}
	after := make(map[string]bool)
	if len(table.GetRows()) == 0 {
		p.line("  empty")
	}
	for _, row := range table.GetRows() {
		after[rowID(row)] = true
		old, exists := before[rowID(row)]
		switch {
		case !exists:
			p.line("  + %s", p.row(schema, row, nil))
		case !proto.Equal(old, row):
			p.line("  ~ %s: %s", p.row(schema, old, nil), p.row(schema, row, old))
		}
	}
	for _, row := range base.GetRows() {
		if !after[rowID(row)] {
			p.line("  - %s", p.row(schema, row, nil))
		}
	}
}

func rowID(row *worldv1.Row) string {
	if len(row.GetCells()) == 0 {
		return ""
	}
	return row.GetCells()[0].GetText()
}

// row writes the cells that differ from another row, or are not null.
func (p *printer) row(schema world.Table, row, other *worldv1.Row) string {
	var cells []string
	for i, cell := range row.GetCells() {
		same := cell.GetKind() == nil && other == nil || other != nil && proto.Equal(cell, other.GetCells()[i])
		if !same && i < len(schema.Columns) {
			cells = append(cells, schema.Columns[i].Name+": "+p.cell(schema.Columns[i].Name, cell))
		}
	}
	return "{" + strings.Join(cells, ", ") + "}"
}
