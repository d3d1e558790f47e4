package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/session"
)

const (
	// foldAt is the number of bytes beyond which a text is folded, cutAt that beyond which the page
	// has only its beginning.
	foldAt = 1200
	cutAt  = 20_000
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
	Fault string
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
		t.All = beginning(all, cutAt)
		t.Cut = len(all) - len(t.All)
	}
	if len(all) > foldAt {
		t.Fold = beginning(strings.Join(strings.Fields(beginning(all, 400)), " "), 120) + "…"
	}
	return t
}

// beginning returns at most n bytes of a text, whole characters.
func beginning(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// call is a call of a tool.
type call struct {
	// Tool is the tool's name, Seen the name that the role sees if it is another one.
	Tool, Seen string
	Arguments  []argument
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
		shown.Data, shown.Fault, shown.Answers = true, body.Result.GetException(), body.Result.GetName()
		if shown.Fault == "" || strings.TrimSpace(body.Result.GetText()) != strings.TrimSpace(shown.Fault) {
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
	shown := &call{Tool: c.GetTool(), Cut: c.GetArgumentsCut(), Source: beginning(messagetext.Source(c), cutAt)}
	if c.GetName() != "" && c.GetName() != c.GetTool() {
		shown.Seen = c.GetName()
	}
	if c.ArgumentsText != nil {
		shown.Raw = beginning(c.GetArgumentsText(), cutAt)
		return shown
	}
	var err error
	if shown.Arguments, err = readArguments(cmp.Or(c.GetArgumentsJson(), "{}")); err != nil {
		shown.Raw = beginning(c.GetArgumentsJson(), cutAt)
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
		all = append(all, argument{fmt.Sprint(name), beginning(compact.String(), cutAt)})
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
				c.Changed = append(c.Changed, cellChange{"", column.Name, from, to})
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
			c.Changed = append(c.Changed, cellChange{key, cell.Column, world.Literal(cell.From), world.Literal(cell.To)})
		}
	}
	return c
}

func newRow(shape world.Table, r *worldv1.Row) row {
	var shown row
	for i, column := range shape.Columns {
		if i < len(r.GetCells()) && r.GetCells()[i].GetKind() != nil {
			shown.Cells = append(shown.Cells, argument{column.Name, world.Literal(r.GetCells()[i])})
		}
	}
	return shown
}
