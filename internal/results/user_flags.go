package results

import (
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// UserFlag is a suspicion that a simulated user broke its contract.
type UserFlag struct {
	// Rule is which one: assistant, early_end, invented or leak.
	Rule string `json:"rule"`
	// Index is the message's.
	Index int `json:"index"`
	// Evidence is what raised it.
	Evidence string `json:"evidence"`
}

// UserContract says how often the simulated users of a run broke their contract.
type UserContract struct {
	// Rollouts are those whose user was watched, because it was no script.
	Rollouts int `json:"rollouts"`
	// Flagged are those of them with a flag, and Rate is their share.
	Flagged int     `json:"flagged"`
	Rate    float64 `json:"rate"`
	// Rules counts the flags of each rule.
	Rules map[string]int `json:"rules"`
}

// userFlags returns a rollout's flags as they are written.
func userFlags(flags []*busv1.Flag) []UserFlag {
	var list []UserFlag
	for _, flag := range flags {
		list = append(list, UserFlag{flag.GetRule(), int(flag.GetIndex()), flag.GetEvidence()})
	}
	return list
}

// userContract counts the flags of all rollouts; nil if no user was watched.
func userContract(rollouts []Rollout) *UserContract {
	contract := &UserContract{Rules: make(map[string]int)}
	for _, r := range rollouts {
		if user := r.Result.GetRollout().GetUser(); user == nil || user.GetScripted() != nil {
			continue
		}
		contract.Rollouts++
		if len(r.Flags) > 0 {
			contract.Flagged++
		}
		for _, flag := range r.Flags {
			contract.Rules[flag.GetRule()]++
		}
	}
	if contract.Rollouts == 0 {
		return nil
	}
	contract.Rate = float64(contract.Flagged) / float64(contract.Rollouts)
	return contract
}
