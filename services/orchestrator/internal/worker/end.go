package worker

import (
	"errors"
	"strings"

	"google.golang.org/grpc/status"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// infrastructure is the end that a cause makes. The service that failed may say whose fault it was;
// else it is that of this program.
func infrastructure(cause error) *busv1.End {
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
	said := called.GRPCStatus()
	end.Detail = strings.Replace(end.GetDetail(), called.Error(), said.Message(), 1)
	for _, detail := range said.Details() {
		if failure, ok := detail.(*agentgwv1.Failure); ok {
			end.FailureClass = failure.GetClass()
		}
	}
	return end
}

// failed is the end that a player makes.
func failed(failure *agentgwv1.Failure) *busv1.End {
	reason := busv1.EndReason_END_REASON_INFRASTRUCTURE
	if failure.GetClass() == agentgwv1.FailureClass_FAILURE_CLASS_MODEL {
		reason = busv1.EndReason_END_REASON_MODEL_FAILURE
	}
	return &busv1.End{Reason: reason, ExceptionType: failure.GetExceptionType(), Detail: failure.GetDetail(), FailureClass: failure.GetClass()}
}

// quotaExceeded is the exception type of calls that would make a session too large. The original
// has no such bound.
const quotaExceeded = "SessionQuotaExceeded"

// exceeded is the end that calls make which the tool host refuses because they or what they do is
// too much: it is the failure of whoever made them.
func exceeded(state *rollout.State, detail string) *busv1.End {
	return state.Blame(state.Calls()[0].GetSender(), quotaExceeded, detail)
}

// raised is the end that an exception makes which the original does not catch either, e.g.
// KeyError: nothing.
func raised(text string) *busv1.End {
	kind, _, _ := strings.Cut(text, ":")
	return &busv1.End{
		Reason: busv1.EndReason_END_REASON_MODEL_FAILURE, ExceptionType: kind, Detail: text, FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_MODEL,
	}
}
