package prove

import (
	"fmt"
	"slices"
	"strings"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// accidents are exceptions that a tool hardly raises on purpose, whatever its arguments.
var accidents = []string{"IndexError", "ZeroDivisionError", "re.error", "NameError", "UnboundLocalError", "AttributeError", "RecursionError", "TimeoutError", "SystemError"}

// judgeFailing fails the proof for a call of the oracle that only a defect explains, and notes the
// others that fail.
func (s *candidate) judgeFailing(t *orchestratorv1.GetTrajectoryResponse) {
	for _, failing := range s.failingCalls(t) {
		if exception, _, _ := strings.Cut(failing.exception, ":"); slices.Contains(accidents, exception) {
			s.fail(ruleOracle, "fix the tool or this call: %s", failing)
		} else {
			s.report.Notes = append(s.report.Notes, "change this call unless it should fail: "+failing.String())
		}
	}
}

// failingCall is a call of the oracle that fails, with its turn from 1.
type failingCall struct {
	tool      string
	turn      int
	exception string
}

func (c failingCall) String() string {
	return fmt.Sprintf("%s of turn %d fails with %s", c.tool, c.turn, c.exception)
}

// failingCalls names the oracle's calls that fail in a rollout, with turn and exception. A call is
// wanted to fail, and not named, if a later call of the tool succeeds: the oracle finds out what is
// missing, and tries again.
func (s *candidate) failingCalls(t *orchestratorv1.GetTrajectoryResponse) []failingCall {
	answers, script := answersOf(t), s.scenario.GetSetup().GetOracleScript()
	exception := func(call *worldv1.ToolCall) string { return answers[call.GetId()].GetResult().GetException() }
	var failing []failingCall
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
				failing = append(failing, failingCall{call.GetTool(), i + 1, exception(call)})
			}
		}
	}
	return failing
}
