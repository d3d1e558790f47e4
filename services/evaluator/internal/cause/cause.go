// Package cause finds what may have cost an agent its score: in its calls and their answers, in the
// remarks on the turns of both models, in the flags of the simulated user, in the end of the
// rollout and in its score. It reads no phrases of people.
package cause

import (
	"slices"
	"strings"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/usercheck"
)

const agent, user = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER

// remarkKinds are the causes that remarks stand for.
var remarkKinds = map[agentgwv1.RemarkKind]busv1.CauseKind{
	agentgwv1.RemarkKind_REMARK_KIND_EMPTY:        busv1.CauseKind_CAUSE_KIND_EMPTY_ANSWER,
	agentgwv1.RemarkKind_REMARK_KIND_CUT_OFF:      busv1.CauseKind_CAUSE_KIND_CUT_OFF,
	agentgwv1.RemarkKind_REMARK_KIND_REFUSED:      busv1.CauseKind_CAUSE_KIND_REFUSED,
	agentgwv1.RemarkKind_REMARK_KIND_CALL_AS_TEXT: busv1.CauseKind_CAUSE_KIND_CALL_AS_TEXT,
}

// flagKinds are the causes that flags of the simulated user stand for.
var flagKinds = map[string]busv1.CauseKind{
	usercheck.Leak:      busv1.CauseKind_CAUSE_KIND_LEAK,
	usercheck.Assistant: busv1.CauseKind_CAUSE_KIND_ASSISTANT,
	usercheck.EarlyEnd:  busv1.CauseKind_CAUSE_KIND_EARLY_END,
	usercheck.Invented:  busv1.CauseKind_CAUSE_KIND_INVENTED,
	usercheck.Unasked:   busv1.CauseKind_CAUSE_KIND_UNASKED,
	usercheck.Repeats:   busv1.CauseKind_CAUSE_KIND_REPEATS,
	usercheck.NeverEnds: busv1.CauseKind_CAUSE_KIND_NEVER_ENDS,
}

// finder collects causes by role, kind and, of tools' errors, detail.
type finder struct {
	causes []*busv1.Cause
	calls  map[string]*worldv1.ToolCall // of the agent without an answer, by id
	// stored: the calls come from files, where a text instead of arguments is a JSON string.
	stored bool
}

// Find returns the causes in a trajectory with its result and its user's flags, by the index at
// which each happened first. Of a trajectory whose messages are omitted it finds those of remarks,
// flags, score and end. The classes of an error analysis need the world, nil for a rollout without
// a score of milestones.
func Find(t *assemble.Trajectory, result *busv1.Result, evaluation *evaluationv1.Evaluation, world *World) []*busv1.Cause {
	f := &finder{}
	end := int32(t.Len())
	f.trajectory(t, result, end)
	for _, remark := range t.Remarks {
		if kind := remarkKinds[remark.Remark.GetKind()]; kind != busv1.CauseKind_CAUSE_KIND_UNSPECIFIED {
			f.add(remark.Role, kind, remark.Index, remark.Remark.GetDetail())
		}
	}
	f.end(t.End, end)
	f.classify(t, result, evaluation, world)
	return f.sorted()
}

// Update returns the causes of a trajectory that is scored again: those that messages, flags and
// score show, and the recorded ones that only remarks and the end show.
func Update(
	t *assemble.Trajectory, result *busv1.Result, evaluation *evaluationv1.Evaluation, world *World, recorded []*busv1.Cause,
) []*busv1.Cause {
	f := &finder{stored: true}
	f.trajectory(t, result, int32(t.Len()))
	f.classify(t, result, evaluation, world)
	for _, cause := range recorded {
		if !shown(cause.GetKind()) {
			f.causes = append(f.causes, cause)
		}
	}
	return f.sorted()
}

// shown reports whether a trajectory without its remarks and its end shows causes of a kind.
func shown(kind busv1.CauseKind) bool {
	switch kind {
	case busv1.CauseKind_CAUSE_KIND_EMPTY_ANSWER, busv1.CauseKind_CAUSE_KIND_CUT_OFF, busv1.CauseKind_CAUSE_KIND_REFUSED,
		busv1.CauseKind_CAUSE_KIND_CALL_AS_TEXT, busv1.CauseKind_CAUSE_KIND_ARGUMENTS_NO_JSON, busv1.CauseKind_CAUSE_KIND_REPEATED_TURN,
		busv1.CauseKind_CAUSE_KIND_MESSAGE_LIMIT, busv1.CauseKind_CAUSE_KIND_CONTEXT_OVERFLOW, busv1.CauseKind_CAUSE_KIND_MODEL_FAILURE:
		return false
	default:
		return true
	}
}

// sorted returns the causes by index.
func (f *finder) sorted() []*busv1.Cause {
	slices.SortStableFunc(f.causes, func(a, b *busv1.Cause) int { return int(a.GetIndex() - b.GetIndex()) })
	return f.causes
}

// trajectory finds causes in messages, in the user's flags and in the score.
func (f *finder) trajectory(t *assemble.Trajectory, result *busv1.Result, end int32) {
	f.calls = make(map[string]*worldv1.ToolCall)
	called := false
	for _, m := range t.Messages[min(t.Starting, len(t.Messages)):] {
		called = called || m.GetSender() == agent && m.GetRecipient() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
		f.message(m)
	}
	for _, flag := range result.GetUserFlags() {
		f.add(user, flagKinds[flag.GetRule()], flag.GetIndex(), flag.GetEvidence())
	}
	if t.Omitted == 0 && !called && result.GetSimilarity() < 1 {
		f.add(agent, busv1.CauseKind_CAUSE_KIND_NO_TOOL_CALLED, end, "")
	}
	for _, match := range result.GetMinefields() {
		if match.GetSimilarity() > 0 {
			f.add(agent, busv1.CauseKind_CAUSE_KIND_MINEFIELD, match.GetIndex(), "")
		}
	}
}

// add counts a cause. The tools' errors count by their type.
func (f *finder) add(role worldv1.Role, kind busv1.CauseKind, index int32, detail string) {
	for _, known := range f.causes {
		if known.GetRole() == role && known.GetKind() == kind && (kind != busv1.CauseKind_CAUSE_KIND_TOOL_ERROR || known.GetDetail() == detail) {
			known.Count++
			known.Index = min(known.GetIndex(), index)
			return
		}
	}
	f.causes = append(f.causes, &busv1.Cause{Role: role, Kind: kind, Count: 1, Index: index, Detail: detail})
}

// message finds causes in the agent's calls and their answers.
func (f *finder) message(m *worldv1.Message) {
	if call := m.GetCall(); call != nil && m.GetSender() == agent {
		f.calls[call.GetId()] = call
		if call.ArgumentsText != nil && !call.GetArgumentsCut() {
			f.add(agent, busv1.CauseKind_CAUSE_KIND_ARGUMENTS_NO_JSON, m.GetIndex(), call.GetTool())
		}
		return
	}
	result := m.GetResult()
	if result == nil || m.GetRecipient() != agent || result.GetException() == "" {
		return
	}
	call := f.calls[result.GetId()]
	if call != nil && (call.ArgumentsText != nil || f.stored && strings.HasPrefix(call.GetArgumentsJson(), `"`)) {
		return // counted with the call
	}
	kind, text, _ := strings.Cut(result.GetException(), ":")
	switch {
	case call != nil && kind == "NameError" && strings.Contains(text, "'"+call.GetTool()+"'"):
		f.add(agent, busv1.CauseKind_CAUSE_KIND_UNKNOWN_TOOL, m.GetIndex(), call.GetTool())
	case kind == "TypeError":
		f.add(agent, busv1.CauseKind_CAUSE_KIND_WRONG_ARGUMENTS, m.GetIndex(), strings.TrimSpace(text))
	default:
		f.add(agent, busv1.CauseKind_CAUSE_KIND_TOOL_ERROR, m.GetIndex(), kind)
	}
}

// end finds causes in how the rollout ended.
func (f *finder) end(end *busv1.End, index int32) {
	switch {
	case end.GetFailureClass() == agentgwv1.FailureClass_FAILURE_CLASS_CONTEXT:
		f.add(agent, busv1.CauseKind_CAUSE_KIND_CONTEXT_OVERFLOW, index, end.GetDetail())
	case end.GetReason() == busv1.EndReason_END_REASON_REPEATED_TURN:
		f.add(agent, busv1.CauseKind_CAUSE_KIND_REPEATED_TURN, index, "")
	case end.GetReason() == busv1.EndReason_END_REASON_MESSAGE_LIMIT:
		f.add(agent, busv1.CauseKind_CAUSE_KIND_MESSAGE_LIMIT, index, "")
	case end.GetReason() == busv1.EndReason_END_REASON_MODEL_FAILURE:
		f.add(agent, busv1.CauseKind_CAUSE_KIND_MODEL_FAILURE, index, end.GetExceptionType())
	}
}
