package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/original/importer"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// unknownLabel is the label of rollouts in which the agent calls a tool that it does not have.
	unknownLabel = "unknown"
	// rolloutBatch is the number of trajectories per sweep.
	rolloutBatch = 128
)

// Trajectory is one recorded rollout.
type Trajectory struct {
	line int
	// Scenario has the recorded turns as scripts. Its name is unique in the file.
	Scenario *scenariov1.Scenario
	// compat reports whether the rollout aborts where the original does.
	compat bool
	// Messages and Tables are those after the starting ones.
	Messages []*worldv1.Message
	Tables   []*worldv1.Table
	want     recordedResult
}

// Trajectories returns the cases of a file of trajectories, in order. Their scenarios are in the
// nearest scenarios.json above it. The error names the line.
func Trajectories(path string) ([]*Trajectory, error) {
	scenarios, err := New(Services{}, Config{}).scenariosFor(path)
	if err != nil {
		return nil, err
	}
	return decodeAll(path, func(l line) (*Trajectory, error) { return decodeTrajectory(scenarios, l) })
}

type recordedTrajectory struct {
	Scenario, Variant, Label string
	Agent, User              []recordedTurn
	API                      []recordedAnswer
	Messages, Versions       json.RawMessage
	Result                   recordedResult
}

type recordedTurn struct {
	Say   string
	Calls []struct {
		ID, Tool string
		// Arguments preserves the spelling of numbers.
		Arguments json.RawMessage
	}
}

// openTrajectory prepares a file of trajectories. It uses one sweep per batch. With ScoreOnly it
// uses one request per line.
func openTrajectory(ctx context.Context, r *Runner, path string) (fileRunner, error) {
	scenarios, err := r.scenariosFor(path)
	if err != nil {
		return fileRunner{}, err
	}
	if r.cfg.ScoreOnly {
		return r.perCase(func(ctx context.Context, l line) outcome {
			t, err := decodeTrajectory(scenarios, l)
			if err != nil {
				return outcome{differences: errorDifference(err)}
			}
			return r.score(ctx, t.ScoringCase())
		}), nil
	}
	if err := r.loadTools(ctx); err != nil {
		return fileRunner{}, err
	}
	return fileRunner{batch: rolloutBatch, workers: 1, run: func(ctx context.Context, lines []line) []outcome {
		return r.replay(ctx, scenarios, lines)
	}}, nil
}

// decodeTrajectory decodes a line.
func decodeTrajectory(scenarios scenarioLookup, l line) (*Trajectory, error) {
	var recorded recordedTrajectory
	if err := json.Unmarshal(l.raw, &recorded); err != nil {
		return nil, fmt.Errorf("decode trajectory: %w", err)
	}
	scenario, err := scenarios(recorded.Scenario, recorded.Variant)
	if err != nil {
		return nil, fmt.Errorf("decode trajectory: %w", err)
	}
	setup := scenario.GetSetup()
	setup.Name += "." + strconv.Itoa(l.number)
	setup.OracleScript = decodeTurns(recorded.Agent)
	setup.UserScript = decodeTurns(recorded.User)
	setup.Recordings = decodeRecordings(recorded.API)
	t := &Trajectory{
		line:     l.number,
		Scenario: scenario,
		compat:   recorded.Label == unknownLabel || recorded.Result.ExceptionType != "",
		want:     recorded.Result,
	}
	if t.Messages, err = importer.Messages(recorded.Messages, len(setup.GetMessages())); err != nil {
		return nil, fmt.Errorf("decode trajectory: %w", err)
	}
	if t.Tables, err = importer.Tables(recorded.Versions); err != nil {
		return nil, fmt.Errorf("decode trajectory: %w", err)
	}
	return t, nil
}

func decodeTurns(recorded []recordedTurn) []*worldv1.ScriptTurn {
	turns := make([]*worldv1.ScriptTurn, len(recorded))
	for i, turn := range recorded {
		turns[i] = &worldv1.ScriptTurn{Say: turn.Say}
		for _, c := range turn.Calls {
			turns[i].Calls = append(turns[i].Calls, &worldv1.ToolCall{Id: &c.ID, Tool: c.Tool, ArgumentsJson: string(c.Arguments)})
		}
	}
	return turns
}

// ScoringCase returns the complete recorded trajectory.
func (t *Trajectory) ScoringCase() *ScoringCase {
	setup := t.Scenario.GetSetup()
	return &ScoringCase{
		Evaluation: t.Scenario.GetEvaluation(),
		Messages:   slices.Concat(setup.GetMessages(), t.Messages),
		Tables:     mergeTables(setup.GetTables(), t.Tables),
		want:       t.want,
	}
}
