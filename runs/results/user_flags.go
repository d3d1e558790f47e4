package results

import (
	"slices"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// UserFlag is a place where a simulated user left its role.
type UserFlag struct {
	// Rule is assistant, early_end, invented, leak, never_ends, repeats or unasked.
	Rule string `json:"rule"`
	// Index is the index of the message.
	Index int `json:"index"`
	// Evidence is the quoted text.
	Evidence string `json:"evidence"`
}

// UserFlagCounts counts the flags of the simulated users of a run.
type UserFlagCounts struct {
	// Rollouts is the number of rollouts with a checked user: a user other than a script that made a
	// turn.
	Rollouts int `json:"rollouts"`
	// Flagged is the number of those with a flag. Rate is their share.
	Flagged int     `json:"flagged"`
	Rate    float64 `json:"rate"`
	// Rules counts the flags of each rule.
	Rules map[string]int `json:"rules"`
}

// userFlags converts a rollout's flags.
func userFlags(flags []*busv1.UserFlag) []UserFlag {
	var list []UserFlag
	for _, flag := range flags {
		list = append(list, UserFlag{flag.GetRule(), int(flag.GetIndex()), flag.GetEvidence()})
	}
	return list
}

// CountUserFlags counts the flags of all rollouts. It returns nil if no user was checked.
func CountUserFlags(rollouts []Rollout) *UserFlagCounts {
	counts := &UserFlagCounts{Rules: make(map[string]int)}
	for _, r := range rollouts {
		if !r.userChecked() {
			continue
		}
		counts.Rollouts++
		counts.add(userFlags(r.Result.GetUserFlags()))
	}
	if counts.Rollouts == 0 {
		return nil
	}
	return counts
}

// add counts the flags of a rollout.
func (c *UserFlagCounts) add(flags []UserFlag) {
	if len(flags) > 0 {
		c.Flagged++
	}
	for _, flag := range flags {
		c.Rules[flag.Rule]++
	}
	c.Rate = float64(c.Flagged) / float64(c.Rollouts)
}

// UserChecked reports whether a finished run has checked users. It is false for a nil run.
func (r *Run) UserChecked() bool {
	return r != nil && r.Totals != nil && r.Totals.UserFlagCounts != nil
}

// SetUserFlags replaces the flags of a rollout, updates the counts, and reports whether anything
// changed. The run must have checked users.
func (r *Run) SetUserFlags(name string, flags []*busv1.UserFlag) (changed bool) {
	counts := r.Totals.UserFlagCounts
	counts.Flagged, counts.Rules = 0, make(map[string]int)
	for i := range r.Rollouts {
		rollout := &r.Rollouts[i]
		if rollout.Name == name {
			now := userFlags(flags)
			changed = !slices.Equal(rollout.UserFlags, now)
			rollout.UserFlags = now
		}
		counts.add(rollout.UserFlags)
	}
	return changed
}

// userChecked reports whether the rollout's user is not a script and made a turn. Without messages,
// usage shows the turns of a model, and any message counts as a turn of another player.
func (r Rollout) userChecked() bool {
	user, starting := r.Result.GetRollout().GetUser(), len(r.Scenario.GetSetup().GetMessages())
	switch {
	case user == nil || user.GetScripted() != nil:
		return false
	case len(r.Result.GetUserFlags()) > 0:
		return true
	case r.Messages != nil:
		return slices.ContainsFunc(r.Messages[min(starting, len(r.Messages)):], func(m *worldv1.Message) bool { return m.GetSender() == worldv1.Role_ROLE_USER })
	case user.GetModel() != nil:
		last := r.Result.GetEnd().GetUsage() // of a turn without messages
		return slices.ContainsFunc(r.Usage, func(turn *busv1.TurnUsage) bool {
			return turn.GetRole() == worldv1.Role_ROLE_USER && (last == nil || turn.GetIndex() != last.GetIndex())
		})
	}
	return int(r.Result.GetMessageCount()) > starting
}
