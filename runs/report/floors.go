package report

import (
	"fmt"
	"io"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

// WriteFloors prints what agents without a model score on a run's scenarios, and a note if the
// agent's mean is lower. The note says if the mean is one of survivors: of scored rollouts only. It
// prints nothing if the floors are unknown.
func WriteFloors(w io.Writer, floors *results.Floors, mean *float64, scored, rollouts int) error {
	if floors == nil {
		return nil
	}
	scenarios := "these %d scenarios"
	if floors.Scenarios == 1 {
		scenarios = "this %d scenario"
	}
	text := fmt.Sprintf("\nfloors on "+scenarios+": idle %.3f, random %.3f", floors.Scenarios, floors.Idle.Mean, floors.Random.Mean)
	if floors.Oracle != nil {
		text += fmt.Sprintf("; oracle %.3f", floors.Oracle.Mean)
	}
	text += "\n"
	if mean != nil {
		below := ""
		switch idle, random := *mean < floors.Idle.Mean, *mean < floors.Random.Mean; {
		case idle && random:
			below = "both"
		case idle:
			below = "an idle agent's"
		case random:
			below = "that of random calls"
		}
		if below != "" {
			survivors := ""
			if scored < rollouts {
				survivors = fmt.Sprintf(" (n %d of %d)", scored, rollouts)
			}
			text += fmt.Sprintf("the agent's mean, %.3f%s, is below %s\n", *mean, survivors, below)
		}
	}
	_, err := io.WriteString(w, text)
	return err
}
