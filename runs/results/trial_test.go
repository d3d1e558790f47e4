package results

import "testing"

func TestCutTrial(t *testing.T) {
	for _, c := range []struct {
		name, scenario string
		trial          int
		ok             bool
	}{
		{RolloutName("a", 0, 2), "a", 0, true},
		{RolloutName("a", 99_999, 100_000), "a", 99_999, true},
		{RolloutName("a_trial_1", 2, 3), "a_trial_1", 2, true},
		{RolloutName("a", 0, 1), "a", 0, false},
		{"a_trial_", "a_trial_", 0, false},
		{"a_trial_-1", "a_trial_-1", 0, false},
		{"a_trial_1-1", "a_trial_1-1", 0, false},
		{"a_trial_99999999999", "a_trial_99999999999", 0, false},
		{"_trial_1", "_trial_1", 0, false},
	} {
		scenario, trial, ok := CutTrial(c.name)
		if scenario != c.scenario || trial != c.trial || ok != c.ok {
			t.Errorf("CutTrial(%q): got %q, %d, %t, want %q, %d, %t", c.name, scenario, trial, ok, c.scenario, c.trial, c.ok)
		}
	}
}
