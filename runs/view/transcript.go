package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/session"
)

const (
	// foldAt is the number of bytes beyond which a text is folded, cutAt that beyond which the page
	// has only its beginning.
	foldAt = 1200
	cutAt  = 20_000
	// cellAt is the number of bytes of a cell, a name or a remark beyond which the page has only its
	// beginning, mostRows the number of rows that it lists of a change, mostArguments that of the
	// arguments of a call.
	cellAt        = 2000
	mostRows      = 50
	mostArguments = 100
)

// message is a message of a transcript.
type message struct {
	Index    int
	From, To string
	// Class is the class of the speaker: u, a, e or s.
	Class string
	Text  text
	Call  *call
	// Fault is the last line of a failed call's traceback.
	Fault text
	// Seen are the roles that see it, if it is not for sender and recipient alone.
	Seen string
	// Reasoning is what the model reasoned before the turn that begins here, Usage its tokens.
	Reasoning text
	Usage     string
	// Answers is the name of the tool that a result is of.
	Answers string
	// Data: the text is data rather than speech.
	Data    bool
	Flags   []string
	Nodes   []node
	Changes []change
}

// text is a text that may be long.
type text struct {
	All string
	// Fold is a part of a long text that stands for it until it is unfolded.
	Fold string
	// Cut is the number of bytes that the page leaves out.
	Cut int
}

func newText(all string, foldAt int) text {
	t := text{All: all}
	if len(all) > cutAt {
		t.All = spelling.Beginning(all, cutAt)
		t.Cut = len(all) - len(t.All)
	}
	if len(all) > foldAt {
		t.Fold = spelling.Beginning(strings.Join(strings.Fields(spelling.Beginning(all, 400)), " "), 120) + "…"
	}
	return t
}

// shorten returns a text, or the beginning of a very long one with its length.
func shorten(text string) string {
	if len(text) <= cellAt {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", spelling.Beginning(text, cellAt), len(text))
}

// cellText shows a cell.
func cellText(v *worldv1.Value) string { return shorten(world.Literal(v)) }

// call is a call of a tool.
type call struct {
	// Tool is the tool's name, Seen the name that the role sees if it is another one.
	Tool, Seen string
	Arguments  []argument
	// Left is the number of arguments that the page leaves out.
	Left int
	// Raw are arguments that are no object.
	Raw string
	Cut bool
	// Source is the call as the original's source.
	Source string
}

// argument is an argument as JSON.
type argument struct{ Name, Value string }

func newMessage(i int, m *worldv1.Message) message {
	shown := message{Index: i, From: world.RoleName(m.GetSender()), To: world.RoleName(m.GetRecipient()), Class: roleClass(m.GetSender())}
	var roles []string
	for _, role := range m.GetVisibleTo() {
		if role != m.GetSender() && role != m.GetRecipient() {
			roles = append(roles, world.RoleName(role))
		}
	}
	if len(m.GetVisibleTo()) > 0 && (len(roles) > 0 || len(m.GetVisibleTo()) < 2) {
		shown.Seen = strings.Join(world.RoleTexts(m.GetVisibleTo()), ", ")
	}
	limit := foldAt
	if m.GetSender() == worldv1.Role_ROLE_SYSTEM {
		limit = 200
	}
	switch body := m.GetBody().(type) {
	case *worldv1.Message_Call:
		shown.Call = newCall(body.Call)
	case *worldv1.Message_Result:
		fault := body.Result.GetException()
		shown.Data, shown.Fault, shown.Answers = true, newText(fault, foldAt), shorten(body.Result.GetName())
		if fault == "" || strings.TrimSpace(body.Result.GetText()) != strings.TrimSpace(fault) {
			shown.Text = newText(body.Result.GetText(), limit)
		}
	case *worldv1.Message_Code:
		shown.Data, shown.Text = true, newText(body.Code.GetSource(), limit)
	default:
		shown.Text = newText(messagetext.Content(m), limit)
	}
	return shown
}

func roleClass(role worldv1.Role) string {
	switch role {
	case worldv1.Role_ROLE_USER:
		return "u"
	case worldv1.Role_ROLE_AGENT:
		return "a"
	case worldv1.Role_ROLE_SYSTEM:
		return "s"
	default:
		return "e"
	}
}

func newCall(c *worldv1.ToolCall) *call {
	shown := &call{Tool: shorten(c.GetTool()), Cut: c.GetArgumentsCut(), Source: spelling.Beginning(messagetext.Source(c), cutAt)}
	if c.GetName() != "" && c.GetName() != c.GetTool() {
		shown.Seen = shorten(c.GetName())
	}
	if c.ArgumentsText != nil {
		shown.Raw = spelling.Beginning(c.GetArgumentsText(), cutAt)
		return shown
	}
	arguments, err := readArguments(cmp.Or(c.GetArgumentsJson(), "{}"))
	if err != nil {
		shown.Raw = spelling.Beginning(c.GetArgumentsJson(), cutAt)
	}
	left := cutAt
	for i, a := range arguments {
		if left -= len(a.Name) + len(a.Value); i > 0 && left < 0 || i == mostArguments {
			shown.Left = len(arguments) - i
			break
		}
		shown.Arguments = append(shown.Arguments, argument{shorten(a.Name), a.Value})
	}
	return shown
}

// readArguments reads an object of JSON with its order and the spelling of its numbers.
func readArguments(source string) ([]argument, error) {
	decoder := json.NewDecoder(strings.NewReader(source))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("no object")
	}
	var all []argument
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return nil, err
		}
		all = append(all, argument{fmt.Sprint(name), spelling.Beginning(compact.String(), cutAt)})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	return all, nil
}

// change is what a message changed in a table.
type change struct {
	Table          string
	Added, Removed []row
	Changed        []cellChange
	Reordered      bool
	// Left is the number of rows and cells that the page leaves out.
	Left int
}

// row is a row without its nulls.
type row struct{ Cells []argument }

// cellChange is a changed cell. Row is its row, empty for a table with one.
type cellChange struct{ Row, Column, From, To string }

// changesBy returns what each message changed in the world.
func changesBy(schema *world.Schema, tables []*worldv1.Table) map[int][]change {
	versions := slices.Clone(tables)
	slices.SortStableFunc(versions, schema.Compare)
	changes := make(map[int][]change)
	for i := 1; i < len(versions); i++ {
		from, to := versions[i-1], versions[i]
		shape, ok := schema.Table(to.GetName())
		if !ok || from.GetName() != to.GetName() {
			continue
		}
		if diff := session.Compare(shape, from, to); !diff.Empty() {
			at := int(to.GetIndex())
			changes[at] = append(changes[at], newChange(shape, diff, len(to.GetRows()) == 1))
		}
	}
	return changes
}

// newChange shows a difference. single: the table has one row, which needs no name.
func newChange(shape world.Table, diff session.Diff, single bool) change {
	c := change{Table: shape.Name, Reordered: diff.Reordered}
	for _, added := range diff.Added {
		c.Added = append(c.Added, newRow(shape, added))
	}
	for _, removed := range diff.Removed {
		c.Removed = append(c.Removed, newRow(shape, removed))
	}
	// A row without an id that changed counts as removed and added.
	if len(c.Added) == 1 && len(c.Removed) == 1 && single {
		before, after := diff.Removed[0].GetCells(), diff.Added[0].GetCells()
		for i, column := range shape.Columns {
			if from, to := world.Literal(before[i]), world.Literal(after[i]); from != to {
				c.Changed = append(c.Changed, cellChange{"", column.Name, shorten(from), shorten(to)})
			}
		}
		c.Added, c.Removed = nil, nil
	}
	for _, changed := range diff.Changed {
		for _, cell := range changed.Cells {
			key := changed.Key
			if single {
				key = ""
			}
			c.Changed = append(c.Changed, cellChange{shorten(key), cell.Column, cellText(cell.From), cellText(cell.To)})
		}
	}
	return c.bounded()
}

// bounded returns the change with at most mostRows of each kind.
func (c change) bounded() change {
	left := func(n int) int { return max(n-mostRows, 0) }
	c.Left = left(len(c.Added)) + left(len(c.Removed)) + left(len(c.Changed))
	c.Added, c.Removed, c.Changed = c.Added[:min(len(c.Added), mostRows)], c.Removed[:min(len(c.Removed), mostRows)], c.Changed[:min(len(c.Changed), mostRows)]
	return c
}

func newRow(shape world.Table, r *worldv1.Row) row {
	var shown row
	for i, column := range shape.Columns {
		if i < len(r.GetCells()) && r.GetCells()[i].GetKind() != nil {
			shown.Cells = append(shown.Cells, argument{column.Name, cellText(r.GetCells()[i])})
		}
	}
	return shown
}
