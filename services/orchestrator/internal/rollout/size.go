package rollout

import (
	"fmt"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// DefaultMaxBytes is the byte limit of a rollout whose sweep sets none.
const DefaultMaxBytes = 4 << 20

// TooLarge is the exception type of a rollout that reaches its byte limit. The original has no such
// limit.
const TooLarge = "ConversationTooLarge"

// Bytes returns the stored size of the messages after the starting ones.
func (s *State) Bytes() int64 {
	var sum int64
	for _, n := range s.bytes {
		sum += n
	}
	return sum
}

// senderOfBytes returns the role that caused a message: its sender, or the caller for a result.
func senderOfBytes(message *worldv1.Message) worldv1.Role {
	if message.GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
		return message.GetRecipient()
	}
	return message.GetSender()
}

// tooLarge returns the end of a rollout at its byte limit. It is a failure of the agent, unless the
// user caused more bytes. The sender of the last message does not matter, because an agent could
// leave that to the user.
func (s *State) tooLarge() *busv1.End {
	agent, user := s.bytes[worldv1.Role_ROLE_AGENT], s.bytes[worldv1.Role_ROLE_USER]
	culprit := worldv1.Role_ROLE_AGENT
	if user > agent {
		culprit = worldv1.Role_ROLE_USER
	}
	return s.FailureOf(culprit, TooLarge, fmt.Sprintf("%d bytes of messages, at most %d (--max-rollout-bytes): %d of the agent with the answers to its calls, %d of the user",
		s.Bytes(), s.rollout.GetMaxBytes(), agent, user))
}

// FailureOf returns the end for a failure of a role. A failing agent scores 0. A failing user
// yields no score, except with compat.
func (s *State) FailureOf(role worldv1.Role, exceptionType, detail string) *busv1.End {
	end := &busv1.End{
		Reason: busv1.EndReason_END_REASON_MODEL_FAILURE, FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_MODEL,
		ExceptionType: exceptionType, Detail: detail,
	}
	if role == worldv1.Role_ROLE_USER && !s.rollout.GetCompat() {
		end.Reason, end.FailureClass = busv1.EndReason_END_REASON_INFRASTRUCTURE, agentgwv1.FailureClass_FAILURE_CLASS_USER
	}
	return end
}
