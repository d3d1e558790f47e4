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

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// The texts of these errors follow on the role.
var (
	// errRaised: the plug-in's own code failed, or it answered what is no turn.
	errRaised = errors.New("failed")
	// errRefused: the plug-in cannot be asked, for a fault that is not its code's.
	errRefused = errors.New("cannot be asked")
	// errEnded: the plug-in ended the conversation on purpose.
	errEnded = errors.New("ended the conversation")
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

// shorten keeps a text that a plug-in gives within what a log entry and a person can take.
func shorten(text string, limit int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// classOf is whose fault it is that a plug-in's own code fails. That of a simulated user says
// nothing about the agent.
func classOf(role worldv1.Role) agentgwv1.FailureClass {
	if role == worldv1.Role_ROLE_AGENT {
		return agentgwv1.FailureClass_FAILURE_CLASS_MODEL
	}
	return agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER
}

// raised is the failure that an answer states.
func raised(stated *agentv1.Raised, act *agentv1.ActRequest, who string) (exception, detail string) {
	exception = cmp.Or(shorten(stated.GetExceptionType(), maxException), exceptionRemote)
	return exception, fmt.Sprintf("raised by the %s, turn %d: %s", who, act.GetTurn(), shorten(stated.GetText(), maxReason))
}

// refusal is the error that a status means which a plug-in at an address, or of a name, ended a
// turn with.
func refusal(where string, act *agentv1.ActRequest, said *status.Status) error {
	why := meaning(said)
	if errors.Is(why, errEnded) {
		return fmt.Errorf("%w, turn %d: %s", why, act.GetTurn(), said.Message())
	}
	return fmt.Errorf("%w: %s, turn %d: %s: %s", why, where, act.GetTurn(), said.Code(), shorten(said.Message(), maxReason))
}

// meaning is the table from statuses of plug-ins to errors.
func meaning(said *status.Status) error {
	switch said.Code() {
	case codes.DeadlineExceeded:
		return ErrTimeout
	case codes.Unavailable, codes.Canceled: // Canceled: the plug-in's process ends, or the connection on this side
		return ErrAgain
	case codes.Aborted:
		return errEnded
	case codes.Unknown, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange,
		codes.Internal, codes.DataLoss:
		switch {
		case begins(said.Message(), torn):
			return ErrAgain
		case begins(said.Message(), foreign):
			return errRefused
		}
		return errRaised
	case codes.ResourceExhausted:
		if strings.HasPrefix(said.Message(), "grpc: received message ") { // made here, of an answer that is too long; any other is the plug-in's
			return errRaised
		}
		return errRefused
	default:
		return errRefused
	}
}

// The plug-in itself has said nothing where the gRPC library on this side makes the status, which
// begins with one of these texts.
var (
	// torn: the stream broke off.
	torn = []string{
		"stream terminated by RST_STREAM", "server closed the stream without sending trailers", "transport: ", "error reading from server: ",
	}
	// foreign: something answered that is no gRPC server, such as a proxy.
	foreign = []string{"unexpected HTTP status code received from server", "malformed header: "}
)

func begins(text string, with []string) bool {
	return slices.ContainsFunc(with, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}
