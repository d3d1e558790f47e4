package interchange

import "encoding/json"

// atifVersion is the version of the format.
const atifVersion = "ATIF-v1.8"

// trajectory is an ATIF file.
type trajectory struct {
	SchemaVersion string       `json:"schema_version"`
	SessionID     string       `json:"session_id"`
	TrajectoryID  string       `json:"trajectory_id"`
	Agent         atifAgent    `json:"agent"`
	Steps         []atifStep   `json:"steps"`
	FinalMetrics  *atifMetrics `json:"final_metrics,omitempty"`
	Extra         atifResult   `json:"extra"`
}

type atifAgent struct {
	Name      string            `json:"name"`
	Version   string            `json:"version"`
	ModelName string            `json:"model_name,omitempty"`
	Extra     map[string]string `json:"extra"`
}

type atifStep struct {
	StepID      int              `json:"step_id"`
	Source      role             `json:"source"`
	Message     string           `json:"message"`
	Calls       []atifCall       `json:"tool_calls,omitempty"`
	Observation *atifObservation `json:"observation,omitempty"`
	Extra       map[string]int32 `json:"extra"`
}

type atifCall struct {
	ID        string            `json:"tool_call_id"`
	Function  string            `json:"function_name"`
	Arguments json.RawMessage   `json:"arguments"`
	Extra     map[string]string `json:"extra,omitempty"`
}

type atifObservation struct {
	Results []atifAnswer `json:"results"`
}

type atifAnswer struct {
	CallID  string          `json:"source_call_id,omitempty"`
	Content string          `json:"content"`
	Extra   map[string]bool `json:"extra,omitempty"`
}

type atifMetrics struct {
	PromptTokens     *int64   `json:"total_prompt_tokens,omitempty"`
	CompletionTokens *int64   `json:"total_completion_tokens,omitempty"`
	CachedTokens     *int64   `json:"total_cached_tokens,omitempty"`
	CostUSD          *float64 `json:"total_cost_usd,omitempty"`
	Steps            int      `json:"total_steps"`
}

// atifResult is what ToolSandbox adds to a trajectory.
type atifResult struct {
	Rollout    string   `json:"rollout"`
	Categories []string `json:"categories"`
	User       string   `json:"user"`
	End        string   `json:"end"`
	Score      *float64 `json:"score"`
	Milestones *float64 `json:"milestone_similarity"`
	Minefields *float64 `json:"minefield_similarity"`
	Exception  *string  `json:"exception_type"`
	Sweep      string   `json:"sweep_id"`
	Seed       int64    `json:"seed"`
}

// writeATIF writes a file for each rollout.
func (e *exporter) writeATIF() error {
	return e.each(func(r rollout) error {
		if len(r.steps) == 0 {
			e.leave(r.entry.Name, noMessages) // a trajectory has at least one step
			return nil
		}
		return e.files.Add(r.entry.Name+".json", writeJSON(e.trajectory(r)))
	})
}

func (e *exporter) trajectory(r rollout) trajectory {
	t := trajectory{
		SchemaVersion: atifVersion, SessionID: r.outcome.ID, TrajectoryID: r.outcome.ID,
		Agent: atifAgent{Name: e.run.Agent.Name, Version: e.run.Program.Version, Extra: map[string]string{"program": "toolsandbox"}},
		Extra: atifResult{
			r.entry.Name, r.entry.Categories, e.run.User.Name, r.outcome.End, r.score(), r.entry.MilestoneSimilarity.Pointer(),
			r.entry.MinefieldSimilarity.Pointer(), r.entry.ExceptionType, e.run.SweepID, r.outcome.Seed,
		},
	}
	if m := e.run.Agent.Model; m != nil {
		t.Agent.ModelName = m.Model
	}
	for i, s := range r.steps {
		line := atifStep{StepID: i + 1, Source: s.role, Message: s.text, Extra: map[string]int32{"message": s.index}}
		var answers []atifAnswer
		for _, c := range s.calls {
			if !s.code {
				of := atifCall{ID: c.id, Function: c.tool, Arguments: c.arguments}
				if c.unreadable != "" {
					of.Extra = map[string]string{"arguments_text": c.unreadable}
				}
				line.Calls = append(line.Calls, of)
			}
			if c.answered {
				answer := atifAnswer{CallID: c.id, Content: c.answer}
				if c.failed {
					answer.Extra = map[string]bool{"failed": true}
				}
				answers = append(answers, answer)
			}
		}
		if len(answers) > 0 {
			line.Observation = &atifObservation{answers}
		}
		t.Steps = append(t.Steps, line)
	}
	t.FinalMetrics = &atifMetrics{Steps: len(t.Steps)}
	if u := r.outcome.Usage; u != nil && u.Agent != nil {
		t.FinalMetrics.CostUSD = u.Agent.CostUSD
		if input, output, ok := u.Agent.Tokens(); ok { // all or nothing: readers take a part for the whole
			t.FinalMetrics.PromptTokens, t.FinalMetrics.CompletionTokens, t.FinalMetrics.CachedTokens = &input, &output, u.Agent.CachedTokens
		}
	}
	return t
}
