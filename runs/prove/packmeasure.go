package prove

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// hasPackMeasures reports whether the pack has its own measures.
func (s *candidate) hasPackMeasures() bool {
	return len(s.scenario.GetEvaluation().GetMeasureModules()) > 0
}

// distantValues returns values far from an argument's, for measures that accept near ones.
func (a argument) distantValues() []argument {
	const far = 1e6
	if _, ok := a.unquote(); ok {
		return []argument{{name: "something else", value: quote("Something else entirely")}}
	}
	if value, ok := a.number(); ok {
		return []argument{{name: "far more", value: a.format(value + far)}, {name: "far less", value: a.format(value - far)}}
	}
	return nil
}

// tolerated reports whether a measure of the pack gives 1 for the wrong value of a fault.
func tolerated(explanation *evaluatorv1.ExplainTrajectoryResponse, wrong string) bool {
	matches := func(v *worldv1.Value) bool {
		switch kind := v.GetKind().(type) {
		case *worldv1.Value_Number:
			var number float64
			return json.Unmarshal([]byte(wrong), &number) == nil && number == kind.Number
		case *worldv1.Value_Text:
			return quote(kind.Text) == wrong
		case *worldv1.Value_Boolean:
			return wrong == "true" == kind.Boolean && (wrong == "true" || wrong == "false")
		}
		return false
	}
	for _, node := range explanation.GetMilestones() {
		for _, c := range node.GetMatch().GetConstraints() {
			whole := c.GetMeasure() == evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_PACK && c.GetSimilarity() == 1
			for _, row := range c.GetRows() {
				if whole && slices.ContainsFunc(row.GetFound().GetCells(), matches) {
					return true
				}
				if c.GetTable() == world.Sandbox && row.GetSimilarity() < 1 {
					continue
				}
				for _, cell := range row.GetCells() {
					if cell.GetMeasure() == evaluationv1.ColumnMeasure_COLUMN_MEASURE_PACK && cell.GetSimilarity() == 1 && matches(cell.GetFound()) {
						return true
					}
				}
			}
		}
	}
	return false
}

// isTolerated reports whether a measure of the pack accepts a fault that scores 1.
func (s *candidate) isTolerated(ctx context.Context, p *player, e *experiment) (bool, error) {
	if e.wrong == "" || !s.hasPackMeasures() {
		return false, nil
	}
	explanation, err := p.explanation(ctx, e)
	if err != nil {
		return false, err
	}
	e.tolerated = tolerated(explanation, e.wrong)
	return e.tolerated, nil
}

// checkTolerated reports arguments for which a measure of the pack accepts any value.
func (s *candidate) checkTolerated() {
	for i, e := range s.experiments {
		same := func(other *experiment) bool { return other.of == e.of && other.part == e.part }
		first := slices.IndexFunc(s.experiments, func(other *experiment) bool { return same(other) && other.tolerated }) == i
		if e.tolerated && first && !slices.ContainsFunc(s.experiments, func(other *experiment) bool {
			return same(other) && other.result.GetSimilarity() < perfectScore
		}) {
			s.failBy(e, "%s: %s", e.fault, "the measure gives 1 for every wrong value that was tried; let it give less for some")
		}
	}
}
