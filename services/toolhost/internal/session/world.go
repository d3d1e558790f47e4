// Package session is the state of one session: its versioned tables, a counter of row ids and a
// virtual clock. It is a function of the setup and of the executed calls. It reads neither the wall
// clock nor random numbers.
package session

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
)

// Row is one row of a table: one cell (None, bool, float or str) per column. Rows are never changed
// in place.
type Row []python.Value

// table is the newest version of one table.
type table struct {
	rows []Row
	// before holds the rows that a version written by the current execution replaced.
	before []Row
	// hasVersion reports whether any version exists, hadRows whether any had a row, hadNoRows whether
	// any was empty. A table without a version counts as one without rows.
	hasVersion, hadRows, hadNoRows bool
	// written reports whether a call of the current execution wrote the table.
	written bool
}

// Config is the part of a session that no call changes. All copies of a world share it; it must not
// change.
type Config struct {
	// Seed is part of every row id unless it is 0.
	Seed int64
	// Zone is the time zone of the phone.
	Zone *time.Location
	// Services answers requests of tools to hosted services.
	Services service.Backend
	// Schema is the schema of the tables; nil means the built-in one.
	Schema *world.Schema
}

// schema returns the schema of the tables.
func (f *Config) schema() *world.Schema { return cmp.Or(f.Schema, world.Builtin()) }

// HasEvents reports whether a world can have scheduled events.
func (f *Config) HasEvents() bool { return f.schema().HasEvents() }

// World is the state that calls read and change. Assigning it copies it; copies share rows, which
// no one changes in place, so a copy is cheap and independent. Methods with a pointer receiver are
// not safe for concurrent use. While it is watched, its methods record what they read and write.
type World struct {
	cfg     *Config
	tables  []table // by place in the schema; never changed in place, as copies share them
	active  bool
	idCount int64
	now     float64
	effects *Effects
}

// NewWorld returns a world without rows, at a virtual time in POSIX seconds.
func NewWorld(cfg *Config, now float64) World {
	w := World{cfg: cfg, tables: make([]table, len(cfg.schema().Tables())), active: true, now: now}
	for i := range w.tables {
		w.tables[i].hadNoRows = true
	}
	return w
}

// Config returns the configuration, which must not be changed.
func (w *World) Config() *Config { return w.cfg }

// SetConfig replaces the configuration by one of the same schema.
func (w *World) SetConfig(cfg *Config) { w.cfg = cfg }

// Tables returns the tables with rows, in order.
func (w *World) Tables() []world.Table { return w.cfg.schema().StoredTables() }

// Table returns the schema of a table, without columns if the session does not have it.
func (w *World) Table(name string) world.Table {
	table, _ := w.cfg.schema().Table(name)
	return table
}

// table returns a table's newest version. A tool that names an unknown table has a defect.
func (w *World) table(name string) *table { return &w.tables[w.cfg.schema().TableIndex(name)] }

// mutable returns a table's newest version for a change that other worlds do not see.
func (w *World) mutable(name string) *table {
	w.tables = slices.Clone(w.tables)
	return w.table(name)
}

// Rows returns the rows of a table; the caller must not change them. A call that needs only some of
// them uses Find or Count, so that fewer other calls conflict with it.
func (w *World) Rows(name string) []Row {
	w.recordRowsRead(name, All(), allColumns)
	return w.table(name).rows
}

// Load sets the stored rows of a table without recording a write. Only the owner of a world uses
// it, as well as AddHistory, EndExecution, SetIDCount, SetNow and Written.
func (w *World) Load(name string, rows []Row) {
	t := w.mutable(name)
	*t = table{rows: rows, hasVersion: true, hadRows: t.hadRows || len(rows) > 0, hadNoRows: t.hasVersion && t.hadNoRows || len(rows) == 0}
}

// AddHistory adds facts about versions that were not loaded: whether any had a row, and whether any
// was empty.
func (w *World) AddHistory(name string, hadRows, hadNoRows bool) {
	t := w.mutable(name)
	t.hadRows, t.hadNoRows = t.hadRows || hadRows, t.hadNoRows || hadNoRows
}

// Write replaces a table's rows and takes ownership of the slice. A call that changes only some of
// them uses Append, Remove or Update, so that it conflicts with fewer calls.
func (w *World) Write(name string, rows []Row) {
	w.recordWrite(Write{kind: writeAll, table: name, where: All()})
	w.write(name, rows)
}

func (w *World) write(name string, rows []Row) {
	t := w.mutable(name)
	if !t.written {
		t.before = t.rows
	}
	t.rows, t.hadRows, t.written = rows, t.hadRows || len(rows) > 0, true
}

// Written reports whether the table was written since EndExecution.
func (w *World) Written(name string) bool { return w.table(name).written }

// EndExecution ends an execution: later writes belong to a later message.
func (w *World) EndExecution() {
	if !slices.ContainsFunc(w.tables, func(t table) bool { return t.written || t.before != nil }) {
		return
	}
	w.tables = slices.Clone(w.tables)
	for i := range w.tables {
		w.tables[i].before, w.tables[i].written = nil, false
	}
}

// Active reports whether the conversation continues.
func (w *World) Active() bool {
	w.recordRead(ResourceActive)
	return w.active
}

// SetActive ends or resumes the conversation.
func (w *World) SetActive(active bool) {
	w.recordWrite(Write{resource: ResourceActive, where: All()})
	w.active = active
}

// Now returns the virtual time in POSIX seconds.
func (w *World) Now() float64 {
	w.recordRead(ResourceClock)
	return w.now
}

// SetNow sets the virtual clock.
func (w *World) SetNow(now float64) { w.now = now }

// IDCount returns the number of drawn row ids.
func (w *World) IDCount() int64 {
	w.recordRead(ResourceIDCount)
	return w.idCount
}

// SetIDCount restores the counter of row ids.
func (w *World) SetIDCount(count int64) { w.idCount = count }

// NewID draws the next row id, which stays used even if the call fails afterwards.
func (w *World) NewID() string {
	name := "row:" + strconv.FormatInt(w.idCount, 10)
	if w.cfg.Seed != 0 {
		name = "row:" + strconv.FormatInt(w.cfg.Seed, 10) + ":" + strconv.FormatInt(w.idCount, 10)
	}
	w.idCount++
	if w.effects != nil {
		w.recordWrite(Write{resource: ResourceIDCount, where: All()})
		w.effects.NewIDs++
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String()
}

// NewRow returns a row of a table whose cells are the defaults of their columns.
func NewRow(table world.Table) Row {
	row := make(Row, len(table.Columns))
	for i, column := range table.Columns {
		row[i] = world.CellValue(column.Default)
	}
	return row
}

// Decode converts stored rows to rows of a world.
func Decode(rows []*worldv1.Row) []Row {
	decoded := make([]Row, len(rows))
	for i, row := range rows {
		cells := make(Row, len(row.GetCells()))
		for j, cell := range row.GetCells() {
			cells[j] = world.CellValue(cell)
		}
		decoded[i] = cells
	}
	return decoded
}

// Encode converts rows to their stored form.
func Encode(name string, index int32, rows []Row) *worldv1.Table {
	encoded := &worldv1.Table{Name: name, Index: index, Rows: make([]*worldv1.Row, len(rows))}
	for i, row := range rows {
		cells := make([]*worldv1.Value, len(row))
		for j, cell := range row {
			cells[j] = world.NewCell(cell)
		}
		encoded.Rows[i] = &worldv1.Row{Cells: cells}
	}
	return encoded
}
