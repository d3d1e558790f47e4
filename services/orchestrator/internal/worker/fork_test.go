package worker

import (
	"strings"
	"testing"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestForkDiffers compares turns of the execution environment with those of a fork's origin. A
// difference ends the rollout without a score, and names the place.
func TestForkDiffers(t *testing.T) {
	t.Parallel()
	answer := func(text string) *worldv1.Message {
		return &worldv1.Message{Index: 5, Sender: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, Recipient: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Result{
			Result: &worldv1.ToolResult{Text: &text},
		}}
	}
	version := func(digest string) []*worldv1.TableVersion {
		return []*worldv1.TableVersion{{Name: "SETTING", Index: 5, Digest: []byte(digest)}}
	}
	given := &givenTurns{map[int32]*worldv1.Message{5: answer("None")}, map[int32][]*worldv1.TableVersion{5: version("a")}}
	for name, test := range map[string]struct {
		turn    *busv1.Turn
		failure *busv1.End
		want    string
	}{
		"same":           {&busv1.Turn{Messages: []*worldv1.Message{answer("None")}, Versions: version("a")}, nil, ""},
		"another answer": {&busv1.Turn{Messages: []*worldv1.Message{answer("True")}, Versions: version("a")}, nil, `message 5 is "True", and was "None"`},
		"another table":  {&busv1.Turn{Messages: []*worldv1.Message{answer("None")}, Versions: version("b")}, nil, "table SETTING is another one after message 5"},
		"no table":       {&busv1.Turn{Messages: []*worldv1.Message{answer("None")}}, nil, "other tables after message 5"},
		"a failure":      {nil, uncaughtException("KeyError: nothing"), "KeyError: nothing"},
	} {
		end := given.compare(test.turn, test.failure)
		if test.want == "" && end == nil {
			continue
		}
		if !strings.Contains(end.GetDetail(), test.want) || end.GetReason() != busv1.EndReason_END_REASON_INFRASTRUCTURE || end.GetFailureClass() != agentgwv1.FailureClass_FAILURE_CLASS_INTERNAL {
			t.Errorf("%s: got %v, want the end of an infrastructure failure with %q", name, end, test.want)
		}
	}
}
