// Package explain presents the explanation of a trajectory's score: as text for a person, as JSON
// for a program.
package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// Report is the explanation of one rollout.
type Report struct {
	// Name is the rollout's name in its run.
	Name string
	// Recorded is the similarity that the run recorded, nil if the rollout has no score.
	Recorded *float64
	// Failure is the type of the exception that ended the rollout, if any.
	Failure string
	// Causes are what the run recorded that may have cost the score.
	Causes []results.Cause
	// Evaluation is the evaluation behind the explanation.
	Evaluation *evaluationv1.Evaluation
	// Messages are all messages; message i has index i.
	Messages []*worldv1.Message
	// Tables are all versions of its tables.
	Tables []*worldv1.Table
	// Explanation is the evaluator's answer.
	Explanation *evaluatorv1.ExplainTrajectoryResponse

	textIsNoCall bool
}

// Filter keeps only the nodes with the name node or, without one, the node with that number. It
// returns false and changes nothing if there is neither.
func (r *Report) Filter(node string) bool {
	number, err := strconv.Atoi(node)
	for _, called := range []func(*evaluatorv1.NodeExplanation) bool{
		func(n *evaluatorv1.NodeExplanation) bool { return n.GetName() != "" && n.GetName() == node },
		func(n *evaluatorv1.NodeExplanation) bool { return err == nil && int(n.GetNode()) == number },
	} {
		milestones, minefields := filterNodes(r.Explanation.GetMilestones(), called), filterNodes(r.Explanation.GetMinefields(), called)
		if len(milestones)+len(minefields) > 0 {
			r.Explanation = &evaluatorv1.ExplainTrajectoryResponse{
				Result: r.Explanation.GetResult(), Milestones: milestones, Minefields: minefields,
			}
			return true
		}
	}
	return false
}

func filterNodes(nodes []*evaluatorv1.NodeExplanation, keep func(*evaluatorv1.NodeExplanation) bool) []*evaluatorv1.NodeExplanation {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *evaluatorv1.NodeExplanation) bool { return !keep(n) })
}

// Names returns the names of all named nodes.
func (r *Report) Names() []string {
	var names []string
	for _, node := range slices.Concat(r.Explanation.GetMilestones(), r.Explanation.GetMinefields()) {
		if node.GetName() != "" {
			names = append(names, node.GetName())
		}
	}
	return names
}

// MarshalJSON writes name, recorded similarity, failure, causes and, as explanation, the JSON form
// of toolsandbox.evaluator.v1.ExplainTrajectoryResponse with the names that the fields have in the
// proto file.
func (r *Report) MarshalJSON() ([]byte, error) {
	raw, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(r.Explanation)
	if err != nil {
		return nil, fmt.Errorf("write explanation of %s: %w", r.Name, err)
	}
	var compact bytes.Buffer // the spaces of protojson differ from build to build
	if err := json.Compact(&compact, raw); err != nil {
		return nil, fmt.Errorf("write explanation of %s: %w", r.Name, err)
	}
	return json.Marshal(struct {
		Name        string          `json:"name"`
		Recorded    *float64        `json:"recorded_similarity"`
		Failure     string          `json:"failure,omitempty"`
		Causes      []results.Cause `json:"causes,omitempty"`
		Explanation json.RawMessage `json:"explanation"`
	}{r.Name, r.Recorded, r.Failure, r.Causes, compact.Bytes()})
}
