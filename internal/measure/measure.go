// Package measure compiles and calls the measures and extractors of a pack: functions in Python or
// expressions in CEL. Their results depend only on their inputs: they cannot access files,
// networks, clocks or random numbers. Their steps are limited.
package measure

import (
	"fmt"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// These are limits of a pack's files, which are part of every evaluation.
const (
	maxModules = 64
	maxSource  = 1 << 17 // bytes of all files
)

// Kind is the purpose of a function.
type Kind uint8

// The kinds of functions.
const (
	// Cells compares two cells.
	Cells Kind = iota + 1
	// Rows compares the rows of a table with the wanted ones.
	Rows
	// Extractor extracts values from a call.
	Extractor
)

// String returns the kind with its article.
func (k Kind) String() string {
	return [...]string{"nothing", "a measure of cells", "a measure of rows", "an extractor"}[k]
}

// Function is a measure or an extractor. It is immutable and safe for concurrent use.
type Function struct {
	// Name is the name in scenarios.
	Name string
	Kind Kind
	// File is the path in the pack. Line and Column count from 1. They are 0 for an expression in CEL.
	File         string
	Line, Column int

	// cell is the type of the cells of a measure, 0 for any type.
	cell world.Kind
	// wantedNull and foundNull report whether a parameter accepts null.
	wantedNull, foundNull bool

	program    *interp.Program
	def        *syntax.Def
	expression *celexpr.Measure
}

// Accepts reports whether a measure of cells accepts cells of a kind.
func (f *Function) Accepts(kind world.Kind) bool {
	return f.Kind == Cells && kind != world.KindTexts && (f.cell == 0 || f.cell == kind)
}

// Set is the functions of a pack by name. The nil Set is empty.
type Set struct{ functions []*Function }

// Functions returns all functions. Do not change the result.
func (s *Set) Functions() []*Function { return s.functions }

// Find returns the function with a name and a kind, nil if there is none.
func (s *Set) Find(name string, kind Kind) *Function {
	if s == nil {
		return nil
	}
	at := slices.IndexFunc(s.functions, func(f *Function) bool { return f.Name == name && f.Kind == kind })
	if at < 0 {
		return nil
	}
	return s.functions[at]
}

// Compile compiles the measures and extractors of an evaluation. Its error is
// source.Mistakes.
func Compile(evaluation *evaluationv1.Evaluation) (*Set, error) {
	functions, mistakes := CompilePython(evaluation.GetMeasureModules())
	set := &Set{functions: functions}
	for _, expression := range evaluation.GetMeasureExpressions() {
		f, err := CompileExpression(expression)
		if err != nil {
			mistakes = append(mistakes, source.Mistake{File: ExpressionFile, Line: 1, Column: 1, Function: expression.GetName(), Reason: err.Error()})
			continue
		}
		set.functions = append(set.functions, f)
	}
	if len(mistakes) == 0 {
		mistakes = duplicateNames(set.functions)
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return set, nil
}

// duplicateNames returns a mistake for each name of several functions.
func duplicateNames(functions []*Function) (mistakes source.Mistakes) {
	first := make(map[string]*Function, len(functions))
	for _, f := range functions {
		if other := first[f.Name]; other != nil {
			mistakes = append(mistakes, source.Mistake{
				File: f.File, Line: max(1, f.Line), Column: max(1, f.Column), Function: f.Name,
				Reason: fmt.Sprintf("%s has a function of that name; rename one of them", other.File),
			})
		}
		first[f.Name] = f
	}
	return mistakes
}

// These are the files of a pack.
const (
	// Directory is the directory of Python files.
	Directory = "measures"
	// ExpressionFile is the file of CEL expressions by name.
	ExpressionFile = "measures.yaml"
)

// CompileExpression compiles a measure in CEL. It does not accept null. The error is a
// *celexpr.Error.
func CompileExpression(source *evaluationv1.MeasureExpression) (*Function, error) {
	compiled, err := celexpr.CompileMeasure(source.GetExpression())
	if err != nil {
		return nil, err
	}
	f := &Function{Name: source.GetName(), Kind: Cells, File: ExpressionFile, expression: compiled}
	if source.GetRows() {
		f.Kind = Rows
	}
	return f, nil
}
