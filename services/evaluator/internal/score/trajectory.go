package score

import (
	"cmp"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// sandbox is the index of SANDBOX in a schema. Stored tables follow it.
const sandbox = 0

// These are indices of the SANDBOX columns.
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

// Role is the role of a sender or recipient. The zero Role is invalid.
type Role = worldv1.Role

// The roles.
const (
	System               = worldv1.Role_ROLE_SYSTEM
	User                 = worldv1.Role_ROLE_USER
	Agent                = worldv1.Role_ROLE_AGENT
	ExecutionEnvironment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

// Message is one row of SANDBOX.
type Message struct {
	// Sender and Recipient are the roles. 0 is null.
	Sender, Recipient Role
	// Content, ToolCallID, FunctionName and Exception are texts. nil is null.
	Content, ToolCallID, FunctionName, Exception *string
	// Active is conversation_active. nil is null.
	Active *bool
	// Traces has one entry per successful call. nil is null.
	Traces []*worldv1.ToolTrace
	// VisibleTo lists the readers. nil is null.
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
		return optionalText(m.Content)
	case columnToolCallID:
		return optionalText(m.ToolCallID)
	case columnFunctionName:
		return optionalText(m.FunctionName)
	case columnActive:
		if m.Active != nil {
			return Bool(*m.Active)
		}
	case columnException:
		return optionalText(m.Exception)
	case columnToolTrace:
		if m.Traces != nil {
			texts := make([]string, len(m.Traces))
			for i, trace := range m.Traces {
				texts[i] = traceText(trace)
			}
			return List(texts...)
		}
	case columnVisibleTo:
		if m.VisibleTo != nil {
			return List(world.RoleTexts(m.VisibleTo)...)
		}
	}
	return Null()
}

// roleValue returns a role as a cell.
func roleValue(role Role) Value {
	if role == 0 {
		return Null()
	}
	return String(world.RoleName(role))
}

// equal reports whether two messages are equal in every column.
func (m *Message) equal(other *Message) bool {
	for column := columnSender; column <= columnVisibleTo; column++ {
		if !m.cell(column).Equal(other.cell(column)) {
			return false
		}
	}
	return true
}

// optionalText returns a text or null.
func optionalText(s *string) Value {
	if s == nil {
		return Null()
	}
	return String(*s)
}

// isDemonstration reports whether only the simulated user reads the message.
func (m *Message) isDemonstration() bool {
	return len(m.VisibleTo) == 1 && m.VisibleTo[0] == User
}

// isTurn reports whether the message is a turn. A message without a list of readers is not: the
// original compares that list, and null is never equal.
func (m *Message) isTurn() bool {
	switch {
	case m.Sender == System, m.VisibleTo == nil, m.isDemonstration():
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
	// Index is the first message index of the version.
	Index int
	// Rows holds the rows in order. Each has a cell for each column.
	Rows [][]Value
}

// Trajectory is the trajectory of one rollout. Scoring only reads it.
type Trajectory struct {
	// Schema is the schema of the session's tables; nil means the built-in one.
	Schema *world.Schema
	// Messages are all messages, with indices from 0 without gaps.
	Messages []Message
	// Tables are the versions of each table by ascending index. SANDBOX is ignored. A table without
	// versions is empty.
	Tables map[string][]Version
}

// schema returns the schema of the session's tables.
func (t *Trajectory) schema() *world.Schema { return cmp.Or(t.Schema, world.Builtin()) }

// Validate returns an error for unknown tables, for rows with another number of cells than the
// table has columns, and for versions that are not in ascending order. Score requires a valid
// trajectory.
func (t *Trajectory) Validate() error {
	for name := range t.Tables {
		if t.schema().TableIndex(name) <= sandbox {
			return fmt.Errorf("validate trajectory: a version of table %q", name)
		}
	}
	for _, table := range t.schema().StoredTables() {
		for i, version := range t.Tables[table.Name] {
			if i > 0 && version.Index <= t.Tables[table.Name][i-1].Index {
				return fmt.Errorf("validate trajectory: %s: version %d follows %d", table.Name, version.Index,
					t.Tables[table.Name][i-1].Index)
			}
			for j, row := range version.Rows {
				if len(row) != len(table.Columns) {
					return fmt.Errorf("validate trajectory: row %d of %s at %d has %d cells, expected %d", j, table.Name, version.Index,
						len(row), len(table.Columns))
				}
			}
		}
	}
	return nil
}

// firstUser returns the index of the first user message outside demonstrations, −1 without one.
func (t *Trajectory) firstUser() int {
	for i := range t.Messages {
		if m := &t.Messages[i]; m.Sender == User && m.Recipient == Agent && !m.isDemonstration() {
			return i
		}
	}
	return -1
}

// turns returns the number of turns.
func (t *Trajectory) turns() int {
	count := 0
	for i := range t.Messages {
		if t.Messages[i].isTurn() {
			count++
		}
	}
	return count
}
