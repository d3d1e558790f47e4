package catalogue

import (
	"errors"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/scenario"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// measures reads the measures and extractors of a pack's own.
func measures(evaluation *evaluationv1.Evaluation) ([]scenario.OwnMeasure, scenario.Errors) {
	set, err := measure.Compile(evaluation)
	var wrong measure.Mistakes
	if errors.As(err, &wrong) {
		mistakes := make(scenario.Errors, len(wrong))
		for i, m := range wrong {
			mistakes[i] = &scenario.Error{File: m.File, Line: m.Line, Column: m.Column, Field: m.Function, Reason: m.Reason}
		}
		return nil, mistakes
	}
	uses := map[measure.Kind]scenario.Use{measure.Cells: scenario.OfCells, measure.Rows: scenario.OfRows, measure.Extractor: scenario.OfCall}
	var out []scenario.OwnMeasure
	for _, f := range set.Functions() {
		out = append(out, scenario.OwnMeasure{
			Name: f.Name, Use: uses[f.Kind], Takes: f.Takes, Position: scenario.Position{File: f.File, Line: max(1, f.Line), Column: max(1, f.Column)},
			Probe: f.Probe,
		})
	}
	return out, nil
}
