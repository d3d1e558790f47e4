package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file of a catalogue.
type Position struct {
	// File is the path below the catalogue's directory, with slashes.
	File string
	// Line and Column count from 1; a column is a character, not a byte.
	Line, Column int
}

// Error is one mistake in a file of a catalogue.
type Error struct {
	// File, Line and Column say where, as in Position.
	File         string
	Line, Column int
	// Field is the path of the field in the document, e.g. milestones[1].expect.wifi; empty for the
	// document as a whole.
	Field string
	// Reason says what is wrong and what was expected.
	Reason string
}

// Error returns one line, `file:line:column: field: reason`.
func (e *Error) Error() string {
	field := e.Field
	if field == "" {
		field = "document"
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", e.File, e.Line, e.Column, field, e.Reason)
}

// Errors are all mistakes of a catalogue, by file, line and column. It is never empty.
type Errors []*Error

// Error returns one line per mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// atMost returns mistakes in order, no more than count of them and a last one that says where the
// others begin.
func (e Errors) atMost(count int) Errors {
	e.sort()
	e = slices.CompactFunc(e, func(a, b *Error) bool { return *a == *b }) // guardrails of a scenario are read for each node
	if len(e) <= count {
		return e
	}
	more := *e[count]
	more.Field, more.Reason = "", fmt.Sprintf("more mistakes from here on; at most %d are reported at once", count)
	return append(e[:count:count], &more)
}

// oneLine replaces what would break an error's single line.
func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}
