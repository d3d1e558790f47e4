package scenario

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// limits bound the memory and time for reading a pack.
type limits struct {
	// fileBytes and catalogueBytes are the maximum sizes of a YAML file and of a file in canonical
	// form. packBytes is that of all files together.
	fileBytes, catalogueBytes, packBytes int64
	// entries is the maximum number of files and folders in a folder or archive.
	entries int
	// scenarios is the maximum number of scenarios.
	scenarios int
	// rows is the maximum number of rows in the starting tables of all scenarios and worlds.
	rows int
	// rowVisits is the maximum number of rows that changes, removals and row names search.
	rowVisits int
	// mistakes is the maximum number of reported mistakes.
	mistakes int
}

func defaultLimits() limits {
	return limits{
		fileBytes: document.MaxFile, catalogueBytes: maxCatalogue, packBytes: 48 << 20, entries: 100_000, scenarios: 50_000,
		rows: 500_000, rowVisits: 20_000_000, mistakes: document.MaxMistakes,
	}
}

const (
	// maxCatalogue is the maximum size of a file in canonical form, and of a compressed archive, in
	// bytes.
	maxCatalogue = 32 << 20
)

// usage counts what was read of a pack against its limits.
type usage struct {
	limits
	usedBytes               int64
	usedRows, usedRowVisits int
	// stopped reports that the pack exceeded a limit. The error was reported, and reading stops.
	stopped bool
}

// exceed records once that the pack exceeded a limit.
func (u *usage) exceed(r *reader, at *document.Value, format string, args ...any) {
	if !u.stopped {
		r.Fail(at, "%s; nothing after it is read", fmt.Sprintf(format, args...))
	}
	u.stopped = true
}

// countRows counts the rows of a world's tables.
func (u *usage) countRows(r *reader, at *document.Value, w *startWorld) {
	for _, table := range w.tables {
		u.usedRows += len(table.GetRows())
	}
	u.checkRows(r, at)
}

func (u *usage) checkRows(r *reader, at *document.Value) {
	if u.usedRows > u.rows {
		u.exceed(r, at, "with this one, the worlds and scenarios of the pack start with more than %d rows", u.rows)
	}
}

// visitRows counts searched rows. It returns false after the limit.
func (u *usage) visitRows(r *reader, at *document.Value, rows int) bool {
	if u.usedRowVisits += rows; u.usedRowVisits > u.rowVisits {
		u.exceed(r, at, "with this one, changes, removals and names look at more than %d rows", u.rowVisits)
	}
	return !u.stopped
}
