package document

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Position is a position in a file of a catalogue.
type Position struct {
	// File is the slash-separated path below the catalogue's directory.
	File string
	// Line and Column count from 1. A column is a character, not a byte.
	Line, Column int
}

// String returns file:line:column.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// At returns the position of a value.
func (r *Reader) At(v *Value) Position { return Position{r.File, v.Line, v.Column} }

// Error is one mistake in a file of a catalogue.
type Error struct {
	// File, Line and Column are a Position.
	File         string
	Line, Column int
	// Field is the path of the field in the document, e.g. milestones[1].expect.wifi; empty for the
	// whole document.
	Field string
	// Reason states the mistake and the expected value.
	Reason string
	// Follow is the number of other mistakes that may follow from this one and are not listed.
	Follow int
}

// Error returns one line, `file:line:column: field: reason`.
func (e *Error) Error() string {
	follow := ""
	if e.Follow > 0 {
		follow = fmt.Sprintf(", and %d more that may follow from it", e.Follow)
	}
	return fmt.Sprintf("%v: %s: %s", Position{e.File, e.Line, e.Column}, cmp.Or(visible(e.Field), "document"), e.Reason) + follow
}

// visible escapes characters that do not print, such as a byte order mark within a key.
func visible(field string) string {
	var text strings.Builder
	for _, r := range field {
		if unicode.IsPrint(r) {
			text.WriteRune(r)
		} else {
			text.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return text.String()
}

// Errors are all mistakes of a catalogue, sorted by file, line and column. It is never empty.
type Errors []*Error

// Error returns one line per mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// AtMost returns the first count mistakes and a last one at the position of the next.
func (e Errors) AtMost(count int) Errors {
	e.sort()
	e = slices.CompactFunc(e, func(a, b *Error) bool { return *a == *b }) // a scenario's guardrails are read for each node
	if len(e) <= count {
		return e
	}
	more := *e[count]
	more.Field, more.Reason = "", fmt.Sprintf("more mistakes from here on; at most %d are reported at once", count)
	return append(e[:count:count], &more)
}

// oneLine replaces line breaks and other control characters.
func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

// sort orders mistakes by file, line, column and text.
func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Reason, b.Reason))
	})
}

// WithPrefix adds a path to the files of the mistakes in place, e.g. the path of their pack, and
// returns them.
func (e Errors) WithPrefix(prefix string) Errors {
	for _, mistake := range e {
		mistake.File = strings.TrimSuffix(prefix, "/") + "/" + mistake.File
	}
	return e
}
