package resultfile

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/row"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// indexColumn is the first column of every table in the files.
const indexColumn = "sandbox_message_index"

// defaultBackend is the original's name of the default backend.
const defaultBackend = "DEFAULT"

// Context returns the content of execution_context.json.
func Context(r Rollout) ([]byte, error) { return encodeDocument(executionContext(r), "    ") }

func executionContext(r Rollout) object {
	tables := object{}
	for _, schema := range world.SchemaOrBuiltin(r.Scenario.GetSetup().GetSchema()).Tables() {
		var rows []any
		if schema.Name == world.Sandbox {
			rows = messageRows(schema, r.Messages)
		} else {
			rows = tableRows(schema, versionsOf(r.Tables, schema.Name))
		}
		tables = append(tables, member{schema.Name, rows})
	}
	tools := r.Scenario.GetSetup().GetTools()
	return object{
		{"_dbs", tables},
		{"interactive_console", nil},
		{"tool_allow_list", nullIfEmpty(tools.GetAllow())},
		{"tool_deny_list", nullIfEmpty(tools.GetDeny())},
		{"trace_tool", true},
		{"tool_augmentation_list", augmentations(tools)},
		{"preferred_tool_backend", cmp.Or(r.Scenario.GetSetup().GetToolBackend(), defaultBackend)},
	}
}

func nullIfEmpty(names []string) any {
	if len(names) == 0 {
		return nil
	}
	return names
}

// augmentations lists the scrambling augmentations. Only the allowed tools show the level of
// distraction.
func augmentations(tools *setupv1.ToolSelection) []string {
	out := []string{}
	for _, a := range tools.GetAugmentations() {
		if name := strings.TrimPrefix(a.String(), "AUGMENTATION_"); strings.HasSuffix(name, scrambledSuffix) {
			out = append(out, name)
		}
	}
	return out
}

// versionsOf returns a table's versions by index.
func versionsOf(tables []*worldv1.Table, name string) []*worldv1.Table {
	var out []*worldv1.Table
	for _, t := range tables {
		if t.GetName() == name {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b *worldv1.Table) int { return cmp.Compare(a.GetIndex(), b.GetIndex()) })
	return out
}

// indexedRow returns a row after its index. A nil row is the row of nulls that the original writes
// before a version that does not extend the previous one.
func indexedRow(schema world.Table, index int32, row *worldv1.Row) object {
	return append(object{{indexColumn, index}}, rowObject(schema, row)...)
}

// tableRows returns the rows of all versions. A version that only adds rows to the previous one has
// no row of nulls.
func tableRows(schema world.Table, versions []*worldv1.Table) []any {
	rows := []any{}
	for i, version := range versions {
		if i == 0 || !isExtension(versions[i-1], version) {
			rows = append(rows, indexedRow(schema, version.GetIndex(), nil))
		}
		for _, row := range version.GetRows() {
			rows = append(rows, indexedRow(schema, version.GetIndex(), row))
		}
	}
	return rows
}

// rowObject returns a row by column.
func rowObject(schema world.Table, row *worldv1.Row) object {
	var out object
	for j, column := range schema.Columns {
		var cell any
		if j < len(row.GetCells()) {
			cell = cellValue(row.GetCells()[j])
		}
		out = append(out, member{column.Name, cell})
	}
	return out
}

// MessageCells are the cells of a row of SANDBOX that a message's body becomes.
type MessageCells = row.Row

// CellsOf returns the cells of a message. SetBody is the inverse.
func CellsOf(m *worldv1.Message) MessageCells { return row.Of(m) }

// RowJSON returns a row of a stored table as a JSON object by column. Numbers outside JSON are
// null.
func RowJSON(schema world.Table, row *worldv1.Row) (string, error) {
	text, err := rowObject(schema, row).MarshalJSON()
	return string(text), err
}

// isExtension reports whether a version consists of all rows of the previous one, in order, and
// more.
func isExtension(before, after *worldv1.Table) bool {
	count := len(before.GetRows())
	return len(after.GetRows()) > count && slices.EqualFunc(before.GetRows(), after.GetRows()[:count], func(a, b *worldv1.Row) bool {
		return proto.Equal(a, b)
	})
}

// messageRows returns the messages as rows of SANDBOX.
func messageRows(schema world.Table, messages []*worldv1.Message) []any {
	rows := []any{}
	if len(messages) > 0 {
		rows = append(rows, indexedRow(schema, 0, nil))
	}
	for i, m := range messages {
		if i > 0 && isRewritten(messages, i) {
			rows = append(rows, indexedRow(schema, m.GetIndex(), nil))
		}
		rows = append(rows, messageRow(m))
	}
	return rows
}

// isRewritten reports whether the original writes a message twice. It does if a call left a trace,
// which stays with the last call until the results get it, or ended the conversation.
func isRewritten(messages []*worldv1.Message, i int) bool {
	environment := worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	if messages[i].GetRecipient() != environment {
		return false
	}
	for _, answer := range messages[i+1:] {
		if answer.GetSender() != environment {
			return false
		}
		if len(answer.GetResult().GetTraces()) > 0 {
			return true
		}
	}
	return false
}

func messageRow(m *worldv1.Message) object {
	row := row.Of(m)
	return object{
		{indexColumn, m.GetIndex()},
		{"sender", roleValue(m.GetSender())},
		{"recipient", roleValue(m.GetRecipient())},
		{"content", row.Content},
		{"openai_tool_call_id", row.ToolCallID},
		{"openai_function_name", row.FunctionName},
		{"conversation_active", m.ConversationActive},
		{"tool_call_exception", row.Exception},
		{"tool_trace", nullIfEmpty(row.ToolTrace)},
		{"visible_to", nullIfEmpty(world.RoleTexts(m.GetVisibleTo()))},
	}
}

func roleValue(role worldv1.Role) any {
	if role == worldv1.Role_ROLE_UNSPECIFIED {
		return nil
	}
	return world.RoleName(role)
}
