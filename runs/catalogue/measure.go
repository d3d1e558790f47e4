package catalogue

import (
	"errors"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	pysource "github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// compileMeasures compiles the measures and extractors of a pack.
func compileMeasures(modules []*evaluationv1.MeasureModule) ([]scenario.PackMeasure, scenario.Errors) {
	set, err := measure.Compile(modules)
	var wrong pysource.Mistakes
	if errors.As(err, &wrong) {
		return nil, convertMistakes(wrong)
	}
	uses := map[measure.Kind]scenario.MeasureKind{measure.Cells: scenario.CellMeasure, measure.Rows: scenario.RowMeasure, measure.Extractor: scenario.ExtractorKind}
	var out []scenario.PackMeasure
	for _, f := range set.Functions() {
		out = append(out, scenario.PackMeasure{
			Name: f.Name, Kind: uses[f.Kind], Accepts: f.Accepts, Position: scenario.Position{File: f.File, Line: f.Line, Column: f.Column},
			Probe: f.Probe,
		})
	}
	return out, nil
}
