package rollout_test

import (
	"strings"
	"testing"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// long makes a message a thousand bytes long.
func long(m *worldv1.Message) { m.Body = &worldv1.Message_Text{Text: strings.Repeat("x", 1000)} }

func TestByteLimit(t *testing.T) {
	const (
		model          = busv1.EndReason_END_REASON_MODEL_FAILURE
		infrastructure = busv1.EndReason_END_REASON_INFRASTRUCTURE
	)
	short := func(*worldv1.Message) {}
	tests := []struct {
		name     string
		maxBytes int64
		compat   bool
		turns    []*worldv1.Message
		over     busv1.EndReason
		class    agentgwv1.FailureClass
	}{
		{"below", 3000, false, []*worldv1.Message{message(1, agent, user, long), message(2, user, agent, long)}, open, 0},
		{"no limit", 0, false, []*worldv1.Message{message(1, agent, user, long)}, open, 0},
		{"the agent's", 1000, false, []*worldv1.Message{message(1, agent, user, long)}, model, agentgwv1.FailureClass_FAILURE_CLASS_MODEL},
		{"an answer to the agent", 1000, false, []*worldv1.Message{message(1, agent, env, short), message(2, env, agent, long)}, model, agentgwv1.FailureClass_FAILURE_CLASS_MODEL},
		{"the agent's, crossed by the user", 1020, false, []*worldv1.Message{message(1, agent, user, long), message(2, user, agent, short)}, model, agentgwv1.FailureClass_FAILURE_CLASS_MODEL},
		{"the user's", 1000, false, []*worldv1.Message{message(1, agent, user, short), message(2, user, agent, long)}, infrastructure, agentgwv1.FailureClass_FAILURE_CLASS_USER},
		{"the user's, as in the original", 1000, true, []*worldv1.Message{message(1, agent, user, short), message(2, user, agent, long)}, model, agentgwv1.FailureClass_FAILURE_CLASS_MODEL},
		{"the last word", 1000, false, []*worldv1.Message{message(1, agent, user, long, active(false))}, finished, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			opened := start(10, message(0, user, agent, long)) // what the scenario says does not count
			opened.Start.Rollout = &busv1.Rollout{Id: "s.0", MaxBytes: test.maxBytes, Compat: test.compat}
			state := fold(t, opened)
			for _, m := range test.turns {
				if _, over := state.Next(); over != nil {
					t.Errorf("Next before message %d: got %v, want somebody", m.GetIndex(), over)
				}
				say(t, state, nil, m)
			}
			_, over := state.Next()
			if over.GetReason() != test.over || over.GetFailureClass() != test.class {
				t.Errorf("Next: got %v, want %v of class %v", over, test.over, test.class)
			}
			if tooLarge := over.GetExceptionType() == rollout.TooLarge; tooLarge != (test.class != 0) || tooLarge && !strings.Contains(over.GetDetail(), "--max-rollout-bytes") {
				t.Errorf("exception: got %q and %q, want %s and the flag, unless it goes on", over.GetExceptionType(), over.GetDetail(), rollout.TooLarge)
			}
		})
	}
}
