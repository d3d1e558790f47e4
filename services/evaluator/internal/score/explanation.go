package score

import evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"

// Explanation is a score with its explanation. All similarities are those of Score.
type Explanation struct {
	// Result is the score.
	Result Result
	// Milestones and Minefields have one entry per node, without its name.
	Milestones, Minefields []*evaluatorv1.NodeExplanation
}
