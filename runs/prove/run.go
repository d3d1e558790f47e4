package prove

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	roleUser  = worldv1.Role_ROLE_USER
	roleAgent = worldv1.Role_ROLE_AGENT
	roleHost  = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

// step is one action of the oracle: a call or a text.
type step struct {
	turn, number int // in the script; number is that of the call, -1 for a text
	call         *worldv1.ToolCall
	say          string
	readOnly     bool
	index        int // the message with its outcome: the answer, or the text itself
	answer       string
	failed       bool
	milestones   []int // those matched at its message
}

// run is a rollout of the oracle.
type run struct {
	messages []*worldv1.Message
	starting int // number of starting messages
	tables   []*worldv1.Table
	steps    []*step
	matched  map[int]int // message by milestone
	schema   *world.Schema
}

// newRun reads a finished rollout of the oracle.
func newRun(s *scenariov1.Scenario, t *orchestratorv1.GetTrajectoryResponse, result *busv1.Result, tools map[string]*toolInfo) (*run, error) {
	r := &run{messages: t.GetMessages(), starting: int(t.GetStartingMessages()), tables: t.GetTables(), matched: map[int]int{}}
	r.schema = world.SchemaOrBuiltin(s.GetSetup().GetSchema())
	for i, turn := range s.GetSetup().GetOracleScript() {
		if len(turn.GetCalls()) == 0 {
			r.steps = append(r.steps, &step{turn: i, number: -1, say: turn.GetSay()})
		}
		for j, call := range turn.GetCalls() {
			info := tools[call.GetTool()]
			r.steps = append(r.steps, &step{turn: i, number: j, call: call, readOnly: info != nil && info.readOnly})
		}
	}
	if err := r.locateSteps(answersOf(t)); err != nil {
		return nil, err
	}
	for _, match := range result.GetMilestones() {
		r.matched[int(match.GetNode())] = int(match.GetIndex())
	}
	for node := range len(s.GetEvaluation().GetMilestones().GetNodes()) {
		if found := r.stepAt(r.matched[node]); found != nil {
			found.milestones = append(found.milestones, node)
		}
	}
	return r, nil
}

// locateSteps finds the message of each step.
func (r *run) locateSteps(answers map[string]*worldv1.Message) error {
	var messages []*worldv1.Message
	for _, m := range r.messages[r.starting:] {
		if m.GetSender() == roleAgent && m.GetRecipient() == roleUser {
			messages = append(messages, m)
		}
	}
	for _, s := range r.steps {
		var m *worldv1.Message
		if s.call != nil {
			m = answers[s.call.GetId()]
		} else if len(messages) > 0 {
			m, messages = messages[0], messages[1:]
		}
		if m == nil {
			return fmt.Errorf("the conversation ends before turn %d of the oracle: shorten the oracle or lengthen the user's script", s.turn+1)
		}
		s.index, s.answer, s.failed = int(m.GetIndex()), messagetext.Content(m), m.GetResult().GetException() != ""
	}
	return nil
}

// stepAt returns the step whose message has an index, else the last one before it; nil before the
// first.
func (r *run) stepAt(index int) *step {
	var found *step
	for _, s := range r.steps {
		if s.index == index {
			return s
		}
		if s.index < index && (found == nil || s.index > found.index) {
			found = s
		}
	}
	return found
}

// lastSay returns the turn of the oracle's last text, or the number of turns without one.
func (r *run) lastSay() int {
	for _, s := range slices.Backward(r.steps) {
		if s.call == nil {
			return s.turn
		}
	}
	if len(r.steps) == 0 {
		return 0
	}
	return r.steps[len(r.steps)-1].turn + 1
}

// turns returns how often the user speaks to the agent.
func (r *run) turns() int {
	count := 0
	for _, m := range r.messages {
		if m.GetSender() == roleUser && m.GetRecipient() == roleAgent && world.VisibleTo(m, roleAgent) {
			count++
		}
	}
	return count
}

// userTextsBefore returns all texts to the agent before a message, except results of tools.
func (r *run) userTextsBefore(index int) string {
	text := ""
	for _, m := range r.messages[:index] {
		if m.GetRecipient() == roleAgent && m.GetSender() != roleHost && world.VisibleTo(m, roleAgent) {
			text += m.GetText() + "\n"
		}
	}
	return text
}

// rows returns the rows of a table at a message.
func rows(tables []*worldv1.Table, name string, index int) []*worldv1.Row {
	var found *worldv1.Table
	for _, version := range tables {
		if version.GetName() == name && (found == nil || int(version.GetIndex()) <= index && version.GetIndex() >= found.GetIndex()) {
			found = version
		}
	}
	return found.GetRows()
}

// records returns the rows of a table at a message, by column.
func (r *run) records(name string, index int) []rowByColumn {
	schema, _ := r.schema.Table(name)
	var out []rowByColumn
	for _, row := range rows(r.tables, name, index) {
		rec := make(rowByColumn, len(schema.Columns))
		for i, cell := range row.GetCells() {
			rec[schema.Columns[i].Name] = cell
		}
		out = append(out, rec)
	}
	return out
}

// rowByColumn is one row by column.
type rowByColumn map[string]*worldv1.Value

func (r rowByColumn) text(column string) string { return r[column].GetText() }

// lastIndex returns the index of the last message.
func (r *run) lastIndex() int { return len(r.messages) - 1 }

// sameWorldAs returns whether two conversations ended with equal tables.
func (r *run) sameWorldAs(t *orchestratorv1.GetTrajectoryResponse) bool {
	for _, table := range r.schema.StoredTables() {
		rowsA, rowsB := rows(r.tables, table.Name, r.lastIndex()), rows(t.GetTables(), table.Name, len(t.GetMessages()))
		if !slices.EqualFunc(rowsA, rowsB, func(a, b *worldv1.Row) bool { return proto.Equal(a, b) }) {
			return false
		}
	}
	return true
}

// sameAnswersAs returns whether each call except the dropped one has the same answer in another
// conversation.
func (r *run) sameAnswersAs(t *orchestratorv1.GetTrajectoryResponse, dropped string) bool {
	answers := answersOf(t)
	for _, s := range r.steps {
		if s.call != nil && s.call.GetId() != dropped {
			if m := answers[s.call.GetId()]; m == nil || messagetext.Content(m) != s.answer {
				return false
			}
		}
	}
	return true
}

// answersOf returns the answers of the tool host by the id of the call.
func answersOf(t *orchestratorv1.GetTrajectoryResponse) map[string]*worldv1.Message {
	answers := make(map[string]*worldv1.Message)
	for _, m := range t.GetMessages()[t.GetStartingMessages():] {
		if m.GetSender() == roleHost && m.GetRecipient() == roleAgent {
			answers[m.GetResult().GetId()] = m
		}
	}
	return answers
}
