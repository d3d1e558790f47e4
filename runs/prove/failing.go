package prove

import (
	"fmt"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// failingCalls names the oracle's calls that fail in a rollout, with turn and exception. A call is
// wanted to fail, and not named, if a later call of the tool succeeds: the oracle finds out what is
// missing, and tries again.
func (s *candidate) failingCalls(t *orchestratorv1.GetTrajectoryResponse) []string {
	answers, script := answersOf(t), s.scenario.GetSetup().GetOracleScript()
	exception := func(call *worldv1.ToolCall) string { return answers[call.GetId()].GetResult().GetException() }
	var failing []string
	for i, turn := range script {
		for _, call := range turn.GetCalls() {
			if exception(call) == "" {
				continue
			}
			again := false
			for later := range scenario.Calls(script[i+1:]...) {
				again = again || later.GetTool() == call.GetTool() && answers[later.GetId()] != nil && exception(later) == ""
			}
			if !again {
				failing = append(failing, fmt.Sprintf("%s of turn %d fails with %s", call.GetTool(), i+1, exception(call)))
			}
		}
	}
	return failing
}
