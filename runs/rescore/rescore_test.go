package rescore

import (
	"testing"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestEndCauses takes how a conversation ended from the run: the scenario may have another limit
// now.
func TestEndCauses(t *testing.T) {
	for end, want := range map[busv1.EndReason]busv1.CauseKind{
		busv1.EndReason_END_REASON_FINISHED:      0,
		busv1.EndReason_END_REASON_REPEATED_TURN: busv1.CauseKind_CAUSE_KIND_REPEATED_TURN,
		busv1.EndReason_END_REASON_MESSAGE_LIMIT: busv1.CauseKind_CAUSE_KIND_MESSAGE_LIMIT,
	} {
		causes := endCauses(results.EndName(end), 5)
		if len(causes) == 0 && want == 0 {
			continue
		}
		if len(causes) != 1 || causes[0].GetKind() != want || causes[0].GetRole() != worldv1.Role_ROLE_AGENT || causes[0].GetIndex() != 5 {
			t.Errorf("%v: got %v, want %v at 5", end, causes, want)
		}
	}
}
