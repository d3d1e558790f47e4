package worker

import (
	"errors"
	"strings"

	"google.golang.org/grpc/status"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// infrastructureEnd returns the end for a cause. The failed service may report the failure class;
// otherwise it is internal.
func infrastructureEnd(cause error) *busv1.End {
	end := &busv1.End{
		Reason: busv1.EndReason_END_REASON_INFRASTRUCTURE, Detail: cause.Error(), FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_INTERNAL,
	}
	var called interface {
		error
		GRPCStatus() *status.Status
	}
	if !errors.As(cause, &called) {
		return end
	}
	st := called.GRPCStatus()
	end.Detail = strings.Replace(end.GetDetail(), called.Error(), st.Message(), 1)
	for _, detail := range st.Details() {
		if failure, ok := detail.(*agentgwv1.Failure); ok {
			end.FailureClass = failure.GetClass()
		}
	}
	return end
}

// playerFailure returns the end for a failure of a role's player. A conversation that does not fit
// into the agent's context is a failure of its model.
func playerFailure(role worldv1.Role, failure *agentgwv1.Failure) *busv1.End {
	reason := busv1.EndReason_END_REASON_INFRASTRUCTURE
	switch class := failure.GetClass(); {
	case class == agentgwv1.FailureClass_FAILURE_CLASS_MODEL,
		class == agentgwv1.FailureClass_FAILURE_CLASS_CONTEXT && role == worldv1.Role_ROLE_AGENT:
		reason = busv1.EndReason_END_REASON_MODEL_FAILURE
	}
	return &busv1.End{Reason: reason, ExceptionType: failure.GetExceptionType(), Detail: failure.GetDetail(), FailureClass: failure.GetClass()}
}

// quotaExceeded is the exception type of calls that exceed the session's quota. The original has no
// such limit.
const quotaExceeded = "SessionQuotaExceeded"

// quotaEnd returns the end for calls that the tool host rejects because they exceed a quota. It is
// a failure of the caller.
func quotaEnd(state *rollout.State, detail string) *busv1.End {
	return state.FailureOf(state.Calls()[0].GetSender(), quotaExceeded, detail)
}

// uncaughtException returns the end for an exception that the original does not catch either, e.g.
// KeyError: nothing.
func uncaughtException(text string) *busv1.End {
	kind, _, _ := strings.Cut(text, ":")
	return &busv1.End{
		Reason: busv1.EndReason_END_REASON_MODEL_FAILURE, ExceptionType: kind, Detail: text, FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_MODEL,
	}
}
