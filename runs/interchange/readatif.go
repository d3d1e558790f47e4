package interchange

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// atifMinor is the newest minor version of ATIF 1 that is read.
const atifMinor = 8

// foreignATIF is what is read of an ATIF file of any tool.
type foreignATIF struct {
	SchemaVersion string `json:"schema_version"`
	SessionID     string `json:"session_id"`
	TrajectoryID  string `json:"trajectory_id"`
	Agent         struct {
		Name      string `json:"name"`
		ModelName string `json:"model_name"`
	} `json:"agent"`
	Steps []struct {
		Source  string `json:"source"`
		Message parts  `json:"message"`
		Calls   []struct {
			ID        string          `json:"tool_call_id"`
			Function  string          `json:"function_name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"tool_calls"`
		Observation *struct {
			Results []struct {
				CallID  string `json:"source_call_id"`
				Content parts  `json:"content"`
				Extra   struct {
					Failed any `json:"failed"`
				} `json:"extra"`
			} `json:"results"`
		} `json:"observation"`
	} `json:"steps"`
	FinalMetrics *struct {
		PromptTokens     *int64   `json:"total_prompt_tokens"`
		CompletionTokens *int64   `json:"total_completion_tokens"`
		CachedTokens     *int64   `json:"total_cached_tokens"`
		CostUSD          *float64 `json:"total_cost_usd"`
	} `json:"final_metrics"`
	// Extra is whatever the tool adds. ToolSandbox's own exports have these.
	Extra map[string]json.RawMessage `json:"extra"`
}

// readATIF reads one trajectory.
func readATIF(name string, data []byte) (*foreignRun, error) {
	file := &foreignATIF{}
	if err := decode(name, data, file); err != nil {
		return nil, err
	}
	minor, err := strconv.Atoi(strings.TrimPrefix(file.SchemaVersion, "ATIF-v1."))
	if err != nil || minor < 0 || minor > atifMinor || !strings.HasPrefix(file.SchemaVersion, "ATIF-v1.") {
		return nil, formatError(name, "schema_version: expected ATIF-v1.0 to %s, got %q", atifVersion, file.SchemaVersion)
	}
	if len(file.Steps) == 0 {
		return nil, formatError(name, "steps: expected at least one")
	}
	r := foreignRollout{scenario: cmp.Or(extra[string](file, "rollout"), file.TrajectoryID, file.SessionID, stem(name)), categories: extra[[]string](file, "categories")}
	if scenario, trial, ok := results.CutTrial(extra[string](file, "rollout")); ok {
		r.scenario, r.trial = scenario, trial
	}
	r.score = scoreOf(extra[*float64](file, "score"))
	if m := file.FinalMetrics; m != nil {
		r.usage = &results.RoleUsage{InputTokens: m.PromptTokens, OutputTokens: m.CompletionTokens, CachedTokens: m.CachedTokens, CostUSD: m.CostUSD}
	}
	speakers := map[string]worldv1.Role{"system": worldv1.Role_ROLE_SYSTEM, "user": worldv1.Role_ROLE_USER, "agent": worldv1.Role_ROLE_AGENT}
	for i, step := range file.Steps {
		speaker, ok := speakers[step.Source]
		if !ok {
			return nil, formatError(name, "steps.%d.source: expected system, user or agent, got %q", i, step.Source)
		}
		said := turn{speaker: speaker, text: string(step.Message)}
		for at, call := range step.Calls {
			if call.Function == "" {
				return nil, formatError(name, "steps.%d.tool_calls.%d.function_name: missing", i, at)
			}
			said.calls = append(said.calls, newCall(call.ID, call.Function, string(call.Arguments)))
		}
		r.turns = append(r.turns, said)
		if step.Observation == nil {
			continue
		}
		for _, answer := range step.Observation.Results {
			r.turns = append(r.turns, turn{answer: true, asker: worldv1.Role_ROLE_AGENT, id: answer.CallID, text: string(answer.Content), failed: answer.Extra.Failed == true})
		}
	}
	agent := cmp.Or(file.Agent.Name, "unknown")
	if file.Agent.ModelName != "" && file.Agent.ModelName != agent {
		agent += " " + file.Agent.ModelName
	}
	return &foreignRun{agent: agent, user: extra[string](file, "user"), rollouts: []foreignRollout{r}}, nil
}

// extra returns a value that ToolSandbox's exports have, and the zero value where another tool has
// something else.
func extra[T any](file *foreignATIF, name string) T {
	var value T
	if err := json.Unmarshal(file.Extra[name], &value); err != nil {
		var none T
		return none
	}
	return value
}
