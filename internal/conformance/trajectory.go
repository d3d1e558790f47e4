package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/importer"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// unknownLabel marks rollouts in which the agent calls a tool that it does not have.
	unknownLabel = "unknown"
	// rolloutBatch is how many trajectories are played in one sweep.
	rolloutBatch = 128
)

// Trajectory is one recorded rollout.
type Trajectory struct {
	line int
	// Scenario has the recorded turns as its scripts and a name that is unique in its file.
	Scenario *scenariov1.Scenario
	// compat rollouts abort where the original does.
	compat bool
	// Messages and Tables came after the starting ones.
	Messages []*worldv1.Message
	Tables   []*worldv1.Table
	want     recordedResult
}

// Trajectories returns the cases of a file of trajectories, in order; their scenarios are in the
// nearest scenarios.json above it. The error names the line.
func Trajectories(path string) ([]*Trajectory, error) {
	scenarios, err := New(Services{}, Config{}).scenariosFor(path)
	if err != nil {
		return nil, err
	}
	return decodeAll(path, func(l line) (*Trajectory, error) { return decodeTrajectory(scenarios, l) })
}

// ExceptionType is the exception that ended the original's rollout, empty if none did.
func (t *Trajectory) ExceptionType() string { return t.want.ExceptionType }

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
		// Arguments keeps the spelling of numbers.
		Arguments json.RawMessage
	}
}

// openTrajectory prepares a file of trajectories: one sweep per batch, or one request per line to
// score only.
func openTrajectory(ctx context.Context, r *Runner, path string) (player, error) {
	scenarios, err := r.scenariosFor(path)
	if err != nil {
		return player{}, err
	}
	if r.cfg.ScoreOnly {
		return r.perCase(func(ctx context.Context, l line) outcome {
			t, err := decodeTrajectory(scenarios, l)
			if err != nil {
				return outcome{differences: failure(err)}
			}
			return r.score(ctx, t.Scoring())
		}), nil
	}
	if err := r.loadTools(ctx); err != nil {
		return player{}, err
	}
	return player{batch: rolloutBatch, workers: 1, play: func(ctx context.Context, lines []line) []outcome {
		return r.replay(ctx, scenarios, lines)
	}}, nil
}

// decodeTrajectory decodes a line.
func decodeTrajectory(scenarios lookup, l line) (*Trajectory, error) {
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

func decodeTurns(recorded []recordedTurn) []*worldv1.Turn {
	turns := make([]*worldv1.Turn, len(recorded))
	for i, turn := range recorded {
		turns[i] = &worldv1.Turn{Say: turn.Say}
		for _, c := range turn.Calls {
			turns[i].Calls = append(turns[i].Calls, &worldv1.ToolCall{Id: &c.ID, Tool: c.Tool, ArgumentsJson: string(c.Arguments)})
		}
	}
	return turns
}

// Scoring returns the recorded trajectory as a whole.
func (t *Trajectory) Scoring() *Scoring {
	setup := t.Scenario.GetSetup()
	return &Scoring{
		Evaluation: t.Scenario.GetEvaluation(),
		Messages:   slices.Concat(setup.GetMessages(), t.Messages),
		Tables:     mergeTables(setup.GetTables(), t.Tables),
		want:       t.want,
	}
}
