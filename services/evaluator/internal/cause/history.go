package cause

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
)

// invocation is a call of the agent with its answer.
type invocation struct {
	call      *worldv1.ToolCall
	arguments *python.Dict // empty if they are no object
	index     int32
	answer    *worldv1.Message // nil without one
}

// exception returns the type and the text of the exception that a call raised; none is empty.
func (i *invocation) exception() (kind, text string) {
	kind, text, _ = strings.Cut(i.answer.GetResult().GetException(), ":")
	return kind, strings.TrimSpace(text)
}

func (i *invocation) failed() bool { return i.answer.GetResult().GetException() != "" }

func (i *invocation) succeeded() bool { return len(i.answer.GetResult().GetTraces()) > 0 }

// sameAs reports whether two calls have the same tool and arguments.
func (i *invocation) sameAs(other *invocation) bool {
	return i.call.GetTool() == other.call.GetTool() && i.arguments.Value().Equal(other.arguments.Value())
}

// batch is the calls of one turn of the agent.
type batch struct {
	calls []*invocation
	// permuted means that the answers are in another order than the calls: the first order in which
	// a call raises is not the given one.
	permuted bool
	// changed are the names of the tables that the batch changed.
	changed []string
}

// wrote reports whether a batch changed a table.
func (b *batch) wrote() bool { return len(b.changed) > 0 }

// history is the calls of a rollout, by turn.
type history struct {
	messages []*worldv1.Message
	batches  []*batch
	tables   []*worldv1.Table // all versions
}

// maxMessages bounds the messages in which classes are looked for, because the search takes
// superlinear time.
const maxMessages = 500

// newHistory reads the calls of a trajectory, of its first maxMessages.
func newHistory(t *assemble.Trajectory, world *World) *history {
	h := &history{messages: t.Messages[:min(maxMessages, len(t.Messages))], tables: slices.Concat(world.tables, t.Tables)}
	messages := h.messages[min(t.Starting, len(h.messages)):]
	for len(messages) > 0 {
		calls := 0
		for calls < len(messages) && messages[calls].GetSender() == worldv1.Role_ROLE_AGENT && messages[calls].GetCall() != nil {
			calls++
		}
		if calls == 0 {
			messages = messages[1:]
			continue
		}
		answers := calls
		for answers < len(messages) && messages[answers].GetResult() != nil && answers < 2*calls {
			answers++
		}
		h.batches = append(h.batches, h.newBatch(messages[:calls], messages[calls:answers]))
		messages = messages[answers:]
	}
	return h
}

// newBatch pairs calls with their answers.
func (h *history) newBatch(calls, answers []*worldv1.Message) *batch {
	b := &batch{}
	for i, m := range calls {
		one := &invocation{call: m.GetCall(), index: m.GetIndex(), arguments: &python.Dict{}}
		if value, err := messagetext.Arguments(one.call); err == nil {
			if dict, ok := value.AsDict(); ok {
				one.arguments = dict
			}
		}
		at := slices.IndexFunc(answers, func(a *worldv1.Message) bool { return a.GetResult().GetId() == one.call.GetId() })
		if at >= 0 {
			one.answer = answers[at]
			b.permuted = b.permuted || at != i
		}
		b.calls = append(b.calls, one)
	}
	if len(answers) == 0 {
		return b
	}
	for _, table := range h.tables {
		at := table.GetIndex()
		if at >= answers[0].GetIndex() && at <= answers[len(answers)-1].GetIndex() && !slices.EqualFunc(table.GetRows(), h.rows(table.GetName(), at), equalRows) {
			b.changed = append(b.changed, table.GetName())
		}
	}
	return b
}

func equalRows(a, b *worldv1.Row) bool { return proto.Equal(a, b) }

// end returns the index after the answers of a batch.
func (b *batch) end() int32 { return b.calls[0].index + 2*int32(len(b.calls)) }

// change is a cell that a batch changed.
type change struct {
	table     string
	row, cell int
	after     *worldv1.Value
}

// changes returns the cells that a batch changed in rows that keep their place.
func (h *history) changes(b *batch) []change {
	var list []change
	for _, name := range b.changed {
		before, after := h.rows(name, b.calls[0].index), h.rows(name, b.end())
		for i := range min(len(before), len(after)) {
			for j := range min(len(before[i].GetCells()), len(after[i].GetCells())) {
				if was, is := before[i].GetCells()[j], after[i].GetCells()[j]; !proto.Equal(was, is) {
					list = append(list, change{name, i, j, is})
				}
			}
		}
	}
	return list
}

// cell returns the cell of a change before a message, nil if there is none.
func (h *history) cell(c change, index int32) *worldv1.Value {
	rows := h.rows(c.table, index)
	if c.row >= len(rows) || c.cell >= len(rows[c.row].GetCells()) {
		return nil
	}
	return rows[c.row].GetCells()[c.cell]
}

// rows returns the rows of a table before a message.
func (h *history) rows(name string, index int32) []*worldv1.Row {
	var found *worldv1.Table
	for _, table := range h.tables {
		if table.GetName() == name && table.GetIndex() < index && (found == nil || table.GetIndex() >= found.GetIndex()) {
			found = table
		}
	}
	return found.GetRows()
}
