package score

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// sandbox is the place of SANDBOX in a schema; the stored tables follow it.
const sandbox = 0

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

// Role is who sends or receives a message. The zero Role is none.
type Role = worldv1.Role

// The roles.
const (
	System               = worldv1.Role_ROLE_SYSTEM
	User                 = worldv1.Role_ROLE_USER
	Agent                = worldv1.Role_ROLE_AGENT
	ExecutionEnvironment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

// roleNames are the roles' names, by role.
var roleNames = newRoleNames()

func newRoleNames() []string {
	names := make([]string, len(worldv1.Role_name))
	for role := System; int(role) < len(names); role++ {
		names[role] = strings.TrimPrefix(role.String(), "ROLE_")
	}
	return names
}

// parseRole returns the role of that name.
func parseRole(name string) (role Role, ok bool) {
	i := slices.Index(roleNames[1:], name)
	return Role(i + 1), i >= 0
}

// roleName returns a role's name, or "" if it is none of the four.
func roleName(role Role) string {
	if int(role) < len(roleNames) {
		return roleNames[role]
	}
	return ""
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
				names[i] = roleName(role)
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
	return String(roleName(role))
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
	// Rows holds the rows in order, each with a cell for each column.
	Rows [][]Value
}

// Trajectory is everything that happened in one rollout. Scoring only reads it.
type Trajectory struct {
	// Schema is that of the session's tables; nil is the built-in one.
	Schema *world.Schema
	// Messages are all messages from index 0 on, without gaps.
	Messages []Message
	// Tables are the versions of each table, by ascending index. SANDBOX is not read. A table
	// without versions is empty.
	Tables map[string][]Version
}

// schema returns the schema of the session's tables.
func (t *Trajectory) schema() *world.Schema { return cmp.Or(t.Schema, world.Builtin()) }

// Validate reports what would make scoring meaningless: tables that the schema does not have, rows
// whose number of cells is not that of the table's columns, and versions that are not in ascending
// order. Score needs a trajectory for which it returns nil.
func (t *Trajectory) Validate() error {
	for name := range t.Tables {
		if t.schema().Place(name) <= sandbox {
			return fmt.Errorf("validate trajectory: a version of table %q", name)
		}
	}
	for _, table := range t.schema().Stored() {
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
