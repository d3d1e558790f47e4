package rollout

import (
	"fmt"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// DefaultMaxBytes is the byte limit of a rollout whose sweep gives none.
const DefaultMaxBytes = 4 << 20

// TooLarge is the exception type of a rollout that has reached its byte limit. The original has no
// such limit.
const TooLarge = "ConversationTooLarge"

// Bytes returns the size of the messages beyond the starting ones, as they are stored.
func (s *State) Bytes() int64 {
	var sum int64
	for _, n := range s.bytes {
		sum += n
	}
	return sum
}

// causer returns who is to blame for a message's bytes: its sender, or who made the call that it
// answers.
func causer(message *worldv1.Message) worldv1.Role {
	if message.GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
		return message.GetRecipient()
	}
	return message.GetSender()
}

// tooLarge is the end of a rollout that has reached its byte limit: a failure of the agent, unless
// the user caused more of the bytes. Who sent the message that crossed the limit does not matter:
// an agent could leave that to the user.
func (s *State) tooLarge() *busv1.End {
	agent, user := s.bytes[worldv1.Role_ROLE_AGENT], s.bytes[worldv1.Role_ROLE_USER]
	culprit := worldv1.Role_ROLE_AGENT
	if user > agent {
		culprit = worldv1.Role_ROLE_USER
	}
	return s.Blame(culprit, TooLarge, fmt.Sprintf("%d bytes of messages, at most %d (--max-rollout-bytes): %d of the agent with the answers to its calls, %d of the user",
		s.Bytes(), s.rollout.GetMaxBytes(), agent, user))
}

// Blame returns the end that a role's failure makes: that of the agent scores 0, that of the user
// has no score, unless the rollout is to do what the original does.
func (s *State) Blame(role worldv1.Role, exceptionType, detail string) *busv1.End {
	end := &busv1.End{
		Reason: busv1.EndReason_END_REASON_MODEL_FAILURE, FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_MODEL,
		ExceptionType: exceptionType, Detail: detail,
	}
	if role == worldv1.Role_ROLE_USER && !s.rollout.GetCompat() {
		end.Reason, end.FailureClass = busv1.EndReason_END_REASON_INFRASTRUCTURE, agentgwv1.FailureClass_FAILURE_CLASS_USER
	}
	return end
}
