package score

import "fmt"

// Table names one of the five tables of a session.
type Table uint8

// The tables. The zero Table is none of them.
const (
	Sandbox Table = iota + 1
	Setting
	Contact
	Messaging
	Reminder
	tableEnd
)

// tableNames are the tables' names, by table.
var tableNames = [tableEnd]string{"", "SANDBOX", "SETTING", "CONTACT", "MESSAGING", "REMINDER"}

// String returns the table's name, or "" if it is none of the five.
func (t Table) String() string {
	if t < tableEnd {
		return tableNames[t]
	}
	return ""
}

// ParseTable returns the table of that name.
func ParseTable(name string) (Table, bool) {
	for t := Sandbox; t < tableEnd; t++ {
		if tableNames[t] == name {
			return t, true
		}
	}
	return 0, false
}

// valid reports whether t is one of the five tables.
func (t Table) valid() bool { return t >= Sandbox && t < tableEnd }

// Column is one column of a table.
type Column struct {
	// Name is the column's name.
	Name string
	// Kind is what its cells hold where they are not null.
	Kind Kind
	// Measure is how a cell is compared unless a constraint overrides it.
	Measure ColumnMeasure
}

// Places of the SANDBOX columns.
const (
	columnSender = iota
	columnRecipient
	columnContent
	columnToolCallID
	columnFunctionName
	columnActive
	columnException
	columnToolTrace
	columnVisibleTo
)

// tableColumns are the columns of each table, in order.
var tableColumns = [tableEnd][]Column{
	Sandbox: {
		{"sender", KindString, Exact}, {"recipient", KindString, Exact}, {"content", KindString, RougeL},
		{"openai_tool_call_id", KindString, One}, {"openai_function_name", KindString, One},
		{"conversation_active", KindBool, Exact}, {"tool_call_exception", KindString, One},
		{"tool_trace", KindList, ToolTrace}, {"visible_to", KindList, Exact},
	},
	Setting: {
		{"device_id", KindString, Exact}, {"cellular", KindBool, Exact}, {"wifi", KindBool, Exact},
		{"location_service", KindBool, Exact}, {"low_battery_mode", KindBool, Exact},
		{"latitude", KindNumber, Exact}, {"longitude", KindNumber, Exact},
	},
	Contact: {
		{"person_id", KindString, Exact}, {"name", KindString, Exact}, {"phone_number", KindString, Exact},
		{"relationship", KindString, RougeL}, {"is_self", KindBool, Exact},
	},
	Messaging: {
		{"message_id", KindString, Exact}, {"sender_person_id", KindString, Exact},
		{"sender_phone_number", KindString, Exact}, {"recipient_person_id", KindString, Exact},
		{"recipient_phone_number", KindString, Exact}, {"content", KindString, RougeL},
		{"creation_timestamp", KindNumber, Exact},
	},
	Reminder: {
		{"reminder_id", KindString, Exact}, {"content", KindString, RougeL}, {"creation_timestamp", KindNumber, Exact},
		{"reminder_timestamp", KindNumber, Exact}, {"latitude", KindNumber, Exact}, {"longitude", KindNumber, Exact},
	},
}

// Columns returns the columns of t in the order in which its rows hold their cells; none if t is no
// table. The result is the caller's.
func (t Table) Columns() []Column {
	if !t.valid() {
		return nil
	}
	return append([]Column(nil), tableColumns[t]...)
}

// columnAt returns the place of a column of t, −1 if there is none of that name.
func (t Table) columnAt(name string) int {
	for i, column := range tableColumns[t] {
		if column.Name == name {
			return i
		}
	}
	return -1
}

// Role is who sends or receives a message. The zero Role is none.
type Role uint8

// The roles.
const (
	System Role = iota + 1
	User
	Agent
	ExecutionEnvironment
	roleEnd
)

// roleNames are the roles' names, by role.
var roleNames = [roleEnd]string{"", "SYSTEM", "USER", "AGENT", "EXECUTION_ENVIRONMENT"}

// String returns the role's name, or "" if it is none of the four.
func (r Role) String() string {
	if r < roleEnd {
		return roleNames[r]
	}
	return ""
}

// ParseRole returns the role of that name.
func ParseRole(name string) (Role, bool) {
	for r := System; r < roleEnd; r++ {
		if roleNames[r] == name {
			return r, true
		}
	}
	return 0, false
}

// Message is one row of SANDBOX.
type Message struct {
	// Sender and Recipient are who speaks to whom; 0 is null.
	Sender, Recipient Role
	// Content, ToolCallID, FunctionName and Exception are texts or null.
	Content, ToolCallID, FunctionName, Exception Value
	// Active is conversation_active, a truth value or null.
	Active Value
	// ToolTrace has one JSON text per successful call; nil is null.
	ToolTrace []string
	// VisibleTo lists who reads the message; nil is null.
	VisibleTo []Role
}

// cell returns a column of the message as a value.
func (m *Message) cell(column int) Value {
	switch column {
	case columnSender:
		return roleValue(m.Sender)
	case columnRecipient:
		return roleValue(m.Recipient)
	case columnContent:
		return m.Content
	case columnToolCallID:
		return m.ToolCallID
	case columnFunctionName:
		return m.FunctionName
	case columnActive:
		return m.Active
	case columnException:
		return m.Exception
	case columnToolTrace:
		if m.ToolTrace != nil {
			return List(m.ToolTrace...)
		}
	case columnVisibleTo:
		if m.VisibleTo != nil {
			names := make([]string, len(m.VisibleTo))
			for i, role := range m.VisibleTo {
				names[i] = role.String()
			}
			return List(names...)
		}
	}
	return Null()
}

// roleValue returns a role as a cell.
func roleValue(role Role) Value {
	if role == 0 {
		return Null()
	}
	return String(role.String())
}

// equal reports whether two messages agree in every column.
func (m *Message) equal(other *Message) bool {
	for column := columnSender; column <= columnVisibleTo; column++ {
		if !m.cell(column).Equal(other.cell(column)) {
			return false
		}
	}
	return true
}

// demonstration reports whether the message is one of the examples that only the user simulator
// reads.
func (m *Message) demonstration() bool {
	return len(m.VisibleTo) == 1 && m.VisibleTo[0] == User
}

// turn reports whether the message counts as a turn. A message without a list of readers does not:
// the original compares that list, and a comparison with null holds for no row.
func (m *Message) turn() bool {
	switch {
	case m.Sender == System, m.VisibleTo == nil, m.demonstration():
		return false
	case m.Sender == User:
		return m.Recipient != ExecutionEnvironment
	case m.Sender == ExecutionEnvironment:
		return m.Recipient != User
	}
	return true
}

// Version is one stored version of a table.
type Version struct {
	// Index is the message index from which it holds.
	Index int
	// Rows holds the rows in order, each with the cells of Table.Columns.
	Rows [][]Value
}

// Trajectory is everything that happened in one rollout. Scoring only reads it.
type Trajectory struct {
	// Messages are all messages from index 0 on, without gaps.
	Messages []Message
	// Tables are the versions of each table, by ascending index. SANDBOX is not read. A table
	// without versions is empty.
	Tables [tableEnd][]Version
}

// Validate reports what would make scoring meaningless: rows whose number of cells is not that of
// the table's columns, and versions that are not in ascending order. Score needs a trajectory for
// which it returns nil.
func (t *Trajectory) Validate() error {
	for table := Setting; table < tableEnd; table++ {
		for i, version := range t.Tables[table] {
			if i > 0 && version.Index <= t.Tables[table][i-1].Index {
				return fmt.Errorf("validate trajectory: %v: version %d follows %d", table, version.Index,
					t.Tables[table][i-1].Index)
			}
			for j, row := range version.Rows {
				if len(row) != len(tableColumns[table]) {
					return fmt.Errorf("validate trajectory: %v at %d: row %d has %d cells, want %d", table, version.Index, j,
						len(row), len(tableColumns[table]))
				}
			}
		}
	}
	return nil
}

// firstUser returns the index of the first user message that is no demonstration, −1 if there is
// none.
func (t *Trajectory) firstUser() int {
	for i := range t.Messages {
		if m := &t.Messages[i]; m.Sender == User && m.Recipient == Agent && !m.demonstration() {
			return i
		}
	}
	return -1
}

// turns counts the messages that count as turns.
func (t *Trajectory) turns() int {
	count := 0
	for i := range t.Messages {
		if t.Messages[i].turn() {
			count++
		}
	}
	return count
}
