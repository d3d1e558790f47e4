package catalogue

import (
	"errors"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	pysource "github.com/toolsandbox/toolsandbox/internal/python/source"
	"github.com/toolsandbox/toolsandbox/internal/scenario"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// compileMeasures compiles the measures and extractors of a pack.
func compileMeasures(evaluation *evaluationv1.Evaluation) ([]scenario.OwnMeasure, scenario.Errors) {
	set, err := measure.Compile(evaluation)
	var wrong pysource.Mistakes
	if errors.As(err, &wrong) {
		return nil, convertMistakes(wrong)
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
