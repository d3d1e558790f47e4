package explain

import (
	"context"
	"fmt"

	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// TextIsNoCall reports whether the agent of a run was a plug-in: it saw functions as tools, so its
// texts are no calls. run is nil for a run of the original.
func TextIsNoCall(run *results.Run) bool {
	if run == nil {
		return false
	}
	agent, err := player.Parse(worldv1.Role_ROLE_AGENT, run.Agent.Name)
	return err == nil && agent.GetPlugin() != nil
}

// Read reads a rollout of a run, without an explanation. scenario is the one that it played. The
// errors are those of results.Reader.Trajectory.
func Read(reader *results.Reader, entry *resultfile.ScenarioResult, causes []results.Cause, scenario *scenariov1.Scenario) (*Report, error) {
	trajectory, err := reader.Trajectory(entry.Name, world.SchemaOrBuiltin(scenario.GetEvaluation().GetSchema()))
	if err != nil {
		return nil, err
	}
	return New(reader.Run(), entry, causes, scenario, trajectory), nil
}

// New returns a rollout with its trajectory, without an explanation. run is nil for a run of the
// original, scenario for an unknown one.
func New(run *results.Run, entry *resultfile.ScenarioResult, causes []results.Cause, scenario *scenariov1.Scenario, trajectory *resultfile.Trajectory) *Report {
	report := &Report{
		Name: entry.Name, Evaluation: scenario.GetEvaluation(), Messages: trajectory.Messages, Tables: trajectory.Tables, Causes: causes,
		textIsNoCall: TextIsNoCall(run),
	}
	if recorded, scored := entry.Similarity.Number(); scored {
		report.Recorded = &recorded
	}
	if entry.ExceptionType != nil {
		report.Failure = *entry.ExceptionType
	}
	return report
}

// Explain asks an evaluator for the explanation. The error says why it rejects the rollout.
func (r *Report) Explain(ctx context.Context, evaluator evaluatorv1.EvaluatorServiceClient) error {
	explanation, err := evaluator.ExplainTrajectory(ctx, &evaluatorv1.ExplainTrajectoryRequest{
		Evaluation: r.Evaluation, Messages: r.Messages, Tables: r.Tables, TextIsNoCall: r.textIsNoCall,
	})
	if err != nil {
		return fmt.Errorf("explain %s: %s", r.Name, status.Convert(err).Message())
	}
	r.Explanation = explanation
	return nil
}
