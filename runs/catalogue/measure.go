package catalogue

import (
	"errors"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	pysource "github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// compileMeasures compiles the measures and extractors of a pack.
func compileMeasures(evaluation *evaluationv1.Evaluation) ([]scenario.PackMeasure, document.Errors) {
	set, err := measure.Compile(evaluation)
	var wrong pysource.Mistakes
	if errors.As(err, &wrong) {
		return nil, convertMistakes(wrong)
	}
	uses := map[measure.Kind]scenario.MeasureKind{measure.Cells: scenario.CellMeasure, measure.Rows: scenario.RowMeasure, measure.Extractor: scenario.ExtractorKind}
	var out []scenario.PackMeasure
	for _, f := range set.Functions() {
		out = append(out, scenario.PackMeasure{
			Name: f.Name, Kind: uses[f.Kind], Accepts: f.Accepts, Position: document.Position{File: f.File, Line: max(1, f.Line), Column: max(1, f.Column)},
			Probe: f.Probe,
		})
	}
	return out, nil
}
