package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// The states of a sweep.
const (
	SweepRunning   = "running"
	SweepPaused    = "paused"
	SweepDone      = "done"
	SweepCancelled = "cancelled"
	SweepExhausted = "exhausted"
	SweepDeleted   = "deleted"
)

// Sweep is a sweep for programs.
type Sweep struct {
	ID     string   `json:"id"`
	State  string   `json:"state"`
	Done   int64    `json:"done"`
	Total  int64    `json:"total"`
	Agents []string `json:"agents"`
	Users  []string `json:"users"`
	// Created is when it was first created.
	Created time.Time `json:"created"`
	// Reason says why a sweep stopped at its spend limit.
	Reason string `json:"reason,omitempty"`
}

// NewSweep converts an orchestrator's description of a sweep.
func NewSweep(info *orchestratorv1.SweepInfo) Sweep {
	s := Sweep{
		ID: info.GetId(), State: SweepRunning, Done: info.GetProgress().GetDone(), Total: info.GetProgress().GetTotal(),
		Agents: info.GetAgents(), Users: info.GetUsers(), Created: info.GetCreated().AsTime(),
	}
	switch {
	case info.GetDeleted():
		s.State = SweepDeleted
	case info.GetCancelled():
		s.State = SweepCancelled
	case s.Done == s.Total:
		s.State = SweepDone
	case info.GetExhausted() != "":
		s.State, s.Reason = SweepExhausted, info.GetExhausted()
	case info.GetPaused():
		s.State = SweepPaused
	}
	return s
}

// Over reports whether nothing of the sweep will be played.
func (s Sweep) Over() bool {
	return s.State == SweepDone || s.State == SweepCancelled || s.State == SweepDeleted
}

// Sweeps prints sweeps, one per line.
func Sweeps(w io.Writer, sweeps []Sweep) error {
	t := output.NewNumbers(table.Row{"sweep", "state", "done", "agent", "user", "created"})
	for _, s := range sweeps {
		t.Append(table.Row{
			s.ID, s.State, fmt.Sprintf("%d/%d", s.Done, s.Total), strings.Join(s.Agents, ", "), strings.Join(s.Users, ", "),
			s.Created.Local().Format(time.DateTime),
		})
	}
	_, err := fmt.Fprintln(w, t.Fit(output.Width(w)))
	return err
}

// SweepResult is the result of one rollout for programs.
type SweepResult struct {
	Rollout  string `json:"rollout"`
	Scenario string `json:"scenario"`
	Trial    int32  `json:"trial"`
	Agent    string `json:"agent"`
	User     string `json:"user"`
	// Similarity is the score, nil if the rollout has none.
	Similarity *float64 `json:"similarity"`
	// End is the reason of its end, Detail the explanation.
	End    string `json:"end"`
	Detail string `json:"detail,omitempty"`
}

// NewSweepResult converts a result for programs.
func NewSweepResult(result *busv1.Result) SweepResult {
	played := result.GetRollout()
	r := SweepResult{
		Rollout: played.GetId(), Scenario: played.GetScenario(), Trial: played.GetTrial(),
		Agent: played.GetAgent().GetName(), User: played.GetUser().GetName(),
		End:    results.EndName(result.GetEnd().GetReason()),
		Detail: result.GetEnd().GetDetail(),
	}
	if resultfile.Scored(result) {
		similarity := result.GetSimilarity()
		r.Similarity = &similarity
	}
	return r
}
