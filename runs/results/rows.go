package results

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/scenario"
)

func named(p *agentgwv1.Player) *agentgwv1.Player { return &agentgwv1.Player{Name: p.GetName()} }

// rowsOf returns the rows of a finished rollout. explained is the explanation of its score, nil
// without any.
func rowsOf(r Rollout, explained *evaluatorv1.ExplainTrajectoryResponse) (rows, error) {
	k, schema := keyOf(r), world.SchemaOrBuiltin(r.Scenario.GetSetup().GetSchema())
	all := rows{messages: messageRows(k, r.Messages), calls: callRows(k, r.Messages), constraints: constraintRows(k, schema, explained)}
	for _, cause := range Causes(r.Result.GetCauses()) {
		role := worldv1.Role_ROLE_AGENT
		if cause.User {
			role = worldv1.Role_ROLE_USER
		}
		all.causes = append(all.causes, causeRow{k, cause.Kind, world.RoleName(role), int32(cause.Count), int32(cause.Index), filled(cause.Detail)})
	}
	var err error
	if all.versions, err = versionRows(k, schema, r.Tables); err != nil {
		return rows{}, fmt.Errorf("rows of %s: %w", r.Name(), err)
	}
	all.rollout, err = rolloutRowOf(k, r)
	all.rollout.MessageRows, all.rollout.VersionRows = int32(len(all.messages)), int32(len(all.versions))
	return all, err
}

func keyOf(r Rollout) key {
	rollout := r.Result.GetRollout()
	name := r.Scenario.GetSetup().GetName()
	return key{
		Rollout: r.Name(), Scenario: name, Base: scenario.Base(r.Scenario), Variant: scenario.VariantName(name), Trial: rollout.GetTrial(),
		Agent: rollout.GetAgent().GetName(), User: rollout.GetUser().GetName(),
	}
}

func rolloutRowOf(k key, r Rollout) (rolloutRow, error) {
	o, entry := r.Outcome(), resultfile.Summarize([]resultfile.Rollout{r.Rollout}).Scenarios[0]
	line := rolloutRow{
		key: k, Kind: scenario.Kind(r.Scenario), ID: o.ID, Seed: o.Seed, Round: r.Result.GetRound(), Categories: entry.Categories, End: o.End, Scored: o.Scored,
		Similarity: entry.Similarity.Pointer(), MilestoneSimilarity: entry.MilestoneSimilarity.Pointer(), MinefieldSimilarity: entry.MinefieldSimilarity.Pointer(),
		Milestones: int32(len(r.Scenario.GetEvaluation().GetMilestones().GetNodes())),
		Minefields: int32(len(r.Scenario.GetEvaluation().GetMinefields().GetNodes())),
		Turns:      int32(entry.TurnCount), Calls: int32(o.Calls), UserFlags: int32(len(o.UserFlags)), Confidence: o.Confidence,
		ExceptionType: entry.ExceptionType, Traceback: entry.Traceback, FailureClass: filled(o.FailureClass), Damage: filled(o.Damage),
		Seconds: o.Seconds, ContextSHA256: o.ContextSHA256, RecordingSHA256: o.RecordingSHA256,
	}
	if len(r.Work) > 0 {
		line.Started, line.Ended = moment(r.Work[0].Started), moment(r.Work[len(r.Work)-1].Ended)
	}
	if o.Usage != nil && o.Usage.Agent != nil {
		u := o.Usage.Agent
		line.AgentInputTokens, line.AgentCachedTokens, line.AgentOutputTokens = u.InputTokens, u.CachedTokens, u.OutputTokens
		line.AgentReasonTokens, line.AgentCost = u.ReasoningTokens, u.CostUSD
	}
	if o.Usage != nil && o.Usage.User != nil {
		u := o.Usage.User
		line.UserInputTokens, line.UserCachedTokens, line.UserOutputTokens = u.InputTokens, u.CachedTokens, u.OutputTokens
		line.UserReasonTokens, line.UserCost = u.ReasoningTokens, u.CostUSD
	}
	var err error
	if line.Result, err = proto.Marshal(withoutPlayers(r.Result)); err != nil {
		return rolloutRow{}, err
	}
	line.Played, err = proto.Marshal(&orchestratorv1.GetTrajectoryResponse{
		Usage: r.Usage, Answered: r.Answered, Work: workMessages(r.Work), Confidence: r.Confidence, End: &busv1.End{Reason: r.Ended},
	})
	return line, err
}

// WorkOf returns the times in which workers played a rollout.
func WorkOf(messages []*orchestratorv1.Work) []Work {
	var all []Work
	for _, work := range messages {
		all = append(all, Work{Started: work.GetStarted().AsTime(), Ended: work.GetEnded().AsTime()})
	}
	return all
}

// workMessages is the inverse of WorkOf.
func workMessages(all []Work) []*orchestratorv1.Work {
	var messages []*orchestratorv1.Work
	for _, work := range all {
		messages = append(messages, &orchestratorv1.Work{Started: timestamppb.New(work.Started), Ended: timestamppb.New(work.Ended)})
	}
	return messages
}

func moment(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}

// filled returns a text, nil for an empty one.
func filled(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func messageRows(k key, messages []*worldv1.Message) []messageRow {
	lines := make([]messageRow, len(messages))
	for i, m := range messages {
		cells := resultfile.CellsOf(m)
		lines[i] = messageRow{
			key: k, Index: m.GetIndex(), Sender: filled(world.RoleName(m.GetSender())), Recipient: filled(world.RoleName(m.GetRecipient())),
			Content: cells.Content, ToolCallID: cells.ToolCallID, FunctionName: cells.FunctionName, ConversationActive: m.ConversationActive,
			Exception: cells.Exception, ToolTrace: cells.ToolTrace, VisibleTo: world.RoleTexts(m.GetVisibleTo()),
		}
	}
	return lines
}

// message is the inverse of messageRows.
func (r messageRow) message() (*worldv1.Message, error) {
	m := &worldv1.Message{Index: r.Index, ConversationActive: r.ConversationActive}
	roles := []*worldv1.Role{&m.Sender, &m.Recipient}
	for i, name := range []*string{r.Sender, r.Recipient} {
		role, ok := world.ParseRole(text(name))
		if *roles[i] = role; !ok {
			return nil, fmt.Errorf("message %d: unknown role %q", r.Index, text(name))
		}
	}
	for _, name := range r.VisibleTo {
		role, ok := world.ParseRole(name)
		if !ok {
			return nil, fmt.Errorf("message %d: unknown role %q", r.Index, name)
		}
		m.VisibleTo = append(m.VisibleTo, role)
	}
	cells := resultfile.MessageCells{Content: r.Content, ToolCallID: r.ToolCallID, FunctionName: r.FunctionName, Exception: r.Exception, ToolTrace: r.ToolTrace}
	if err := cells.SetBody(m); err != nil {
		return nil, fmt.Errorf("message %d: %w", r.Index, err)
	}
	return m, nil
}

// played returns the rollout as far as the row has it: without messages and tables.
func (r rolloutRow) played(known *Shared) (Rollout, error) {
	result, played := &busv1.Result{}, &orchestratorv1.GetTrajectoryResponse{}
	if err := errors.Join(proto.Unmarshal(r.Result, result), proto.Unmarshal(r.Played, played)); err != nil {
		return Rollout{}, fmt.Errorf("rollout %s: %w", r.Rollout, err)
	}
	known.Result(result)
	return Rollout{
		Rollout: resultfile.Rollout{Scenario: known.scenario(r), Result: result, Directory: r.Rollout},
		Usage:   played.GetUsage(), Answered: played.GetAnswered(), Confidence: played.Confidence, Calls: int(r.Calls), Work: WorkOf(played.GetWork()), Damage: text(r.Damage),
		Digest: r.ContextSHA256, RecordingDigest: r.RecordingSHA256, Ended: played.GetEnd().GetReason(),
	}, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// callRows returns the calls and the code of agent and user. The answers to the calls of one turn
// follow them in their order.
func callRows(k key, messages []*worldv1.Message) []callRow {
	const environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	var lines []callRow
	open := make(map[worldv1.Role][]int) // unanswered calls, by caller
	for _, m := range messages {
		switch sender, recipient := m.GetSender(), m.GetRecipient(); {
		case !world.VisibleTo(m, environment): // a demonstration for the user, which nobody executes
		case recipient == environment && (sender == worldv1.Role_ROLE_AGENT || sender == worldv1.Role_ROLE_USER):
			line := callRow{key: k, Index: m.GetIndex(), Caller: world.RoleName(sender)}
			if call := m.GetCall(); call != nil {
				arguments := call.GetArgumentsText()
				if value, err := messagetext.Arguments(call); err == nil {
					arguments = jsonText(resultfile.Finite(value))
				}
				line.Tool, line.Arguments = &call.Tool, &arguments
			} else {
				source := messagetext.Content(m)
				line.Code = &source
			}
			open[sender] = append(open[sender], len(lines))
			lines = append(lines, line)
		case sender == environment && m.GetResult() != nil && len(open[recipient]) > 0:
			line := &lines[open[recipient][0]]
			open[recipient] = open[recipient][1:]
			index := m.GetIndex()
			line.AnswerIndex, line.Answer, line.Exception = &index, m.GetResult().Text, m.GetResult().Exception
		}
	}
	return lines
}

// versionRows returns the rows of all versions, by table, then index.
func versionRows(k key, schema *world.Schema, tables []*worldv1.Table) ([]versionRow, error) {
	var lines []versionRow
	for _, version := range slices.SortedStableFunc(slices.Values(tables), schema.Compare) {
		table, ok := schema.Table(version.GetName())
		if !ok {
			return nil, fmt.Errorf("unknown table %q", version.GetName())
		}
		if len(version.GetRows()) == 0 {
			lines = append(lines, versionRow{key: k, Table: table.Name, Index: version.GetIndex()})
		}
		for i, stored := range version.GetRows() {
			values, err := resultfile.RowJSON(table, stored)
			if err != nil {
				return nil, err
			}
			position := int32(i)
			lines = append(lines, versionRow{key: k, Table: table.Name, Index: version.GetIndex(), Row: &position, Values: &values})
		}
	}
	return lines, nil
}

// constraintRows returns the comparisons of each node where it matched, or else where it comes
// closest.
func constraintRows(k key, schema *world.Schema, explained *evaluatorv1.ExplainTrajectoryResponse) []constraintRow {
	var lines []constraintRow
	for _, graph := range []struct {
		name  string
		nodes []*evaluatorv1.NodeExplanation
	}{{"milestones", explained.GetMilestones()}, {"minefields", explained.GetMinefields()}} {
		for _, node := range graph.nodes {
			at := node.GetMatch()
			if at == nil {
				at = node.GetBest()
			}
			line := constraintRow{
				key: k, Graph: graph.name, Node: node.GetNode(), NodeName: filled(node.GetName()), Matched: node.GetMatch() != nil, Index: at.GetIndex(),
				NodeSimilarity: node.GetMatch().GetSimilarity(),
			}
			for i, c := range at.GetConstraints() {
				lines = append(lines, line.compared(schema, false, i, c))
			}
			for i, c := range at.GetGuardrails() {
				lines = append(lines, line.compared(schema, true, i, c))
			}
		}
	}
	return lines
}

// compared returns the row of a comparison.
func (r constraintRow) compared(schema *world.Schema, guardrail bool, position int, c *evaluatorv1.ConstraintExplanation) constraintRow {
	table, _ := schema.Table(c.GetTable())
	r.Guardrail, r.Constraint, r.Table, r.Reference = guardrail, int32(position), c.GetTable(), c.Reference
	r.Measure = cmp.Or(c.GetPackMeasure(), evaluation.MeasureName(c.GetMeasure()))
	r.Similarity, r.Problem = c.GetSimilarity(), filled(c.GetProblem())
	var wanted, found []python.Value
	for _, pair := range c.GetRows() {
		if pair.Wanted == nil {
			found = append(found, rowValue(table, pair.GetFound()))
			continue
		}
		want, got := &python.Dict{}, &python.Dict{}
		for _, cell := range pair.GetCells() {
			want.Set(cell.GetColumn(), resultfile.Finite(world.CellValue(cell.GetWanted())))
			switch {
			case len(cell.GetFoundTexts()) > 0:
				got.Set(cell.GetColumn(), textValues(cell.GetFoundTexts()))
			case cell.GetFound() != nil:
				got.Set(cell.GetColumn(), resultfile.Finite(world.CellValue(cell.GetFound())))
			}
		}
		wanted = append(wanted, want.Value())
		if got.Len() > 0 {
			found = append(found, got.Value())
		}
	}
	for _, change := range c.GetChanges() {
		if !guardrail {
			break // the rows show them
		}
		changed := &python.Dict{}
		changed.Set("before", rowValue(table, change.GetBefore()))
		changed.Set("after", rowValue(table, change.GetAfter()))
		found = append(found, changed.Value())
	}
	r.Wanted, r.Found = listJSON(wanted), listJSON(found)
	return r
}

func listJSON(values []python.Value) *string {
	if len(values) == 0 {
		return nil
	}
	list := jsonText(python.List(values...))
	return &list
}

// jsonText returns a value as JSON in UTF-8: a lone surrogate is an escape.
func jsonText(v python.Value) string {
	if text := python.JSON(v); utf8.ValidString(text) {
		return text
	}
	return python.ASCIIJSON(v)
}

func textValues(texts []string) python.Value {
	values := make([]python.Value, len(texts))
	for i, text := range texts {
		values[i] = python.Str(text)
	}
	return python.List(values...)
}

// rowValue returns a row by column, none for nil.
func rowValue(table world.Table, r *worldv1.Row) python.Value {
	if r == nil {
		return python.None()
	}
	values := &python.Dict{}
	for i, column := range table.Columns {
		if i < len(r.GetCells()) {
			values.Set(column.Name, resultfile.Finite(world.CellValue(r.GetCells()[i])))
		}
	}
	return values.Value()
}
