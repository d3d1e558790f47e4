package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// Rescore is the change of a run's scores under other milestones.
type Rescore struct {
	// Moved are the rollouts with another score or another similarity of a node.
	Moved []ScoreChange `json:"moved"`
	// Unmoved counts the other scored rollouts.
	Unmoved int `json:"unmoved"`
	// Failed are rollouts that ended in a failure and keep their score.
	Failed []string `json:"failed"`
	// NoScenario are rollouts without a scenario.
	NoScenario []string `json:"no_scenario"`
	// NoTrajectory are rollouts without files.
	NoTrajectory []string `json:"no_trajectory"`
	// NotPlayed counts the rollouts of the run that have no result.
	NotPlayed int `json:"not_played"`
	// Before and After are the means over the whole run, nil if nothing has a score.
	Before *float64 `json:"mean_before"`
	After  *float64 `json:"mean_after"`
	// Flagged are the rollouts whose users' flags changed, and UserFlagCounts counts the new flags,
	// nil if no user was checked.
	Flagged        []string                `json:"user_flags_changed"`
	UserFlagCounts *results.UserFlagCounts `json:"user_flag_counts,omitempty"`
	// CauseCounts counts the causes of the selected rollouts under the new scores, nil without any.
	CauseCounts *results.CauseCounts `json:"cause_counts,omitempty"`
	// Written is set if the new scores and flags are in the run's directory.
	Written bool `json:"written"`
}

// ScoreChange is a rollout whose score moved; nil means no score.
type ScoreChange struct {
	Name   string   `json:"name"`
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
	// Milestones and Minefields are the nodes that moved.
	Milestones []NodeChange `json:"milestones"`
	Minefields []NodeChange `json:"minefields"`
}

// NodeChange is a node whose similarity moved; nil means a missing or unmatched node.
type NodeChange struct {
	Node   int      `json:"node"`
	Name   string   `json:"name,omitempty"`
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
}

// NewRescore returns an empty Rescore.
func NewRescore() *Rescore {
	return &Rescore{Moved: []ScoreChange{}, Failed: []string{}, NoScenario: []string{}, NoTrajectory: []string{}, Flagged: []string{}}
}

// Scored returns the number of rollouts that were scored.
func (r *Rescore) Scored() int { return len(r.Moved) + r.Unmoved }

// CheckScored rejects a command that scores nothing of the run in dir, with the scenarios of the
// named sources. Rollouts that ended in a failure need no score. The error wraps process.ErrUsage.
func (r *Rescore) CheckScored(dir, sources string) error {
	switch {
	case r.Scored() > 0:
		return nil
	case len(r.NoScenario) > 0:
		return process.UsageErrorf("RUN: nothing in %s can be scored: %s has no scenario of it: give the run's --pack", dir, sources)
	case len(r.NoTrajectory) > 0:
		return process.UsageErrorf("RUN: nothing in %s can be scored: it has no trajectory of %d rollouts", dir, len(r.NoTrajectory))
	}
	return nil
}

// Add compares the entries of one rollout.
func (r *Rescore) Add(before, after *resultfile.ScenarioResult, evaluation *evaluationv1.Evaluation) {
	move := ScoreChange{
		Name: after.Name, Before: before.Similarity.Pointer(), After: after.Similarity.Pointer(),
		Milestones: nodes(before.MilestoneMapping, after.MilestoneMapping, evaluation.GetMilestones()),
		Minefields: nodes(before.MinefieldMapping, after.MinefieldMapping, evaluation.GetMinefields()),
	}
	if equal(move.Before, move.After) && len(move.Milestones)+len(move.Minefields) == 0 {
		r.Unmoved++
		return
	}
	r.Moved = append(r.Moved, move)
}

func equal(a, b *float64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// nodes returns the moved nodes of a graph, by number.
func nodes(before, after resultfile.Mapping, graph *evaluationv1.Graph) []NodeChange {
	moves := make(map[int]*NodeChange)
	for i, mapping := range []resultfile.Mapping{before, after} {
		for _, match := range mapping {
			if moves[match.Node] == nil {
				moves[match.Node] = &NodeChange{Node: match.Node}
			}
			if i == 0 {
				moves[match.Node].Before = match.Similarity.Pointer()
			} else {
				moves[match.Node].After = match.Similarity.Pointer()
			}
		}
	}
	moved := []NodeChange{}
	for _, move := range moves {
		if equal(move.Before, move.After) {
			continue
		}
		if list := graph.GetNodes(); move.Node >= 0 && move.Node < len(list) {
			move.Name = list[move.Node].GetName()
		}
		moved = append(moved, *move)
	}
	slices.SortFunc(moved, func(a, b NodeChange) int { return a.Node - b.Node })
	return moved
}

// WriteRescore writes one line per rollout whose score moved, the totals, the causes, and the
// changed flags of users.
func WriteRescore(w io.Writer, r *Rescore) error {
	var out strings.Builder
	if len(r.Moved) > 0 {
		moved := output.NewNumbers(table.Row{"scenario", "before", "after", "change", ""})
		for _, move := range r.Moved {
			moved.Append(table.Row{move.Name, orNone(move.Before), orNone(move.After), move.change(), move.text()})
		}
		out.WriteString(moved.Fit(output.Width(w)) + "\n\n")
	}
	fmt.Fprintf(&out, "%d of %d scores moved, mean %s before, %s after\n", len(r.Moved), r.Scored(), orNone(r.Before), orNone(r.After))
	for _, group := range []struct {
		why   string
		names []string
	}{
		{"ended in a failure", r.Failed}, {"scenario not in the catalogue", r.NoScenario}, {"no trajectory", r.NoTrajectory},
	} {
		if len(group.names) > 0 {
			fmt.Fprintf(&out, "%d unchanged, %s: %s\n", len(group.names), group.why, strings.Join(group.names, ", "))
		}
	}
	if len(r.Flagged) > 0 {
		fmt.Fprintf(&out, "user flags changed: %s\n", strings.Join(r.Flagged, ", "))
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return err
	}
	return errors.Join(WriteCauses(w, r.CauseCounts), WriteUserFlags(w, r.UserFlagCounts))
}

// change formats the difference of the scores.
func (m ScoreChange) change() string {
	if m.Before == nil || m.After == nil {
		return ""
	}
	return output.Signed(*m.After - *m.Before)
}

// text lists the moved nodes.
func (m ScoreChange) text() string {
	var texts []string
	for _, node := range m.Milestones {
		texts = append(texts, "milestone "+node.text())
	}
	for _, node := range m.Minefields {
		texts = append(texts, "minefield "+node.text())
	}
	return strings.Join(texts, "\n")
}

func (n NodeChange) text() string {
	title := fmt.Sprint(n.Node)
	if n.Name != "" {
		title += " " + n.Name
	}
	return fmt.Sprintf("%s: %s → %s", title, orNone(n.Before), orNone(n.After))
}

func orNone(similarity *float64) string {
	if similarity == nil {
		return "none"
	}
	return number(*similarity)
}
