// Package translate converts protobuf messages to the types of package score, and its results back.
package translate

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/score"
)

// Evaluation is a compiled evaluation. It is immutable and safe for concurrent use.
type Evaluation struct {
	// Source is what was compiled.
	Source                 *evaluationv1.Evaluation
	Milestones, Minefields *score.Graph
	// User is what the simulated user was told.
	User *evaluationv1.User
	// Task is what the agent's one turn is graded by instead of graphs, nil for a conversation.
	Task *euroeval.Task

	schema *world.Schema
}

// Compile compiles both graphs of an evaluation, and its task. Its error joins one error for each
// mistake, with the path of the field. It is source.Mistakes if the pack's measures have mistakes,
// and wraps a *euroeval.FieldError for a mistake of the task.
func Compile(source *evaluationv1.Evaluation) (*Evaluation, error) {
	schema, err := world.NewSchema(source.GetSchema())
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	measures, err := measure.Compile(source.GetMeasureModules())
	if err != nil {
		return nil, err
	}
	milestones, milestoneProblems := evaluation.Compile(source.GetMilestones(), schema, measures)
	minefields, minefieldProblems := evaluation.Compile(source.GetMinefields(), schema, measures)
	err = errors.Join(mistakes("", evaluation.CheckSchema(schema, measures)),
		mistakes("milestones.", milestoneProblems), mistakes("minefields.", minefieldProblems))
	if err != nil {
		return nil, err
	}
	compiled := &Evaluation{Source: source, Milestones: score.NewGraph(milestones), Minefields: score.NewGraph(minefields), User: source.GetUser(), schema: schema}
	if record := source.GetFunctionCalling(); record != nil {
		if compiled.Task, err = euroeval.NewTask(record.GetFunctionsJson(), record.GetAnswersJson()); err != nil {
			return nil, fmt.Errorf("function_calling: %w", err)
		}
	}
	return compiled, nil
}

// mistakes joins the problems that make scoring impossible.
func mistakes(prefix string, problems []evaluation.Problem) error {
	var all []error
	for _, problem := range problems {
		if !problem.Scored {
			all = append(all, fmt.Errorf("%s%s: %s", prefix, problem.Path, problem.Reason))
		}
	}
	return errors.Join(all...)
}

// Versions are table versions by name of the table, sorted by index.
type Versions map[string][]score.Version

// NewVersions translates table versions, which must be sorted by index within each table.
func NewVersions(tables []*worldv1.Table) Versions {
	versions := make(Versions)
	versions.add(tables)
	return versions
}

func (v Versions) add(tables []*worldv1.Table) {
	for _, version := range tables {
		rows := make([][]score.Value, len(version.GetRows()))
		for i, row := range version.GetRows() {
			rows[i] = make([]score.Value, len(row.GetCells()))
			for j, cell := range row.GetCells() {
				rows[i][j] = score.FromProto(cell)
			}
		}
		name := version.GetName()
		v[name] = append(slices.Clip(v[name]), score.Version{Index: int(version.GetIndex()), Rows: rows})
	}
}

// Trajectory translates messages, which must have indices from 0 without gaps, and tables, the
// versions after starting. Its error says what breaks these rules. The trajectory shares the rows
// of starting.
func (e *Evaluation) Trajectory(messages []*worldv1.Message, starting Versions, tables []*worldv1.Table) (*score.Trajectory, error) {
	versions := maps.Clone(starting)
	if versions == nil {
		versions = make(Versions)
	}
	versions.add(tables)
	t := &score.Trajectory{Schema: e.schema, Messages: make([]score.Message, len(messages)), Tables: versions}
	for i, m := range messages {
		if int(m.GetIndex()) != i {
			return nil, fmt.Errorf("message %d has index %d", i, m.GetIndex())
		}
		t.Messages[i] = message(m)
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return t, nil
}

func message(m *worldv1.Message) score.Message {
	out := score.Message{Sender: m.GetSender(), Recipient: m.GetRecipient(), Active: m.ConversationActive, VisibleTo: m.GetVisibleTo()}
	switch body := m.GetBody().(type) {
	case *worldv1.Message_Text:
		out.Content = &body.Text
	case *worldv1.Message_Call:
		source := messagetext.Source(body.Call)
		out.Content, out.ToolCallID, out.FunctionName = &source, body.Call.Id, body.Call.Name
	case *worldv1.Message_Code:
		out.Content, out.ToolCallID, out.FunctionName = &body.Code.Source, body.Code.Id, body.Code.Name
	case *worldv1.Message_Result:
		r := body.Result
		out.Content, out.ToolCallID, out.FunctionName, out.Exception, out.Traces = r.Text, r.Id, r.Name, r.Exception, r.GetTraces()
	}
	return out
}

// Explanation writes an explanation into the wire form. evaluation gives the nodes their names.
func Explanation(explained score.Explanation, evaluation *evaluationv1.Evaluation, messages int) *evaluatorv1.ExplainTrajectoryResponse {
	for i, node := range explained.Milestones {
		node.Name = evaluation.GetMilestones().GetNodes()[i].GetName()
	}
	for i, node := range explained.Minefields {
		node.Name = evaluation.GetMinefields().GetNodes()[i].GetName()
	}
	return &evaluatorv1.ExplainTrajectoryResponse{
		Result: Result(explained.Result, messages), Milestones: explained.Milestones, Minefields: explained.Minefields,
	}
}

// Result writes a score into the wire form; rollout and end are the caller's.
func Result(scored score.Result, messages int) *busv1.Result {
	return &busv1.Result{
		MilestoneSimilarity: scored.Milestones.Similarity,
		MinefieldSimilarity: scored.Minefields.Similarity,
		Similarity:          scored.Similarity,
		TurnCount:           int32(scored.TurnCount),
		Milestones:          matches(scored.Milestones),
		Minefields:          matches(scored.Minefields),
		MilestoneCount:      int32(len(scored.Milestones.Matches)),
		MessageCount:        int32(messages),
	}
}

func matches(graph score.GraphResult) []*busv1.Match {
	var list []*busv1.Match
	for node, match := range graph.Matches {
		if match.Matched {
			list = append(list, &busv1.Match{Node: int32(node), Index: int32(match.Index), Similarity: match.Similarity})
		}
	}
	return list
}
