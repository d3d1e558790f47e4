package results

import (
	"strconv"
	"strings"
)

// trialMark separates the scenario and the trial in the name of a rollout.
const trialMark = "_trial_"

// RolloutName returns the name of one of a scenario's trials: that of the scenario if it is the
// only one.
func RolloutName(scenario string, trial, trials int) string {
	if trials < 2 {
		return scenario
	}
	return scenario + TrialSuffix(trial)
}

// TrialSuffix returns the end of the name of a rollout in a run of several trials.
func TrialSuffix(trial int) string { return trialMark + strconv.Itoa(trial) }

// CutTrial returns the scenario and the trial of a rollout of a run of several trials. ok is false
// for another name. A scenario may have a name that ends like this, so the caller has to know that
// the run has several.
func CutTrial(rollout string) (scenario string, trial int, ok bool) {
	at := strings.LastIndex(rollout, trialMark)
	if at < 1 {
		return rollout, 0, false
	}
	number, err := strconv.ParseUint(rollout[at+len(trialMark):], 10, 31)
	if err != nil {
		return rollout, 0, false
	}
	return rollout[:at], int(number), true
}
