package scenario

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// packMeasures are the measures and extractors of a pack.
type packMeasures struct {
	set *measure.Set
	// of holds the source files.
	of []*evaluationv1.MeasureModule
}

// withMeasures returns options with the measures and extractors of files.
func (o Options) withMeasures(modules []*evaluationv1.MeasureModule) (Options, document.Errors) {
	if o.packMeasures.of != nil && sameMeasures(o.packMeasures.of, modules) {
		return o, nil
	}
	o.packMeasures = packMeasures{of: modules}
	if len(modules) == 0 {
		return o, nil
	}
	var mistakes document.Errors
	set, err := measure.Compile(modules)
	var wrong source.Mistakes
	if errors.As(err, &wrong) {
		for _, m := range wrong {
			mistakes = append(mistakes, &document.Error{File: m.File, Line: m.Line, Column: m.Column, Field: m.Function, Reason: m.Reason})
		}
	}
	for _, f := range set.Functions() {
		for _, kind := range []measure.Kind{measure.Cells, measure.Rows, measure.Extractor} {
			if slices.Contains(evaluation.BuiltInNames(kind), f.Name) {
				mistakes = append(mistakes, &document.Error{
					File: f.File, Line: f.Line, Column: f.Column, Field: f.Name,
					Reason: "a built-in measure or extractor has the name; take another one",
				})
			}
		}
	}
	o.packMeasures.set = set
	return o, mistakes
}

func sameMeasures(a, b []*evaluationv1.MeasureModule) bool {
	return slices.EqualFunc(a, b, func(a, b *evaluationv1.MeasureModule) bool { return a == b || proto.Equal(a, b) })
}

// measures reads the pack's measures and extractors unless they are known.
func (c *checker) measures(modules []*evaluationv1.MeasureModule) {
	var mistakes document.Errors
	c.opts, mistakes = c.opts.withMeasures(modules)
	for _, mistake := range mistakes {
		c.fail("evaluation.measure_modules", "%v", mistake)
	}
}

// probe calls the pack's measures of cells with each expected cell as the found one.
func (c *checker) probe(path string, constraint *evaluation.Constraint) {
	if constraint.Measure == evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT || constraint.PackMeasure != nil {
		return
	}
	for i, row := range constraint.Target {
		for j := range row {
			if err := row[j].Probe(); err != nil {
				c.fail(fmt.Sprintf("%s.target[%d].cells[%d]", path, i, j), "%v", err)
			}
		}
	}
}
