// Package world describes the five tables of a session: their names, columns and cell types, and
// small accessors for cells. It holds no state.
package world

import (
	"fmt"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Kind is the type of a column's cells; every cell may also be null.
type Kind uint8

// The kinds of cells. KindTexts occurs in SANDBOX only.
const (
	KindText Kind = iota + 1
	KindNumber
	KindBool
	KindTexts
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
}

// Schema is the shape of one table.
type Schema struct {
	Name    worldv1.TableName
	Columns []Column
}

// Column returns the position of the named column, or -1.
func (s Schema) Column(name string) int {
	for i := range s.Columns {
		if s.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

// Schemas returns all five tables in table order. The result is the caller's own.
func Schemas() []Schema {
	return []Schema{Sandbox(), Setting(), Contact(), Messaging(), Reminder()}
}

// SchemaOf returns the schema of a table; ok is false for a name that is none.
func SchemaOf(name worldv1.TableName) (schema Schema, ok bool) {
	switch name {
	case worldv1.TableName_TABLE_NAME_SANDBOX:
		return Sandbox(), true
	case worldv1.TableName_TABLE_NAME_SETTING:
		return Setting(), true
	case worldv1.TableName_TABLE_NAME_CONTACT:
		return Contact(), true
	case worldv1.TableName_TABLE_NAME_MESSAGING:
		return Messaging(), true
	case worldv1.TableName_TABLE_NAME_REMINDER:
		return Reminder(), true
	case worldv1.TableName_TABLE_NAME_UNSPECIFIED:
		return Schema{}, false
	default:
		return Schema{}, false
	}
}

// Sandbox returns the schema of the message log; its rows travel as worldv1.Message.
func Sandbox() Schema {
	return Schema{Name: worldv1.TableName_TABLE_NAME_SANDBOX, Columns: []Column{
		{"sender", KindText},
		{"recipient", KindText},
		{"content", KindText},
		{"openai_tool_call_id", KindText},
		{"openai_function_name", KindText},
		{"conversation_active", KindBool},
		{"tool_call_exception", KindText},
		{"tool_trace", KindTexts},
		{"visible_to", KindTexts},
	}}
}

// Setting returns the schema of the phone's settings.
func Setting() Schema {
	return Schema{Name: worldv1.TableName_TABLE_NAME_SETTING, Columns: []Column{
		{"device_id", KindText},
		{"cellular", KindBool},
		{"wifi", KindBool},
		{"location_service", KindBool},
		{"low_battery_mode", KindBool},
		{"latitude", KindNumber},
		{"longitude", KindNumber},
	}}
}

// Contact returns the schema of the address book.
func Contact() Schema {
	return Schema{Name: worldv1.TableName_TABLE_NAME_CONTACT, Columns: []Column{
		{"person_id", KindText},
		{"name", KindText},
		{"phone_number", KindText},
		{"relationship", KindText},
		{"is_self", KindBool},
	}}
}

// Messaging returns the schema of the text messages.
func Messaging() Schema {
	return Schema{Name: worldv1.TableName_TABLE_NAME_MESSAGING, Columns: []Column{
		{"message_id", KindText},
		{"sender_person_id", KindText},
		{"sender_phone_number", KindText},
		{"recipient_person_id", KindText},
		{"recipient_phone_number", KindText},
		{"content", KindText},
		{"creation_timestamp", KindNumber},
	}}
}

// Reminder returns the schema of the reminders.
func Reminder() Schema {
	return Schema{Name: worldv1.TableName_TABLE_NAME_REMINDER, Columns: []Column{
		{"reminder_id", KindText},
		{"content", KindText},
		{"creation_timestamp", KindNumber},
		{"reminder_timestamp", KindNumber},
		{"latitude", KindNumber},
		{"longitude", KindNumber},
	}}
}
