package analysis

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
)

// ToolScore is the mean score of the rollouts of a variant in which the agent calls a tool.
type ToolScore struct {
	Tool     string
	Variant  string
	Rollouts int
	Mean     float64
}

// ToolScores returns the scores by tool and variant, none of a run without trajectories. It reads
// all trajectories. The error is that of ctx, or one of the reader for a damaged trajectory.
func (r *Run) ToolScores(ctx context.Context) ([]ToolScore, error) {
	scores := make(map[[2]string]*ToolScore)
	for _, played := range r.rollouts {
		if played.score == nil {
			continue
		}
		called, err := r.calledTools(ctx, []rollout{played})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, tool := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(called...)))) {
			key := [2]string{tool, played.variant}
			if scores[key] == nil {
				scores[key] = &ToolScore{Tool: tool, Variant: played.variant}
			}
			s := scores[key]
			s.Rollouts++
			s.Mean += (*played.score - s.Mean) / float64(s.Rollouts)
		}
	}
	var all []ToolScore
	for _, key := range slices.SortedFunc(maps.Keys(scores), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), compareKeys([2]string{a[1]}, [2]string{b[1]}))
	}) {
		all = append(all, *scores[key])
	}
	return all, nil
}
