// Package plan expands a sweep into its rollouts. The plan is a pure function of the sweep: every
// expansion yields the same rollouts with the same ids and seeds.
package plan

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"
	"strings"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// Expand returns the rollouts of a sweep: scenarios × agents × users × trials, in this nesting
// order. A rollout's id contains its number in the plan.
func Expand(sweep *busv1.Sweep) []*busv1.Rollout {
	rollouts := make([]*busv1.Rollout, 0, Size(sweep))
	for _, scenario := range sweep.GetScenarios() {
		for _, agent := range sweep.GetAgents() {
			for _, user := range sweep.GetUsers() {
				for n := range sweep.GetTrials() {
					trial := sweep.GetFork().GetTrial() + n
					played := &busv1.Rollout{
						Id:               ID(sweep.GetId(), len(rollouts)),
						SweepId:          sweep.GetId(),
						Scenario:         scenario.GetName(),
						Trial:            trial,
						SetupDigest:      scenario.GetSetupDigest(),
						EvaluationDigest: scenario.GetEvaluationDigest(),
						Agent:            agent,
						User:             user,
						Seed:             seed(sweep.GetSeed(), scenario.GetName(), trial),
						Compat:           sweep.GetCompat(),
						HostedServices:   sweep.GetHostedServices(),
						Replay:           sweep.GetReplay(),
						MaxBytes:         sweep.GetMaxBytes(),
						RepeatLimit:      sweep.GetRepeatLimit(),
						Team:             sweep.GetTeam(),
						Fork:             sweep.GetFork(),
					}
					if fork := sweep.GetFork(); fork != nil {
						played.FailingSeed = seed(sweep.GetSeed(), scenario.GetName(), fork.GetFailingTrial())
					}
					rollouts = append(rollouts, played)
				}
			}
		}
	}
	return rollouts
}

// Size returns the number of rollouts.
func Size(sweep *busv1.Sweep) int {
	return len(sweep.GetScenarios()) * len(sweep.GetAgents()) * len(sweep.GetUsers()) * int(sweep.GetTrials())
}

// ID returns the id of the n-th rollout of a sweep, n from 0.
func ID(sweepID string, n int) string { return sweepID + "." + strconv.Itoa(n) }

// Has reports whether a rollout is in the plan of a sweep.
func Has(sweep *busv1.Sweep, rolloutID string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(rolloutID, sweep.GetId()+"."))
	return err == nil && n >= 0 && n < Size(sweep) && rolloutID == ID(sweep.GetId(), n)
}

// seed returns the seed of a rollout. It depends on the sweep's seed, the scenario and the trial,
// but not on the sweep's id and the players, so that all players get the same random numbers in
// every run.
func seed(sweep int64, scenario string, trial int32) int64 {
	h := fnv.New64a()
	var number [12]byte
	binary.BigEndian.PutUint64(number[:8], uint64(sweep))
	binary.BigEndian.PutUint32(number[8:], uint32(trial))
	_, _ = h.Write(number[:])
	_, _ = h.Write([]byte(scenario))
	return int64(h.Sum64())
}
