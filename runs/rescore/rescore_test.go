package rescore

import (
	"testing"

	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestEndOf has conversations of two starting messages and a limit of three more.
func TestEndOf(t *testing.T) {
	const finished, limit, repeated = busv1.EndReason_END_REASON_FINISHED, busv1.EndReason_END_REASON_MESSAGE_LIMIT, busv1.EndReason_END_REASON_REPEATED_TURN
	for _, c := range []struct {
		messages int
		active   bool
		want     busv1.EndReason
		cause    busv1.CauseKind
	}{
		{4, false, finished, 0},
		{5, false, finished, 0},
		{5, true, limit, busv1.CauseKind_CAUSE_KIND_MESSAGE_LIMIT},
		{6, true, limit, busv1.CauseKind_CAUSE_KIND_MESSAGE_LIMIT},
		{4, true, repeated, busv1.CauseKind_CAUSE_KIND_REPEATED_TURN},
	} {
		messages := make([]*worldv1.Message, c.messages)
		for i := range messages {
			messages[i] = &worldv1.Message{ConversationActive: proto.Bool(c.active || i < c.messages-1)}
		}
		end, causes := endOf(messages, 2, &setupv1.Setup{MaxMessages: 3})
		if end != c.want || len(causes) > 0 != (c.cause > 0) || len(causes) > 0 && (causes[0].GetKind() != c.cause || causes[0].GetIndex() != int32(c.messages)) {
			t.Errorf("%d messages, active %t: got %v by %v, want %v by %v", c.messages, c.active, end, causes, c.want, c.cause)
		}
	}
}
