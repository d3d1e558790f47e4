// Package measure compiles and calls measures and extractors: Python functions of a pack, and
// expressions of constraints. Their results depend only on their inputs: they cannot access files,
// networks, clocks or random numbers. Their steps are limited.
package measure

import (
	"fmt"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/expression"
	"github.com/toolsandbox/toolsandbox/internal/world"
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
	// File is the path in the pack. Line and Column count from 1. An expression has none of them.
	File         string
	Line, Column int
	// Names are the names of an expression's values, in order of first appearance. Those of a function
	// are unknown.
	Names []string

	// cell is the type of the cells of a measure, 0 for any type.
	cell world.Kind
	// wantedNull and foundNull report whether a parameter accepts null.
	wantedNull, foundNull bool

	program    *interp.Program
	def        *syntax.Def
	expression *expression.Expression
}

// Accepts reports whether a measure of cells accepts cells of a kind.
func (f *Function) Accepts(kind world.Kind) bool {
	return f.Kind == Cells && kind != world.KindTexts && (f.cell == 0 || f.cell == kind)
}

// Set is the functions of a pack by name. The nil Set is empty.
type Set struct {
	functions  []*Function
	incomplete bool
}

// Functions returns all functions. Do not change the result.
func (s *Set) Functions() []*Function {
	if s == nil {
		return nil
	}
	return s.functions
}

// Incomplete reports whether the files have mistakes. Unknown names would only follow from them.
func (s *Set) Incomplete() bool { return s != nil && s.incomplete }

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

// duplicateNames returns a mistake for each name of several functions.
func duplicateNames(functions []*Function) (mistakes source.Mistakes) {
	first := make(map[string]*Function, len(functions))
	for _, f := range functions {
		if other := first[f.Name]; other != nil {
			mistakes = append(mistakes, source.Mistake{
				File: f.File, Line: f.Line, Column: f.Column, Function: f.Name,
				Reason: fmt.Sprintf("%s has a function of that name; rename one of them", other.File),
			})
		}
		first[f.Name] = f
	}
	return mistakes
}

// Directory is the directory of a pack's files.
const Directory = "measures"
