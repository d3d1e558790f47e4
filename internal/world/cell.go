package world

import (
	"math"
	"slices"
	"strconv"
	"strings"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

const rolePrefix = "ROLE_"

// roleNames are the texts of the known roles.
var roleNames = newRoleNames()

func newRoleNames() map[worldv1.Role]string {
	names := make(map[worldv1.Role]string, len(worldv1.Role_name))
	for number, name := range worldv1.Role_name {
		names[worldv1.Role(number)] = strings.TrimPrefix(name, rolePrefix)
	}
	return names
}

// RoleName returns the original's name of a role, e.g. EXECUTION_ENVIRONMENT. It is empty for an
// unknown role.
func RoleName(role worldv1.Role) string { return roleNames[role] }

// RoleNames returns the names of all roles.
func RoleNames() []string {
	return RoleTexts([]worldv1.Role{worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT})
}

// RoleTexts returns the texts of roles.
func RoleTexts(roles []worldv1.Role) []string {
	var texts []string
	for _, role := range roles {
		texts = append(texts, RoleName(role))
	}
	return texts
}

// ParseRole is the inverse of RoleName; ok is false for an unknown name.
func ParseRole(text string) (role worldv1.Role, ok bool) {
	number, ok := worldv1.Role_value[rolePrefix+text]
	return worldv1.Role(number), ok && number != 0
}

// Null returns a null cell.
func Null() *worldv1.Value { return &worldv1.Value{} }

// Bool returns a boolean cell.
func Bool(v bool) *worldv1.Value { return &worldv1.Value{Kind: &worldv1.Value_Boolean{Boolean: v}} }

// Number returns a numeric cell.
func Number(v float64) *worldv1.Value { return &worldv1.Value{Kind: &worldv1.Value_Number{Number: v}} }

// Text returns a text cell.
func Text(v string) *worldv1.Value { return &worldv1.Value{Kind: &worldv1.Value_Text{Text: v}} }

// CellValue returns a cell as a value.
func CellValue(v *worldv1.Value) python.Value {
	switch kind := v.GetKind().(type) {
	case *worldv1.Value_Boolean:
		return python.Bool(kind.Boolean)
	case *worldv1.Value_Number:
		return python.Float(kind.Number)
	case *worldv1.Value_Text:
		return python.Str(kind.Text)
	default:
		return python.None()
	}
}

// Literal writes a cell for people; a text is quoted.
func Literal(v *worldv1.Value) string {
	switch kind := v.GetKind().(type) {
	case *worldv1.Value_Boolean:
		return strconv.FormatBool(kind.Boolean)
	case *worldv1.Value_Number:
		return strconv.FormatFloat(kind.Number, 'f', -1, 64)
	case *worldv1.Value_Text:
		return strconv.Quote(kind.Text)
	default:
		return "null"
	}
}

// NewCell returns the cell that holds a value; null for one that no cell holds.
func NewCell(v python.Value) *worldv1.Value {
	switch v.Kind() {
	case python.KindBool:
		b, _ := v.AsBool()
		return Bool(b)
	case python.KindInt, python.KindFloat:
		f, _ := v.Number()
		return Number(f)
	case python.KindStr:
		s, _ := v.AsStr()
		return Text(s)
	default:
		return Null()
	}
}

// Fits reports whether a column of a kind can contain a cell. Null fits every kind. A number has to
// be finite: files of runs have no other ones, so a fork or a resumed run could not read its world.
func Fits(v *worldv1.Value, kind Kind) bool {
	switch v.GetKind().(type) {
	case nil:
		return true
	case *worldv1.Value_Boolean:
		return kind == KindBool
	case *worldv1.Value_Number:
		return kind == KindNumber && !math.IsNaN(v.GetNumber()) && !math.IsInf(v.GetNumber(), 0)
	case *worldv1.Value_Text:
		return kind == KindText
	default:
		return false
	}
}

// InView reports whether a role sees a message: those that it may read, and as the user those of
// the agent's use of tools that are shown to it.
func InView(m *worldv1.Message, role worldv1.Role, shown worldv1.ShownToolUse) bool {
	const agent, environment = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	switch from, to := m.GetSender(), m.GetRecipient(); {
	case VisibleTo(m, role):
		return true
	case role != worldv1.Role_ROLE_USER:
		return false
	case from == agent && to == environment:
		return shown >= worldv1.ShownToolUse_SHOWN_TOOL_USE_CALLS
	default:
		return from == environment && to == agent && m.GetResult() != nil && shown >= worldv1.ShownToolUse_SHOWN_TOOL_USE_RESULTS
	}
}

// VisibleTo reports whether a role may read a message. By default sender and recipient may.
func VisibleTo(m *worldv1.Message, role worldv1.Role) bool {
	if len(m.GetVisibleTo()) == 0 {
		return m.GetSender() == role || m.GetRecipient() == role
	}
	return slices.Contains(m.GetVisibleTo(), role)
}
