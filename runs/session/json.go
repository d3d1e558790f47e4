package session

import (
	"encoding/json"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/world"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// sessionJSON is a session for programs.
type sessionJSON struct {
	ID       string  `json:"id"`
	Scenario string  `json:"scenario"`
	Messages int32   `json:"messages"`
	Parent   *string `json:"parent"`
	ForkedAt *int32  `json:"forked_at"`
}

// tableJSON is a table version for programs.
type tableJSON struct {
	Table   string    `json:"table"`
	Version int32     `json:"version"`
	Rows    []rowJSON `json:"rows"`
}

// versionJSON is a table version without its rows.
type versionJSON struct {
	Table   string `json:"table"`
	Version int32  `json:"version"`
	Rows    int    `json:"rows"`
}

// rowJSON is a row as an object with its columns in order.
type rowJSON struct {
	table world.Table
	row   *worldv1.Row
}

// diffJSON is the change of one table.
type diffJSON struct {
	Table       string       `json:"table"`
	FromVersion *int         `json:"from_version"`
	ToVersion   *int         `json:"to_version"`
	Added       []rowJSON    `json:"added"`
	Removed     []rowJSON    `json:"removed"`
	Changed     []changeJSON `json:"changed"`
	Reordered   bool         `json:"reordered"`
}

// changeJSON is a row with changed cells.
type changeJSON struct {
	ID    string     `json:"id"`
	Cells []cellJSON `json:"cells"`
}

type cellJSON struct {
	Column string          `json:"column"`
	From   json.RawMessage `json:"from"`
	To     json.RawMessage `json:"to"`
}

// ListJSON returns sessions as a value that encoding/json prints.
func ListJSON(sessions []*toolhostv1.Session) any {
	list := make([]sessionJSON, len(sessions))
	for i, s := range sessions {
		list[i] = describe(s)
	}
	return list
}

// JSON returns a session as a value that encoding/json prints.
func JSON(s *toolhostv1.Session) any { return describe(s) }

func describe(s *toolhostv1.Session) sessionJSON {
	described := sessionJSON{ID: s.GetId(), Scenario: s.GetSetupName(), Messages: s.GetLastIndex() + 1}
	if s.GetParentId() != "" {
		described.Parent, described.ForkedAt = &s.ParentId, &s.ForkedAt
	}
	return described
}

// MarshalJSON implements json.Marshaler.
func (v *View) MarshalJSON() ([]byte, error) {
	schema := world.SchemaOrBuiltin(v.Session.GetSchema())
	tables := make([]tableJSON, len(v.Tables))
	for i, version := range v.Tables {
		table, _ := schema.Table(version.GetName())
		tables[i] = tableJSON{Table: version.GetName(), Version: version.GetIndex(), Rows: rowsJSON(table, version.GetRows())}
	}
	var versions []versionJSON
	for _, version := range v.Versions {
		versions = append(versions, versionJSON{Table: version.GetName(), Version: version.GetIndex(), Rows: len(version.GetRows())})
	}
	return output.JSON(struct {
		Session  sessionJSON   `json:"session"`
		At       int           `json:"at"`
		Tables   []tableJSON   `json:"tables"`
		Versions []versionJSON `json:"versions,omitempty"`
	}{describe(v.Session), v.At, tables, versions}, "")
}

// MarshalJSON implements json.Marshaler.
func (c *Changes) MarshalJSON() ([]byte, error) {
	tables := make([]diffJSON, len(c.Tables))
	for i, diff := range c.Tables {
		changed := make([]changeJSON, len(diff.Changed))
		for j, row := range diff.Changed {
			changed[j].ID = row.Key
			for _, cell := range row.Cells {
				changed[j].Cells = append(changed[j].Cells,
					cellJSON{Column: cell.Column, From: json.RawMessage(jsonText(cell.From)), To: json.RawMessage(jsonText(cell.To))})
			}
		}
		tables[i] = diffJSON{
			Table:       diff.Table.Name,
			FromVersion: versionPointer(diff.From),
			ToVersion:   versionPointer(diff.To),
			Added:       rowsJSON(diff.Table, diff.Added),
			Removed:     rowsJSON(diff.Table, diff.Removed),
			Changed:     changed,
			Reordered:   diff.Reordered,
		}
	}
	return output.JSON(struct {
		Session sessionJSON `json:"session"`
		From    int         `json:"from"`
		To      int         `json:"to"`
		Tables  []diffJSON  `json:"tables"`
	}{describe(c.Session), c.From, c.To, tables}, "")
}

// versionPointer returns nil for a missing version.
func versionPointer(version int) *int {
	if version < 0 {
		return nil
	}
	return &version
}

func rowsJSON(table world.Table, rows []*worldv1.Row) []rowJSON {
	list := make([]rowJSON, len(rows))
	for i, row := range rows {
		list[i] = rowJSON{table: table, row: row}
	}
	return list
}

// MarshalJSON implements json.Marshaler.
func (r rowJSON) MarshalJSON() ([]byte, error) {
	raw := []byte{'{'}
	for i, column := range r.table.Columns {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(strconv.AppendQuote(raw, column.Name), ':')
		raw = append(raw, jsonText(cellOf(r.row, i))...)
	}
	return append(raw, '}'), nil
}

// jsonText prints a cell as JSON. NaN and the infinities become texts.
func jsonText(cell *worldv1.Value) string {
	switch kind := cell.GetKind().(type) {
	case *worldv1.Value_Boolean:
		return strconv.FormatBool(kind.Boolean)
	case *worldv1.Value_Number:
		raw, err := output.JSON(kind.Number, "")
		if err != nil { // not a number, or infinite
			return strconv.Quote(strconv.FormatFloat(kind.Number, 'g', -1, 64))
		}
		return string(raw)
	case *worldv1.Value_Text:
		raw, _ := output.JSON(kind.Text, "") // a text has no error
		return string(raw)
	default:
		return "null"
	}
}
