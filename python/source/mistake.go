package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mistake is an error in a function of a pack: a tool, a measure or an extractor.
type Mistake struct {
	// File is the path below the folder of the pack.
	File string
	// Line and Column count from 1; a column is a character. They are 0 if only the reader of the
	// whole pack knows the position.
	Line, Column int
	// Function is the function that contains the error, if any.
	Function string
	// Reason states the error and what to write instead.
	Reason string
}

// Mistakes are all errors in a pack's functions of one kind, by file and line. As an error it is
// never empty.
type Mistakes []Mistake

// Error returns one line per mistake.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i := range m {
		position := m[i].File
		if m[i].Line > 0 {
			position = fmt.Sprintf("%s:%d:%d", position, m[i].Line, m[i].Column)
		}
		lines[i] = fmt.Sprintf("%s: %s: %s", position, cmp.Or(m[i].Function, "file"), m[i].Reason)
	}
	return strings.Join(lines, "\n")
}

// Add adds a mistake at an offset of a file's text.
func (m *Mistakes) Add(file, text string, at int, function, format string, args ...any) {
	line, column := LineColumn(text, at)
	*m = append(*m, Mistake{File: file, Line: line, Column: column, Function: function, Reason: fmt.Sprintf(format, args...)})
}

// Sort sorts the mistakes of one file by position.
func (m Mistakes) Sort() {
	slices.SortStableFunc(m, func(a, b Mistake) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
}
