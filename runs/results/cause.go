package results

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/statistics"
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

// causeKinds are the kinds of causes by their names, and causeNames the inverse.
var causeKinds, causeNames = nameCauses()

func nameCauses() (kinds map[string]busv1.CauseKind, names map[busv1.CauseKind]string) {
	kinds, names = make(map[string]busv1.CauseKind), make(map[busv1.CauseKind]string)
	for number, text := range busv1.CauseKind_name {
		kind, name := busv1.CauseKind(number), strings.ToLower(strings.TrimPrefix(text, causePrefix))
		kinds[name], names[kind] = kind, name
	}
	return kinds, names
}

// CauseName returns the name of a kind of causes in files and tables, e.g. unknown_tool.
func CauseName(kind busv1.CauseKind) string { return cmp.Or(causeNames[kind], kind.String()) }

// kind returns the kind, that of no cause if this program does not know it.
func (c Cause) kind() busv1.CauseKind { return causeKinds[c.Kind] }

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
	if len(list) == 0 {
		return nil
	}
	all := make([]Cause, 0, len(list))
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
func CausedScores(rollouts []Rollout) iter.Seq[CausedScore] {
	return func(yield func(CausedScore) bool) {
		for _, r := range rollouts {
			if resultfile.Scored(r.Result) && !yield(CausedScore{r.Result.GetSimilarity(), Causes(r.Result.GetCauses())}) {
				return
			}
		}
	}
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

// causeCounter counts one cause.
type causeCounter struct {
	CauseCount
	with, without statistics.Average
	last          int // the last score that has it
}

// causeCounters are the counters of all causes.
type causeCounters struct {
	list []*causeCounter
	by   map[CauseCount]*causeCounter // with only what distinguishes causes
}

func (c *causeCounters) of(cause Cause) *causeCounter {
	key := CauseCount{Kind: cause.Kind, User: cause.User, Class: cause.class()}
	if c.by[key] == nil {
		c.by[key] = &causeCounter{CauseCount: key}
		c.list = append(c.list, c.by[key])
	}
	return c.by[key]
}

// CountCauses counts the causes of the scored ones of a number of rollouts, of which userUnscored
// have no score because of the user. It iterates over the scores twice. It returns nil if there are
// no causes.
func CountCauses(scores iter.Seq[CausedScore], rollouts, userUnscored int) *CauseCounts {
	counters := causeCounters{by: make(map[CauseCount]*causeCounter)}
	for s := range scores {
		for _, cause := range s.Causes {
			counters.of(cause)
		}
	}
	if len(counters.list) == 0 {
		return nil
	}
	counts := &CauseCounts{Rollouts: rollouts, UserUnscored: userUnscored, Causes: []CauseCount{}}
	var all, withoutUser statistics.Average
	for s := range scores {
		counts.Scored++
		all.Add(s.Score)
		if s.userFailed() {
			counts.UserFailed++
		} else {
			withoutUser.Add(s.Score)
		}
		counters.add(s, counts.Scored)
	}
	counts.Mean, counts.MeanWithout = all.Value(), withoutUser.Value()
	for _, c := range counters.list {
		c.MeanWith, c.MeanWithout = c.with.Value(), c.without.Value()
		counts.Causes = append(counts.Causes, c.CauseCount)
	}
	slices.SortFunc(counts.Causes, func(a, b CauseCount) int {
		if a.User != b.User {
			return map[bool]int{false: -1, true: 1}[a.User]
		}
		return cmp.Or(cmp.Compare(b.Rollouts, a.Rollouts), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Class, b.Class))
	})
	return counts
}

// add counts the causes of the n-th score, from 1.
func (c *causeCounters) add(s CausedScore, n int) {
	for _, cause := range s.Causes {
		counter := c.of(cause)
		if counter.Times += cause.Count; counter.last != n {
			counter.last, counter.Rollouts = n, counter.Rollouts+1
		}
	}
	for _, counter := range c.list {
		if counter.last == n {
			counter.with.Add(s.Score)
		} else {
			counter.without.Add(s.Score)
		}
	}
}
