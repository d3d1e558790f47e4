package results

import (
	"strings"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// Cause is what happened in a rollout that may have cost the agent its score.
type Cause struct {
	// Kind is the name of the kind, as CauseName returns it.
	Kind string `json:"kind"`
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
	busv1.CauseKind_CAUSE_KIND_MINEFIELD:         "a minefield was triggered",

	busv1.CauseKind_CAUSE_KIND_WRONG_PARALLEL_CALLS:   "of the calls of one turn one needed another",
	busv1.CauseKind_CAUSE_KIND_PREMATURE_CALL:         "a call came before what it depends on",
	busv1.CauseKind_CAUSE_KIND_GUESSED_ARGUMENT:       "the agent guessed an argument",
	busv1.CauseKind_CAUSE_KIND_INFORMATION_MISSING:    "the agent called a tool although information was missing",
	busv1.CauseKind_CAUSE_KIND_WRONG_CANONICALIZATION: "an argument had the wrong form",
}

// CauseName returns the name of a kind of causes in files and tables, e.g. unknown_tool.
func CauseName(kind busv1.CauseKind) string {
	return strings.ToLower(strings.TrimPrefix(kind.String(), causePrefix))
}

const causePrefix = "CAUSE_KIND_"

// Is reports whether the cause is of a kind.
func (c Cause) Is(kind busv1.CauseKind) bool { return c.Kind == CauseName(kind) }

// Sentence says what happened. It returns the name of a kind that this program does not know.
func (c Cause) Sentence() string {
	kind := busv1.CauseKind(busv1.CauseKind_value[causePrefix+strings.ToUpper(c.Kind)])
	if sentence := causeSentences[kind]; sentence != "" {
		return sentence
	}
	return c.Kind
}

func causes(list []*busv1.Cause) []Cause {
	var all []Cause
	for _, c := range list {
		all = append(all, Cause{CauseName(c.GetKind()), int(c.GetCount()), int(c.GetIndex()), c.GetDetail()})
	}
	return all
}
