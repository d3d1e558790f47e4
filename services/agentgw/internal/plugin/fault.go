package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// The role precedes the texts of these errors.
var (
	// errAgentFailed: the plug-in's own code failed, or its answer is no turn.
	errAgentFailed = errors.New("failed")
	// errUnavailable: the plug-in cannot be asked, and its code is not at fault.
	errUnavailable = errors.New("cannot be asked")
	// errConversationEnded: the plug-in ended the conversation on purpose.
	errConversationEnded = errors.New("ended the conversation")
)

const (
	// maxReason bounds the bytes of a reason.
	maxReason = 8 << 10
	// maxException bounds the bytes of an exception's type.
	maxException = 200
	// Exception types of failures that have no counterpart in the original.
	exceptionAnswer = "ValueError"
	exceptionRemote = "RuntimeError"
)

// shorten bounds a text of a plug-in for logs and people.
func shorten(text string, limit int) string {
	return spelling.Shorten(strings.ToValidUTF8(text, string(utf8.RuneError)), limit)
}

// classOf returns the failure class of an error in a plug-in's own code. A failing user simulator
// does not count against the agent.
func classOf(role worldv1.Role) agentgwv1.FailureClass {
	if role == worldv1.Role_ROLE_AGENT {
		return agentgwv1.FailureClass_FAILURE_CLASS_MODEL
	}
	return agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER
}

// raisedFailure returns the exception that an answer reports.
func raisedFailure(raised *agentv1.Raised, act *agentv1.ActRequest, role string) (exception, detail string) {
	exception = cmp.Or(shorten(raised.GetExceptionType(), maxException), exceptionRemote)
	return exception, fmt.Sprintf("raised by the %s, turn %d: %s", role, act.GetTurn(), shorten(raised.GetText(), maxReason))
}

// statusError returns the error for a status with which a plug-in ended a turn. where is its
// address or name.
func statusError(address string, act *agentv1.ActRequest, st *status.Status) error {
	kind := errorOf(st)
	if errors.Is(kind, errConversationEnded) {
		return fmt.Errorf("%w, turn %d: %s", kind, act.GetTurn(), st.Message())
	}
	return fmt.Errorf("%w: %s, turn %d: %s: %s", kind, address, act.GetTurn(), st.Code(), shorten(st.Message(), maxReason))
}

// errorOf maps statuses of plug-ins to errors.
func errorOf(st *status.Status) error {
	switch st.Code() {
	case codes.DeadlineExceeded:
		return ErrTimeout
	case codes.Unavailable, codes.Canceled: // Canceled: the plug-in's process ends, or this side closes the connection
		return ErrRetriesExhausted
	case codes.Aborted:
		return errConversationEnded
	case codes.Unknown, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange,
		codes.Internal, codes.DataLoss:
		switch {
		case hasAnyPrefix(st.Message(), brokenStream):
			return ErrRetriesExhausted
		case hasAnyPrefix(st.Message(), notGRPC):
			return errUnavailable
		}
		return errAgentFailed
	case codes.ResourceExhausted:
		if strings.HasPrefix(st.Message(), "grpc: received message ") { // from this side, about a too long answer; others come from the plug-in
			return errAgentFailed
		}
		return errUnavailable
	default:
		return errUnavailable
	}
}

// These texts begin statuses that the gRPC library on this side makes. The plug-in itself has not
// answered.
var (
	// brokenStream: the stream broke off.
	brokenStream = []string{
		"stream terminated by RST_STREAM", "server closed the stream without sending trailers", "transport: ", "error reading from server: ",
	}
	// notGRPC: a server other than gRPC answered, such as a proxy.
	notGRPC = []string{"unexpected HTTP status code received from server", "malformed header: "}
)

func hasAnyPrefix(text string, with []string) bool {
	return slices.ContainsFunc(with, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}
