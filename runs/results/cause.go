package results

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Cause is what happened in a rollout that may have cost the agent its score.
type Cause struct {
	// Kind is the name of the kind, as CauseName returns it.
	Kind string `json:"kind"`
	// User: it is a fault of the simulated user, not of the agent.
	User bool `json:"user,omitempty"`
	// Count is how often it happened.
	Count int `json:"count"`
	// Index is the index of the message at which it happened first; the number of messages for the
	// end.
	Index int `json:"index"`
	// Detail says more about the first, for people.
	Detail string `json:"detail,omitempty"`
}

// causeSentences say for people what happened, for each kind of causes.
var causeSentences = map[busv1.CauseKind]string{
	busv1.CauseKind_CAUSE_KIND_NO_TOOL_CALLED:    "the agent called no tool",
	busv1.CauseKind_CAUSE_KIND_CALL_AS_TEXT:      "a text looks like a call",
	busv1.CauseKind_CAUSE_KIND_EMPTY_ANSWER:      "the model answered nothing",
	busv1.CauseKind_CAUSE_KIND_CUT_OFF:           "the limit of tokens cut off a call",
	busv1.CauseKind_CAUSE_KIND_ARGUMENTS_NO_JSON: "the arguments of a call were no JSON",
	busv1.CauseKind_CAUSE_KIND_UNKNOWN_TOOL:      "the agent called a tool that it does not have",
	busv1.CauseKind_CAUSE_KIND_WRONG_ARGUMENTS:   "an argument was missing, unknown or of the wrong type",
	busv1.CauseKind_CAUSE_KIND_TOOL_ERROR:        "a tool answered with an error",
	busv1.CauseKind_CAUSE_KIND_REPEATED_TURN:     "the agent repeated the same turn",
	busv1.CauseKind_CAUSE_KIND_MESSAGE_LIMIT:     "the conversation reached the limit of messages",
	busv1.CauseKind_CAUSE_KIND_CONTEXT_OVERFLOW:  "the conversation did not fit into the model's context",
	busv1.CauseKind_CAUSE_KIND_MODEL_FAILURE:     "the agent's model failed",
	busv1.CauseKind_CAUSE_KIND_REFUSED:           "the model refused, or its provider's filter blocked it",
	busv1.CauseKind_CAUSE_KIND_MINEFIELD:         "a minefield was triggered",
	busv1.CauseKind_CAUSE_KIND_LEAK:              "it told its instructions",
	busv1.CauseKind_CAUSE_KIND_ASSISTANT:         "it spoke as the assistant",
	busv1.CauseKind_CAUSE_KIND_EARLY_END:         "it ended the conversation early",
	busv1.CauseKind_CAUSE_KIND_INVENTED:          "it stated what nobody had told it",
	busv1.CauseKind_CAUSE_KIND_UNASKED:           "it allowed an action for which nobody had asked",
	busv1.CauseKind_CAUSE_KIND_REPEATS:           "it repeated itself",
	busv1.CauseKind_CAUSE_KIND_NEVER_ENDS:        "it went on although the agent had finished",

	busv1.CauseKind_CAUSE_KIND_WRONG_PARALLEL_CALLS:   "of the calls of one turn one needed another",
	busv1.CauseKind_CAUSE_KIND_PREMATURE_CALL:         "a call came before what it depends on",
	busv1.CauseKind_CAUSE_KIND_GUESSED_ARGUMENT:       "the agent guessed an argument",
	busv1.CauseKind_CAUSE_KIND_INFORMATION_MISSING:    "the agent called a tool although information was missing",
	busv1.CauseKind_CAUSE_KIND_WRONG_CANONICALIZATION: "an argument had the wrong form",
}

const causePrefix = "CAUSE_KIND_"

// CauseName returns the name of a kind of causes in files and tables, e.g. unknown_tool.
func CauseName(kind busv1.CauseKind) string {
	return strings.ToLower(strings.TrimPrefix(kind.String(), causePrefix))
}

// kind returns the kind, that of no cause if this program does not know it.
func (c Cause) kind() busv1.CauseKind {
	return busv1.CauseKind(busv1.CauseKind_value[causePrefix+strings.ToUpper(c.Kind)])
}

// Is reports whether the cause is of a kind.
func (c Cause) Is(kind busv1.CauseKind) bool { return c.Kind == CauseName(kind) }

// Sentence says what happened. It returns the name of a kind that this program does not know.
func (c Cause) Sentence() string { return cmp.Or(causeSentences[c.kind()], c.Kind) }

// class returns what distinguishes causes of one kind in a count: the type of a tool's error or of
// a failure, and the provider's reason for an empty or refused answer, without what follows the
// reason's name.
func (c Cause) class() string {
	switch c.kind() {
	case busv1.CauseKind_CAUSE_KIND_TOOL_ERROR, busv1.CauseKind_CAUSE_KIND_EMPTY_ANSWER, busv1.CauseKind_CAUSE_KIND_MODEL_FAILURE:
		return c.Detail
	case busv1.CauseKind_CAUSE_KIND_REFUSED:
		reason, _, _ := strings.Cut(c.Detail, ":")
		return reason
	default:
		return ""
	}
}

// Causes converts the causes of a result.
func Causes(list []*busv1.Cause) []Cause {
	var all []Cause
	for _, c := range list {
		user := c.GetRole() == worldv1.Role_ROLE_USER
		all = append(all, Cause{CauseName(c.GetKind()), user, int(c.GetCount()), int(c.GetIndex()), c.GetDetail()})
	}
	return all
}

// CauseMessages is the inverse of Causes. It omits causes of unknown kinds.
func CauseMessages(causes []Cause) []*busv1.Cause {
	var list []*busv1.Cause
	for _, c := range causes {
		if c.kind() == busv1.CauseKind_CAUSE_KIND_UNSPECIFIED {
			continue
		}
		role := worldv1.Role_ROLE_AGENT
		if c.User {
			role = worldv1.Role_ROLE_USER
		}
		list = append(list, &busv1.Cause{Kind: c.kind(), Role: role, Count: int32(c.Count), Index: int32(c.Index), Detail: c.Detail})
	}
	return list
}

// UserFailure is the failure class of rollouts whose user's turns could not be used.
const UserFailure = "user"

// CausedScore is the score of a rollout with its causes.
type CausedScore struct {
	Score  float64
	Causes []Cause
}

// CausedScores returns the scores of the scored rollouts.
func CausedScores(rollouts []Rollout) []CausedScore {
	var scores []CausedScore
	for _, r := range rollouts {
		if resultfile.Scored(r.Result) {
			scores = append(scores, CausedScore{r.Result.GetSimilarity(), Causes(r.Result.GetCauses())})
		}
	}
	return scores
}

// userFailed reports whether the simulated user failed.
func (s CausedScore) userFailed() bool {
	return slices.ContainsFunc(s.Causes, func(c Cause) bool { return c.User })
}

// CauseCounts counts the causes of the scored rollouts of a run.
type CauseCounts struct {
	// Rollouts is the number of rollouts, Scored that of those with a score. Mean is their mean score,
	// nil without any.
	Rollouts int      `json:"rollouts"`
	Scored   int      `json:"scored"`
	Mean     *float64 `json:"mean"`
	// UserFailed is the number of scored rollouts whose simulated user failed. MeanWithout is the mean
	// score of the others, nil without any.
	UserFailed  int      `json:"user_failed"`
	MeanWithout *float64 `json:"mean_without_user_failed"`
	// UserUnscored is the number of rollouts without a score because the user's turns could not be
	// used.
	UserUnscored int `json:"user_unscored,omitempty"`
	// Causes are those of the agent, then those of the user, the most frequent first.
	Causes []CauseCount `json:"causes"`
}

// CauseCount counts one cause.
type CauseCount struct {
	Kind string `json:"kind"`
	User bool   `json:"user,omitempty"`
	// Class is the type of a tool's error or of a failure, or the provider's reason.
	Class string `json:"class,omitempty"`
	// Rollouts is the number of rollouts with it, Times how often it happened in them.
	Rollouts int `json:"rollouts"`
	Times    int `json:"times"`
	// MeanWith is the mean score of these rollouts, MeanWithout that of the others, nil without any.
	MeanWith    *float64 `json:"mean_with"`
	MeanWithout *float64 `json:"mean_without"`
}

// CountCauses counts the causes of the scored ones of a number of rollouts, of which userUnscored
// have no score because of the user. It returns nil if there are no causes.
func CountCauses(scores []CausedScore, rollouts, userUnscored int) *CauseCounts {
	all := func(CausedScore) bool { return true }
	counts := &CauseCounts{Rollouts: rollouts, UserUnscored: userUnscored, Scored: len(scores), Mean: mean(scores, all), Causes: []CauseCount{}}
	for _, s := range scores {
		if s.userFailed() {
			counts.UserFailed++
		}
	}
	counts.MeanWithout = mean(scores, func(s CausedScore) bool { return !s.userFailed() })
	for _, s := range scores {
		for _, c := range s.Causes {
			if !slices.ContainsFunc(counts.Causes, func(known CauseCount) bool { return known.counts(c) }) {
				counts.Causes = append(counts.Causes, countCause(CauseCount{Kind: c.Kind, User: c.User, Class: c.class()}, scores))
			}
		}
	}
	if len(counts.Causes) == 0 {
		return nil
	}
	slices.SortFunc(counts.Causes, func(a, b CauseCount) int {
		if a.User != b.User {
			return map[bool]int{false: -1, true: 1}[a.User]
		}
		return cmp.Or(cmp.Compare(b.Rollouts, a.Rollouts), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Class, b.Class))
	})
	return counts
}

// counts reports whether a cause counts here.
func (n CauseCount) counts(c Cause) bool {
	return n.Kind == c.Kind && n.User == c.User && n.Class == c.class()
}

// countCause counts one cause.
func countCause(n CauseCount, scores []CausedScore) CauseCount {
	has := func(s CausedScore) bool { return slices.ContainsFunc(s.Causes, n.counts) }
	for _, s := range scores {
		if has(s) {
			n.Rollouts++
		}
		for _, c := range s.Causes {
			if n.counts(c) {
				n.Times += c.Count
			}
		}
	}
	n.MeanWith, n.MeanWithout = mean(scores, has), mean(scores, func(s CausedScore) bool { return !has(s) })
	return n
}

// mean returns the mean of the chosen scores, nil without any.
func mean(scores []CausedScore, chosen func(CausedScore) bool) *float64 {
	sum, n := 0.0, 0
	for _, s := range scores {
		if chosen(s) {
			sum, n = sum+s.Score, n+1
		}
	}
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}
