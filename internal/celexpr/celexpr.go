// Package celexpr compiles and evaluates the expressions that scenario authors write in CEL:
// extractors, which take values from a tool trace, and times relative to a scenario's now.
// docs/scenarios.md lists what they can use.
//
// Everything is checked when it is compiled: syntax, names, types, what the expression gives and
// what it may cost at most. An evaluation counts its steps and fails at a fixed number of them,
// which is the same on every machine; a limit of time would let a score depend on who computes it.
// Nothing here reads a clock, a file other than the time zone database, or state that changes.
// Everything is safe for concurrent use.
package celexpr

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
)

const (
	// maxLength bounds an expression in characters.
	maxLength = 2000
	// maxDepth bounds how deep an expression nests.
	maxDepth = 40
	// maxNodes bounds the size of an expression after its macros are written out.
	maxNodes = 2000
	// maxNesting bounds how many loops may stand inside one another.
	maxNesting = 2
	// maxCost bounds the steps of an evaluation, in CEL's units: about one for an operation, a
	// tenth for a character.
	maxCost = 20_000
)

// Error is a mistake in an expression.
type Error struct {
	// Line and Column say where, from 1, in characters of the expression; both are 0 if it is about
	// the whole.
	Line, Column int
	// Problem says what is wrong and what was expected.
	Problem string
}

// Error returns place and problem.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.Problem
	case e.Line == 1:
		return fmt.Sprintf("column %d of the expression: %s", e.Column, e.Problem)
	default:
		return fmt.Sprintf("line %d, column %d of the expression: %s", e.Line, e.Column, e.Problem)
	}
}

// newEnvironment returns an environment with the standard functions but regular expressions, the
// named macros and the given options.
func newEnvironment(macros []string, options ...cel.EnvOption) (*cel.Env, error) {
	standard := &env.LibrarySubset{
		DisableMacros: len(macros) == 0, IncludeMacros: macros, ExcludeFunctions: []*env.Function{env.NewFunction("matches")},
	}
	limits := []cel.EnvOption{
		cel.CustomTypeAdapter(ordered{}),
		cel.StdLib(cel.StdLibSubset(standard)),
		cel.ParserExpressionSizeLimit(maxLength),
		cel.ParserRecursionLimit(maxDepth),
		cel.ParserErrorRecoveryLimit(1),
		cel.ExpressionNodeLimit(maxNodes),
		cel.ASTValidators(cel.ValidateComprehensionNestingLimit(maxNesting)),
		cel.CrossTypeNumericComparisons(true),
	}
	created, err := cel.NewCustomEnv(append(limits, options...)...)
	if err != nil {
		return nil, fmt.Errorf("create the environment of expressions: %w", err)
	}
	return created, nil
}

// recovered turns a panic of the compiler into a mistake of the expression.
func recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = &Error{Problem: fmt.Sprintf("the expression cannot be compiled: %v", cause)}
	}
}

// compile checks an expression and what it may cost. Its error is an *Error.
func compile(environment *cel.Env, text string) (*cel.Ast, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &Error{Problem: "the expression is empty"}
	}
	checked, issues := environment.Compile(text)
	if issues.Err() != nil {
		return nil, firstIssue(issues)
	}
	estimate, err := environment.EstimateCost(checked, sizes{})
	if err != nil {
		return nil, &Error{Problem: "the cost of the expression cannot be told: " + err.Error()}
	}
	if estimate.Max > maxCost {
		return nil, &Error{Problem: fmt.Sprintf("the expression may take more than %d steps with lists of %d items", maxCost, assumedSize)}
	}
	return checked, nil
}

// firstIssue returns the first mistake that the compiler found.
func firstIssue(issues *cel.Issues) *Error {
	first := issues.Errors()[0]
	// The parts that speak of CEL's inner workings say nothing to an author.
	problem, _, _ := strings.Cut(strings.ReplaceAll(first.Message, "\n", " "), " expecting ")
	problem, _, _ = strings.Cut(problem, " (in container")
	problem = strings.ReplaceAll(problem, "mismatched input '<EOF>'", "it ends too early")
	result := &Error{Problem: strings.TrimSpace(problem)}
	if line, column := first.Location.Line(), first.Location.Column(); line > 0 && column >= 0 {
		result.Line, result.Column = line, column+1
	}
	return result
}

// at returns a mistake at a node of an expression.
func at(checked *cel.Ast, node ast.Expr, format string, arguments ...any) *Error {
	place := checked.NativeRep().SourceInfo().GetStartLocation(node.ID())
	return &Error{Line: place.Line(), Column: place.Column() + 1, Problem: fmt.Sprintf(format, arguments...)}
}

// program plans an expression. Its error is an *Error.
func program(environment *cel.Env, checked *cel.Ast) (cel.Program, error) {
	options := []cel.ProgramOption{cel.CustomDecoratorV2(orderedMaps)}
	// Counting takes most of the time of a small expression. One whose steps do not grow with its
	// data needs none.
	if estimate, err := environment.EstimateCost(checked, sizes{unknown: true}); err != nil || estimate.Max > maxCost {
		options = append(options, cel.CostLimit(maxCost), cel.CostTracking(costs{}))
	}
	planned, err := environment.Program(checked, options...)
	if err != nil {
		return nil, &Error{Problem: err.Error()}
	}
	return planned, nil
}
