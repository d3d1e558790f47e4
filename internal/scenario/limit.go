package scenario

import "fmt"

// limits bound what is read of a pack, so that a small or a strange one cannot use up memory or
// time.
type limits struct {
	// fileBytes and catalogueBytes are the most bytes of a YAML file and of a file in canonical
	// form; packBytes of all files that are read.
	fileBytes, catalogueBytes, packBytes int64
	// entries is the most files and folders in one folder or archive.
	entries int
	// scenarios is the most scenarios.
	scenarios int
	// rows is the most rows in the starting tables of all scenarios and worlds.
	rows int
	// steps is the most rows that changes and removals of rows, and names of rows, look at.
	looks int
	// mistakes is how many mistakes are reported.
	mistakes int
}

func defaultLimits() limits {
	return limits{
		fileBytes: MaxFile, catalogueBytes: maxCatalogue, packBytes: 48 << 20, entries: 100_000, scenarios: 50_000,
		rows: 500_000, looks: 20_000_000, mistakes: maxMistakes,
	}
}

const (
	// MaxFile is the most bytes of a YAML file of a pack.
	MaxFile = 1 << 20
	// maxCatalogue bounds a file in canonical form, and an archive as it is packed, in bytes.
	maxCatalogue = 32 << 20
	// maxMarks bounds the characters that lists and mappings are made of in a YAML file: what is
	// read of each takes some hundred bytes.
	maxMarks = 250_000
	// maxDepth bounds how deep a document nests.
	maxDepth = 40
	// maxMistakes bounds the mistakes of a file, and those that are reported of a pack.
	maxMistakes = 1000
)

// usage is what has been read of a pack so far, against its limits.
type usage struct {
	limits
	usedBytes           int64
	usedRows, usedLooks int
	// stopped says that a limit has been passed. It has been reported, and nothing more is read.
	stopped bool
}

// exceed records once that a limit of the whole pack has been passed.
func (u *usage) exceed(r *reader, at *value, format string, args ...any) {
	if !u.stopped {
		r.fail(at, "%s; nothing after it is read", fmt.Sprintf(format, args...))
	}
	u.stopped = true
}

// countRows adds the rows of a world's tables.
func (u *usage) countRows(r *reader, at *value, w *startWorld) {
	for _, table := range w.tables {
		u.usedRows += len(table.GetRows())
	}
	u.checkRows(r, at)
}

func (u *usage) checkRows(r *reader, at *value) {
	if u.usedRows > u.rows {
		u.exceed(r, at, "with this one, the worlds and scenarios of the pack start with more than %d rows", u.rows)
	}
}

// look adds rows that are looked at, and returns false if they are too many.
func (u *usage) look(r *reader, at *value, rows int) bool {
	if u.usedLooks += rows; u.usedLooks > u.looks {
		u.exceed(r, at, "with this one, changes, removals and names look at more than %d rows", u.looks)
	}
	return !u.stopped
}

// top is the beginning of a file.
func top() *value { return &value{line: 1, column: 1} }
