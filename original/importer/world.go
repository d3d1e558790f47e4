package importer

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/row"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Messages reads a list of SANDBOX rows, in which omitted fields are null, and checks
// that their indices go on from first. The error is of type document.Errors.
func Messages(data []byte, first int) ([]*worldv1.Message, error) {
	r := &reader{file: "messages", data: data}
	messages := r.messages(r.open(), first)
	return messages, r.err()
}

// Tables reads an object of table → stored versions and returns them by table, then index. The
// error is of type document.Errors.
func Tables(data []byte) ([]*worldv1.Table, error) {
	r := &reader{file: "tables", data: data}
	tables := r.tables(r.open())
	return tables, r.err()
}

// Table reads the rows of one version. The error is of type document.Errors.
func Table(name string, index int32, data []byte) (*worldv1.Table, error) {
	r := &reader{file: name, data: data}
	top := r.open()
	if top == nil {
		return nil, r.err()
	}
	table := r.rows(top, top, name, index)
	return table, r.err()
}

func (r *reader) messages(n *node, first int) []*worldv1.Message {
	var messages []*worldv1.Message
	for i, item := range r.list(n) {
		message := r.message(item)
		if int(message.GetIndex()) != first+i {
			r.fail(item, "has the index %d, expected %d", message.GetIndex(), first+i)
		}
		messages = append(messages, message)
	}
	return messages
}

func (r *reader) message(n *node) *worldv1.Message {
	r.object(n, "index", "sender", "recipient", "content", "conversation_active", "openai_tool_call_id", "openai_function_name",
		"tool_call_exception", "tool_trace", "visible_to")
	message := &worldv1.Message{
		Index:     r.integer(r.required(n, "index"), 0),
		Sender:    r.role(r.required(n, "sender")),
		Recipient: r.role(r.required(n, "recipient")),
	}
	row := row.Row{
		Content:      r.optional(n.get("content")),
		ToolCallID:   r.optional(n.get("openai_tool_call_id")),
		FunctionName: r.optional(n.get("openai_function_name")),
		Exception:    r.optional(n.get("tool_call_exception")),
		ToolTrace:    r.texts(n.get("tool_trace")),
	}
	if err := row.SetBody(message); err != nil {
		r.fail(n, "%v", err)
	}
	if active := n.get("conversation_active"); active != nil && active.shape != shapeNull && r.hasShape(active, shapeBool) {
		message.ConversationActive = &active.flag
	}
	for _, item := range r.list(n.get("visible_to")) {
		message.VisibleTo = append(message.VisibleTo, r.role(item))
	}
	return message
}

func (r *reader) tables(n *node) []*worldv1.Table {
	var tables []*worldv1.Table
	if !r.hasShape(n, shapeObject) {
		return nil
	}
	for i, versions := range n.items {
		for _, version := range r.list(versions) {
			r.object(version, "index", "rows")
			index := r.integer(r.required(version, "index"), 0)
			if rows := r.required(version, "rows"); rows != nil {
				tables = append(tables, r.rows(versions, rows, n.names[i], index))
			}
		}
	}
	slices.SortStableFunc(tables, world.Builtin().Compare)
	return tables
}

// rows reads the rows of a version; source is the node for an error about a wrong name.
func (r *reader) rows(source, n *node, name string, index int32) *worldv1.Table {
	table := &worldv1.Table{Name: r.table(source, name), Index: index}
	if table.GetName() == world.Sandbox {
		r.fail(source, "table %s has no rows of its own: its rows are the messages", name)
		return table
	}
	schema, ok := world.Builtin().Table(table.GetName())
	if !ok {
		return table
	}
	for _, item := range r.list(n) {
		table.Rows = append(table.Rows, r.row(schema, item))
	}
	return table
}

// row reads a row. A cell that it does not have is its column's default, as the original has no
// other columns than its own.
func (r *reader) row(schema world.Table, n *node) *worldv1.Row {
	row := &worldv1.Row{Cells: make([]*worldv1.Value, len(schema.Columns))}
	if r.hasShape(n, shapeObject) {
		for i, name := range n.names {
			r.column(schema, n.items[i], name)
		}
	}
	for i, column := range schema.Columns {
		if cell := n.get(column.Name); cell != nil {
			row.Cells[i] = r.cell(cell, column.Kind)
		} else {
			row.Cells[i] = column.DefaultCell()
		}
	}
	return row
}

// column returns the position of a column, or −1 and a mistake at n.
func (r *reader) column(schema world.Table, n *node, name string) int {
	position := schema.Column(name)
	if position < 0 {
		r.fail(n, "unknown column %q of %s%s", name, schema.Name, spelling.Hint(name, schema.ColumnNames()))
	}
	return position
}

// cell reads a cell.
func (r *reader) cell(n *node, kind world.Kind) *worldv1.Value {
	switch {
	case n.shape == shapeNull:
	case kind == world.KindBool && r.hasShape(n, shapeBool):
		return world.Bool(n.flag)
	case kind == world.KindNumber:
		return world.Number(r.number(n))
	case kind == world.KindText && r.hasShape(n, shapeText):
		return world.Text(n.text)
	}
	return world.Null()
}
