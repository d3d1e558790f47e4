// Package celexpr compiles and evaluates the CEL expressions of scenarios: extractors, which get
// values from a tool trace, measures, and times relative to a scenario's now. docs/scenarios.md
// documents them.
//
// The compiler checks syntax, names, types and, except for measures, the maximum cost. An
// evaluation counts its steps and fails after a fixed number. A time limit would make scores depend
// on the machine. The package reads no clock, no file except the time zone database, and no mutable
// state. It is safe for concurrent use.
package celexpr

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
)

const (
	// maxLength is the maximum length of an expression in characters.
	maxLength = 2000
	// maxDepth is the maximum nesting of an expression.
	maxDepth = 40
	// maxNodes is the maximum number of nodes after macro expansion.
	maxNodes = 2000
	// maxNesting is the maximum nesting of loops.
	maxNesting = 2
	// maxCost is the maximum number of steps of an evaluation in CEL's units: about one per operation
	// and a tenth per character.
	maxCost = 20_000
)

// Error is a mistake in an expression.
type Error struct {
	// Line and Column are the position in the expression, from 1, in characters. Both are 0 for a
	// mistake in the expression as a whole.
	Line, Column int
	// Problem states the mistake and the expected value.
	Problem string
}

// Error returns position and problem.
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

// newEnvironment returns an environment with options, the named macros, and the standard functions
// except regular expressions.
func newEnvironment(macros []string, options ...cel.EnvOption) (*cel.Env, error) {
	standard := &env.LibrarySubset{
		DisableMacros: len(macros) == 0, IncludeMacros: macros, ExcludeFunctions: []*env.Function{env.NewFunction("matches")},
	}
	limits := []cel.EnvOption{
		cel.CustomTypeAdapter(sortedAdapter{}),
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

// recoverPanic converts a panic of the compiler to an *Error.
func recoverPanic(err *error) {
	if cause := recover(); cause != nil {
		*err = &Error{Problem: fmt.Sprintf("the expression cannot be compiled: %v", cause)}
	}
}

// compile type-checks an expression and limits its cost. The error is an *Error.
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

// firstIssue returns the compiler's first mistake.
func firstIssue(issues *cel.Issues) *Error {
	first := issues.Errors()[0]
	// Omit CEL's internals, which do not help authors.
	problem, _, _ := strings.Cut(strings.ReplaceAll(first.Message, "\n", " "), " expecting ")
	problem, _, _ = strings.Cut(problem, " (in container")
	problem = strings.ReplaceAll(problem, "mismatched input '<EOF>'", "it ends too early")
	result := &Error{Problem: strings.TrimSpace(problem)}
	if line, column := first.Location.Line(), first.Location.Column(); line > 0 && column >= 0 {
		result.Line, result.Column = line, column+1
	}
	return result
}

// errorAt returns a mistake at a node of an expression.
func errorAt(checked *cel.Ast, node ast.Expr, format string, arguments ...any) *Error {
	location := checked.NativeRep().SourceInfo().GetStartLocation(node.ID())
	return &Error{Line: location.Line(), Column: location.Column() + 1, Problem: fmt.Sprintf(format, arguments...)}
}

// program plans an expression. The error is an *Error.
func program(environment *cel.Env, checked *cel.Ast) (cel.Program, error) {
	options := []cel.ProgramOption{cel.CustomDecoratorV2(sortMapLiterals)}
	// Cost tracking dominates small expressions. An expression whose cost does not depend on its data
	// needs none.
	if estimate, err := environment.EstimateCost(checked, sizes{unknown: true}); err != nil || estimate.Max > maxCost {
		options = append(options, cel.CostLimit(maxCost), cel.CostTracking(costs{}))
	}
	prg, err := environment.Program(checked, options...)
	if err != nil {
		return nil, &Error{Problem: err.Error()}
	}
	return prg, nil
}
