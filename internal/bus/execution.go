package bus

import (
	"slices"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Executions returns what a log says was executed in the rollout's session, oldest first. The
// caller must not change it.
func Executions(log []*busv1.LogEntry) []*toolhostv1.Execution {
	var messages []*worldv1.Message
	var executions []*toolhostv1.Execution
	for _, entry := range log {
		if start := entry.GetStart(); start != nil {
			messages, executions = slices.Clone(start.GetMessages()), nil
		}
		for _, turn := range entry.GetTurns() {
			if execution := ExecutionOf(messages, turn); execution != nil {
				executions = append(executions, execution)
			}
			messages = append(messages, turn.GetMessages()...)
		}
	}
	return executions
}

// ExecutionOf returns the execution whose outcome is a turn after some messages, nil for the turn
// of another speaker. It shares the messages.
func ExecutionOf(before []*worldv1.Message, turn *busv1.Turn) *toolhostv1.Execution {
	if len(turn.GetMessages()) == 0 || turn.GetMessages()[0].GetSender() != worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
		return nil
	}
	return &toolhostv1.Execution{Index: turn.GetMessages()[0].GetIndex(), Calls: TrailingCalls(before), Outcome: &toolhostv1.ExecuteResponse{
		Answers: turn.GetMessages(), Versions: turn.GetVersions(), EndedAtIndex: turn.EndedAtIndex,
		SessionDigest: turn.GetSessionDigest(), ServiceAnswers: turn.GetServiceAnswers(), Now: turn.Now, NextDue: turn.NextDue,
		Failing: turn.GetFailing(),
	}}
}

// TrailingCalls returns the last messages that one sender addressed to the execution environment.
func TrailingCalls(messages []*worldv1.Message) []*worldv1.Message {
	last := len(messages)
	first := last
	for first > 0 && messages[first-1].GetRecipient() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT &&
		messages[first-1].GetSender() == messages[last-1].GetSender() {
		first--
	}
	return slices.Clone(messages[first:last])
}
