package rescore

import (
	"fmt"
	"path"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// Select returns the indices of the rollouts that match any pattern; a pattern that matches nothing
// is process.ErrUsage. list is the file or directory that has all names.
func Select(dir string, patterns []string, summary *resultfile.Summary, scenarios map[string]*scenariov1.Scenario, list string) ([]int, error) {
	selected := make(map[int]bool)
	for _, pattern := range patterns {
		found := false
		for i, entry := range summary.Scenarios {
			for _, name := range []string{entry.Name, ScenarioName(entry.Name, scenarios)} {
				matched, err := path.Match(pattern, name)
				if err != nil {
					return nil, process.UsageErrorf("NAME: pattern %q: %w", pattern, err)
				}
				if matched {
					selected[i], found = true, true
				}
			}
		}
		if !found {
			return nil, process.UsageErrorf("NAME: the run in %s did not play %q: see the names in %s", dir, pattern, list)
		}
	}
	var indices []int
	for i := range summary.Scenarios {
		if len(patterns) == 0 || selected[i] {
			indices = append(indices, i)
		}
	}
	return indices, nil
}

// Find returns the rollout of that name, or the only rollout of the scenario of that name. An empty
// name means the run's only rollout. Another name is process.ErrUsage. list is the file or
// directory that has all names.
func Find(dir, name string, summary *resultfile.Summary, scenarios map[string]*scenariov1.Scenario, list string) (*resultfile.ScenarioResult, error) {
	if name == "" && len(summary.Scenarios) != 1 {
		return nil, process.UsageErrorf("SCENARIO: missing, the run in %s played %d: see the names in %s", dir, len(summary.Scenarios), list)
	}
	if name == "" {
		return &summary.Scenarios[0], nil
	}
	var trials []*resultfile.ScenarioResult
	var names, known []string
	for i := range summary.Scenarios {
		entry := &summary.Scenarios[i]
		if entry.Name == name {
			return entry, nil
		}
		known = append(known, entry.Name)
		if ScenarioName(entry.Name, scenarios) == name {
			trials, names = append(trials, entry), append(names, entry.Name)
		}
	}
	switch len(trials) {
	case 1:
		return trials[0], nil
	case 0:
		hint := "see the names in " + list
		if nearest := spelling.Nearest(name, known, 3); nearest != "" {
			hint = fmt.Sprintf("did you mean %q?", nearest)
		}
		return nil, process.UsageErrorf("SCENARIO: the run in %s did not play %q: %s", dir, name, hint)
	default:
		return nil, process.UsageErrorf("SCENARIO: the run in %s played %s %d times: name one of %s to %s", dir, name, len(trials), names[0], names[len(names)-1])
	}
}

// ScenarioName returns the scenario name of a rollout: run appends the trial if it plays a scenario
// several times.
func ScenarioName(rollout string, scenarios map[string]*scenariov1.Scenario) string {
	if scenarios[rollout] != nil {
		return rollout
	}
	name, _, _ := results.CutTrial(rollout)
	return name
}

// Names returns the names of the rollouts of a run, and what ScenarioName may return for them.
func Names(summary *resultfile.Summary) []string {
	var names []string
	for i := range summary.Scenarios {
		rollout := summary.Scenarios[i].Name
		names = append(names, rollout, ScenarioName(rollout, nil))
	}
	return names
}
