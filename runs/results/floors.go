package results

// Floors are what agents without a model score on the scenarios of a run, with the scripted user.
type Floors struct {
	// Scenarios is the number of scenarios.
	Scenarios int `json:"scenarios"`
	// Idle is the unhelpful agent, Random the one that calls random tools.
	Idle   Floor `json:"idle"`
	Random Floor `json:"random"`
	// Oracle is each scenario's own solution, the ceiling: nil unless all have one.
	Oracle *Floor `json:"oracle,omitempty"`
	// Categories are the same by category.
	Categories map[string]*CategoryFloors `json:"categories,omitempty"`
}

// CategoryFloors are the floors of the scenarios of one category.
type CategoryFloors struct {
	Idle   Floor  `json:"idle"`
	Random Floor  `json:"random"`
	Oracle *Floor `json:"oracle,omitempty"`
}

// Floor is the mean score of scored rollouts.
type Floor struct {
	Mean     float64 `json:"mean"`
	Rollouts int     `json:"rollouts"`
}

// Add adds a rollout's score.
func (f *Floor) Add(score float64) {
	f.Rollouts++
	f.Mean += (score - f.Mean) / float64(f.Rollouts)
}
