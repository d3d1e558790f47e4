// Package cause finds what may have cost an agent its score: in its calls and their answers, in the
// remarks on its turns, in the end of the rollout and in its score. It reads no phrases of people.
package cause

import (
	"slices"
	"strings"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
)

// finder collects causes by kind and detail.
type finder struct {
	causes []*busv1.Cause
	calls  map[string]*worldv1.ToolCall // of the agent without an answer, by id
}

// Find returns the causes in a trajectory with its result, by the index at which each happened
// first. Of a trajectory whose messages are omitted it finds those of remarks, score and end. The
// classes of an error analysis need the world, nil for a rollout without a milestone's score.
func Find(t *assemble.Trajectory, result *busv1.Result, evaluation *evaluationv1.Evaluation, world *World) []*busv1.Cause {
	f := &finder{calls: make(map[string]*worldv1.ToolCall)}
	called := false
	for _, m := range t.Messages[min(t.Starting, len(t.Messages)):] {
		called = called || m.GetSender() == worldv1.Role_ROLE_AGENT && m.GetRecipient() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
		f.message(m)
	}
	for _, remark := range t.Remarks {
		if remark.Role == worldv1.Role_ROLE_AGENT {
			f.remark(remark)
		}
	}
	end := int32(t.Len())
	if t.Omitted == 0 && !called && result.GetSimilarity() < 1 {
		f.add(busv1.CauseKind_CAUSE_KIND_NO_TOOL_CALLED, end, "")
	}
	for _, match := range result.GetMinefields() {
		if match.GetSimilarity() > 0 {
			f.add(busv1.CauseKind_CAUSE_KIND_MINEFIELD, match.GetIndex(), "")
		}
	}
	f.end(t.End, end)
	if world != nil && result.GetSimilarity() < 1 {
		f.classify(t, result, evaluation, world)
	}
	slices.SortStableFunc(f.causes, func(a, b *busv1.Cause) int { return int(a.GetIndex() - b.GetIndex()) })
	return f.causes
}

// add counts a cause. The tools' errors count by their type.
func (f *finder) add(kind busv1.CauseKind, index int32, detail string) {
	for _, known := range f.causes {
		if known.GetKind() == kind && (kind != busv1.CauseKind_CAUSE_KIND_TOOL_ERROR || known.GetDetail() == detail) {
			known.Count++
			known.Index = min(known.GetIndex(), index)
			return
		}
	}
	f.causes = append(f.causes, &busv1.Cause{Kind: kind, Count: 1, Index: index, Detail: detail})
}

// message finds causes in the agent's calls and their answers.
func (f *finder) message(m *worldv1.Message) {
	if call := m.GetCall(); call != nil && m.GetSender() == worldv1.Role_ROLE_AGENT {
		f.calls[call.GetId()] = call
		if call.ArgumentsText != nil && !call.GetArgumentsCut() {
			f.add(busv1.CauseKind_CAUSE_KIND_ARGUMENTS_NO_JSON, m.GetIndex(), call.GetTool())
		}
		return
	}
	result := m.GetResult()
	if result == nil || m.GetRecipient() != worldv1.Role_ROLE_AGENT || result.GetException() == "" {
		return
	}
	call := f.calls[result.GetId()]
	if call != nil && call.ArgumentsText != nil {
		return // counted with the call
	}
	kind, text, _ := strings.Cut(result.GetException(), ":")
	switch {
	case call != nil && kind == "NameError" && strings.Contains(text, "'"+call.GetTool()+"'"):
		f.add(busv1.CauseKind_CAUSE_KIND_UNKNOWN_TOOL, m.GetIndex(), call.GetTool())
	case kind == "TypeError":
		f.add(busv1.CauseKind_CAUSE_KIND_WRONG_ARGUMENTS, m.GetIndex(), strings.TrimSpace(text))
	default:
		f.add(busv1.CauseKind_CAUSE_KIND_TOOL_ERROR, m.GetIndex(), kind)
	}
}

func (f *finder) remark(r assemble.Remark) {
	kind := map[agentgwv1.RemarkKind]busv1.CauseKind{
		agentgwv1.RemarkKind_REMARK_KIND_EMPTY: busv1.CauseKind_CAUSE_KIND_EMPTY_ANSWER, agentgwv1.RemarkKind_REMARK_KIND_CUT_OFF: busv1.CauseKind_CAUSE_KIND_CUT_OFF,
		agentgwv1.RemarkKind_REMARK_KIND_CALL_AS_TEXT: busv1.CauseKind_CAUSE_KIND_CALL_AS_TEXT,
	}[r.Remark.GetKind()]
	if kind != busv1.CauseKind_CAUSE_KIND_UNSPECIFIED {
		f.add(kind, r.Index, r.Remark.GetDetail())
	}
}

// end finds causes in how the rollout ended.
func (f *finder) end(end *busv1.End, index int32) {
	switch {
	case end.GetFailureClass() == agentgwv1.FailureClass_FAILURE_CLASS_CONTEXT:
		f.add(busv1.CauseKind_CAUSE_KIND_CONTEXT_OVERFLOW, index, end.GetDetail())
	case end.GetReason() == busv1.EndReason_END_REASON_REPEATED_TURN:
		f.add(busv1.CauseKind_CAUSE_KIND_REPEATED_TURN, index, "")
	case end.GetReason() == busv1.EndReason_END_REASON_MESSAGE_LIMIT:
		f.add(busv1.CauseKind_CAUSE_KIND_MESSAGE_LIMIT, index, "")
	case end.GetReason() == busv1.EndReason_END_REASON_MODEL_FAILURE:
		f.add(busv1.CauseKind_CAUSE_KIND_MODEL_FAILURE, index, end.GetExceptionType())
	}
}
