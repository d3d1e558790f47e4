package bus

import busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"

// IsComplete reports whether a conversation ended by itself or at a limit, so that its milestones
// are scored.
func IsComplete(end *busv1.End) bool {
	switch end.GetReason() {
	case busv1.EndReason_END_REASON_FINISHED, busv1.EndReason_END_REASON_MESSAGE_LIMIT, busv1.EndReason_END_REASON_REPEATED_TURN:
		return true
	default:
		return false
	}
}

// IsUnscored reports whether a rollout with this end has no score.
func IsUnscored(end *busv1.End) bool {
	reason := end.GetReason()
	return reason == busv1.EndReason_END_REASON_INFRASTRUCTURE || reason == busv1.EndReason_END_REASON_CANCELLED
}
