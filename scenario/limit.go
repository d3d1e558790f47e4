package scenario

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// Budget bounds the memory and time for building a pack's worlds and scenarios. Reading stops when
// the pack exceeds this or another limit.
type Budget struct {
	// Rows is the maximum number of rows in the starting tables of all scenarios and worlds.
	Rows int
	// Visits is the maximum number of rows that changes, removals and row names search.
	Visits int
	// Copies is the maximum number of values in the documents that scenarios extend, counted for each
	// scenario that extends them.
	Copies int

	rows, visits, copies int
	stopped              bool
}

// Part returns an unused budget with the same limits for a part of the pack that is built
// concurrently. See Add.
func (b *Budget) Part() *Budget { return &Budget{Rows: b.Rows, Visits: b.Visits, Copies: b.Copies} }

// Stopped reports whether reading stops.
func (b *Budget) Stopped() bool { return b.stopped }

// Stop stops reading.
func (b *Budget) Stop() { b.stopped = true }

// Exceed records once that the pack exceeded a limit, and stops reading.
func (b *Budget) Exceed(r *document.Reader, at *document.Value, format string, args ...any) {
	if !b.stopped {
		r.Fail(at, "%s; nothing after it is read", fmt.Sprintf(format, args...))
	}
	b.stopped = true
}

// Count counts rows of starting tables.
func (b *Budget) Count(r *document.Reader, at *document.Value, rows int) {
	if b.rows += rows; b.rows > b.Rows {
		b.Exceed(r, at, "with this one, the worlds and scenarios of the pack start with more than %d rows", b.Rows)
	}
}

// visit counts searched rows. It returns false after the limit.
func (b *Budget) visit(r *document.Reader, at *document.Value, rows int) bool {
	if b.visits += rows; b.visits > b.Visits {
		b.Exceed(r, at, "with this one, changes, removals and names look at more than %d rows", b.Visits)
	}
	return !b.stopped
}

// CountCopied counts values that a scenario takes over from another one.
func (b *Budget) CountCopied(r *document.Reader, at *document.Value, values int) {
	if b.copies += values; b.copies > b.Copies {
		b.Exceed(r, at, "with this one, scenarios take over more than %d values from those that they extend", b.Copies)
	}
}

// Add adds what a part used.
func (b *Budget) Add(r *document.Reader, at *document.Value, part *Budget) {
	b.stopped = b.stopped || part.stopped
	b.Count(r, at, part.rows)
	b.visit(r, at, part.visits)
	b.CountCopied(r, at, part.copies)
}
