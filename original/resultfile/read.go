package resultfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/row"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrSchema means that rows have other tables or columns than those of the scenario's pack.
var ErrSchema = errors.New("not the tables of the scenario's pack, which may have changed since")

// Trajectory is the content of a rollout's execution_context.json.
type Trajectory struct {
	// Messages are all messages including the starting ones. Message i has index i.
	Messages []*worldv1.Message
	// Tables are all stored versions, by table, then index.
	Tables []*worldv1.Table
}

// cells is a row of a table in execution_context.json.
type cells map[string]json.RawMessage

// ParseMessages parses the messages of an execution_context.json, of any tables.
func ParseMessages(data []byte) ([]*worldv1.Message, error) {
	var context struct {
		Tables struct {
			Messages []cells `json:"SANDBOX"`
		} `json:"_dbs"`
	}
	if err := json.Unmarshal(data, &context); err != nil {
		return nil, err
	}
	return readMessages(context.Tables.Messages)
}

// ParseContext parses an execution_context.json with the tables of schema. Numbers outside JSON
// were written as null and stay null. The error is ErrSchema for other tables.
func ParseContext(data []byte, schema *world.Schema) (*Trajectory, error) {
	var context struct {
		Tables map[string][]cells `json:"_dbs"`
	}
	if err := json.Unmarshal(data, &context); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(context.Tables)) {
		if schema.TableIndex(name) < 0 {
			return nil, fmt.Errorf("%w: it has no table %q", ErrSchema, name)
		}
	}
	trajectory := &Trajectory{}
	var err error
	for _, table := range schema.Tables() {
		rows := context.Tables[table.Name]
		if table.Name == world.Sandbox {
			trajectory.Messages, err = readMessages(rows)
		} else {
			var versions []*worldv1.Table
			versions, err = readVersions(table, rows)
			trajectory.Tables = append(trajectory.Tables, versions...)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", table.Name, err)
		}
	}
	return trajectory, nil
}

// isBlank reports whether a row has no values except its index.
func (c cells) isBlank() bool {
	for name, cell := range c {
		if name != indexColumn && string(cell) != "null" {
			return false
		}
	}
	return true
}

// read decodes a cell. It does not change into if the cell is missing or null.
func (c cells) read(column string, into any) error {
	if len(c[column]) == 0 {
		return nil
	}
	if err := json.Unmarshal(c[column], into); err != nil {
		return fmt.Errorf("%s: %w", column, err)
	}
	return nil
}

// index returns the row's message index.
func (c cells) index() (int32, error) {
	index, err := strconv.ParseInt(string(c[indexColumn]), 10, 32)
	if err != nil || index < 0 {
		return 0, fmt.Errorf("%s: %q is no index", indexColumn, c[indexColumn])
	}
	return int32(index), nil
}

func readMessages(rows []cells) ([]*worldv1.Message, error) {
	var messages []*worldv1.Message
	for _, cells := range rows {
		if cells.isBlank() {
			continue
		}
		message, err := readMessage(cells)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", len(messages), err)
		}
		if int(message.GetIndex()) != len(messages) {
			return nil, fmt.Errorf("message %d has index %d", len(messages), message.GetIndex())
		}
		messages = append(messages, message)
	}
	return messages, nil
}

func readMessage(line cells) (*worldv1.Message, error) {
	index, err := line.index()
	if err != nil {
		return nil, err
	}
	message := &worldv1.Message{Index: index}
	var body row.Row
	var sender, recipient string
	var readers []string
	for _, field := range []struct {
		column string
		into   any
	}{
		{"sender", &sender},
		{"recipient", &recipient},
		{"content", &body.Content},
		{"openai_tool_call_id", &body.ToolCallID},
		{"openai_function_name", &body.FunctionName},
		{"conversation_active", &message.ConversationActive},
		{"tool_call_exception", &body.Exception},
		{"tool_trace", &body.ToolTrace},
		{"visible_to", &readers},
	} {
		if err := line.read(field.column, field.into); err != nil {
			return nil, err
		}
	}
	if message.Sender, err = readRole(sender); err != nil {
		return nil, err
	}
	if message.Recipient, err = readRole(recipient); err != nil {
		return nil, err
	}
	for _, name := range readers {
		role, err := readRole(name)
		if err != nil {
			return nil, err
		}
		message.VisibleTo = append(message.VisibleTo, role)
	}
	return message, body.SetBody(message)
}

func readRole(name string) (worldv1.Role, error) {
	role, ok := world.ParseRole(name)
	if !ok {
		return role, fmt.Errorf("unknown role %q", name)
	}
	return role, nil
}

// readVersions returns the versions of a table by index. Every version lists all its rows. An empty
// version is a row of nulls.
func readVersions(schema world.Table, rows []cells) ([]*worldv1.Table, error) {
	versions := map[int32]*worldv1.Table{}
	for i, row := range rows {
		index, err := row.index()
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		if versions[index] == nil {
			versions[index] = &worldv1.Table{Name: schema.Name, Index: index}
		}
		if row.isBlank() {
			continue
		}
		read, err := row.stored(schema)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		versions[index].Rows = append(versions[index].Rows, read)
	}
	var sorted []*worldv1.Table
	for _, index := range slices.Sorted(maps.Keys(versions)) {
		sorted = append(sorted, versions[index])
	}
	return sorted, nil
}

// ParseRow is the inverse of RowJSON. The error is ErrSchema for other columns.
func ParseRow(schema world.Table, text string) (*worldv1.Row, error) {
	var row cells
	if err := json.Unmarshal([]byte(text), &row); err != nil {
		return nil, err
	}
	return row.stored(schema)
}

// stored decodes a row of a stored table.
func (c cells) stored(schema world.Table) (*worldv1.Row, error) {
	row, unknown := &worldv1.Row{}, len(c)
	if c[indexColumn] != nil {
		unknown--
	}
	for _, column := range schema.Columns {
		cell, err := c.cell(column)
		if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("%s: %w: it is a %s here", column.Name, ErrSchema, other.Value)
		}
		if err != nil {
			return nil, err
		}
		if row.Cells = append(row.Cells, cell); c[column.Name] != nil {
			unknown--
		}
	}
	if unknown == 0 {
		return row, nil
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(c)), func(name string) bool { return name == indexColumn || schema.Column(name) >= 0 })
	return nil, fmt.Errorf("%w: it has no column %q", ErrSchema, names[0])
}

// cell decodes a cell of a stored table. A missing one is the column's default: the run was made
// before the column.
func (c cells) cell(column world.Column) (*worldv1.Value, error) {
	switch raw := c[column.Name]; {
	case len(raw) == 0:
		return column.DefaultCell(), nil
	case string(raw) == "null":
		return world.Null(), nil
	}
	switch column.Kind {
	case world.KindBool:
		var truth bool
		err := c.read(column.Name, &truth)
		return world.Bool(truth), err
	case world.KindNumber:
		var number float64
		err := c.read(column.Name, &number)
		return world.Number(number), err
	case world.KindText, world.KindTexts: // stored tables have no lists
		var text string
		err := c.read(column.Name, &text)
		return world.Text(text), err
	default:
		return world.Null(), nil
	}
}
