// Package resultfile is the original's format of results: result_summary.json and, per rollout,
// conversation.json, execution_context.json and pretty_print.txt. It renders and parses their
// content; it holds no state and does no I/O.
package resultfile

import (
	"cmp"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Rollout is the input for the files of one rollout.
type Rollout struct {
	// Scenario is the scenario of the rollout.
	Scenario *scenariov1.Scenario
	// Result is the score with the flags of the simulated user.
	Result *busv1.Result
	// Messages are all messages including the starting ones. Message i has index i.
	Messages []*worldv1.Message
	// Tables are all stored versions including the starting ones, in any order.
	Tables []*worldv1.Table
	// Directory is the name of the rollout's directory; empty means the scenario's name.
	Directory string
}

// Name returns the name of the rollout in the summary, which is that of its directory.
func (r Rollout) Name() string { return cmp.Or(r.Directory, r.Scenario.GetSetup().GetName()) }

// Failed reports whether the rollout raised in the original's sense: its score does not result from
// its conversation. It has no conversation.json.
func (r Rollout) Failed() bool {
	reason := r.Result.GetEnd().GetReason()
	return reason == busv1.EndReason_END_REASON_MODEL_FAILURE || reason == busv1.EndReason_END_REASON_INFRASTRUCTURE ||
		reason == busv1.EndReason_END_REASON_CANCELLED
}
