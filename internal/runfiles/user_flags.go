package runfiles

import (
	"slices"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
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
	// Rollouts are those whose user was watched: it was no script and made a turn.
	Rollouts int `json:"rollouts"`
	// Flagged are those of them with a flag, and Rate is their share.
	Flagged int     `json:"flagged"`
	Rate    float64 `json:"rate"`
	// Rules counts the flags of each rule.
	Rules map[string]int `json:"rules"`
}

// userFlags returns a rollout's flags as they are written.
func userFlags(flags []*busv1.UserFlag) []UserFlag {
	var list []UserFlag
	for _, flag := range flags {
		list = append(list, UserFlag{flag.GetRule(), int(flag.GetIndex()), flag.GetEvidence()})
	}
	return list
}

// Contract counts the flags of all rollouts; nil if no user was watched.
func Contract(rollouts []Rollout) *UserContract {
	contract := &UserContract{Rules: make(map[string]int)}
	for _, r := range rollouts {
		if !r.watched() {
			continue
		}
		contract.Rollouts++
		if len(r.Result.GetUserFlags()) > 0 {
			contract.Flagged++
		}
		for _, flag := range r.Result.GetUserFlags() {
			contract.Rules[flag.GetRule()]++
		}
	}
	if contract.Rollouts == 0 {
		return nil
	}
	contract.Rate = float64(contract.Flagged) / float64(contract.Rollouts)
	return contract
}

// Checked says whether the users of a run that has ended were checked: they were no script and
// spoke. A nil run has none.
func (r *Run) Checked() bool { return r != nil && r.Totals != nil && r.Totals.UserContract != nil }

// SetUserFlags replaces the flags of a rollout of a run whose users were checked, counts them anew,
// and says whether they are others than before.
func (r *Run) SetUserFlags(name string, flags []*busv1.UserFlag) (changed bool) {
	contract := r.Totals.UserContract
	contract.Flagged, contract.Rules = 0, make(map[string]int)
	for i := range r.Rollouts {
		rollout := &r.Rollouts[i]
		if rollout.Name == name {
			now := userFlags(flags)
			changed = !slices.Equal(rollout.UserFlags, now)
			rollout.UserFlags = now
		}
		if len(rollout.UserFlags) > 0 {
			contract.Flagged++
		}
		for _, flag := range rollout.UserFlags {
			contract.Rules[flag.Rule]++
		}
	}
	contract.Rate = float64(contract.Flagged) / float64(contract.Rollouts)
	return changed
}

// watched says whether the rollout's user is no script and made a turn. Where the messages are not
// at hand, a model's turns are known by what they cost, and another player counts if anybody has
// said anything.
func (r Rollout) watched() bool {
	user, starting := r.Result.GetRollout().GetUser(), len(r.Scenario.GetSetup().GetMessages())
	switch {
	case user == nil || user.GetScripted() != nil:
		return false
	case len(r.Result.GetUserFlags()) > 0:
		return true
	case r.Messages != nil:
		return slices.ContainsFunc(r.Messages[min(starting, len(r.Messages)):], func(m *worldv1.Message) bool { return m.GetSender() == worldv1.Role_ROLE_USER })
	case user.GetModel() != nil:
		last := r.Result.GetEnd().GetUsage() // of a turn of which nothing came
		return slices.ContainsFunc(r.Usage, func(turn *busv1.TurnUsage) bool {
			return turn.GetRole() == worldv1.Role_ROLE_USER && (last == nil || turn.GetIndex() != last.GetIndex())
		})
	}
	return int(r.Result.GetMessageCount()) > starting
}
