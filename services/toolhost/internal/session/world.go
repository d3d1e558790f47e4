// Package session is the state of one session: its versioned tables, a counter of row ids and a
// virtual clock. It is a function of the setup and of the calls that were executed; it reads
// neither the wall clock nor random numbers.
package session

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
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
	// stored says whether there is any version; ever whether any had a row, blank whether any had
	// none. A table without a version counts as one without rows.
	stored, ever, blank bool
	// written says whether a call of the current execution wrote the table.
	written bool
}

// Frame is what no call changes. It is shared by all copies of a world: do not change it.
type Frame struct {
	// Seed is part of every row id unless it is 0.
	Seed int64
	// Zone is where the phone's wall clock is.
	Zone *time.Location
	// Services answers the requests of tools to hosted services.
	Services service.Backend
	// Schema is that of the tables; nil is the built-in one.
	Schema *world.Schema
}

// schema returns the schema of the tables.
func (f *Frame) schema() *world.Schema { return cmp.Or(f.Schema, world.Builtin()) }

// HasEvents says whether events may be scheduled.
func (f *Frame) HasEvents() bool { return f.schema().HasEvents() }

// World is the state that calls read and change. Assigning it copies it; copies share rows, which
// no one changes in place, so a copy is cheap and independent. Methods with a pointer receiver are
// not safe for concurrent use. While it is watched, its methods take down what they read and write.
type World struct {
	frame  *Frame
	tables []table // by place in the schema; never changed in place, as copies share them
	active bool
	drawn  int64
	now    float64
	record *Record
}

// NewWorld returns a world without rows, at a virtual time in POSIX seconds.
func NewWorld(frame *Frame, now float64) World {
	w := World{frame: frame, tables: make([]table, len(frame.schema().Tables())), active: true, now: now}
	for i := range w.tables {
		w.tables[i].blank = true
	}
	return w
}

// Frame returns what no call changes. Do not change it.
func (w *World) Frame() *Frame { return w.frame }

// SetFrame replaces it by one of the same schema.
func (w *World) SetFrame(frame *Frame) { w.frame = frame }

// Tables returns the tables that hold rows, in their order.
func (w *World) Tables() []world.Table { return w.frame.schema().Stored() }

// Table returns the shape of a table; one that the session does not have has no columns.
func (w *World) Table(name string) world.Table {
	table, _ := w.frame.schema().Table(name)
	return table
}

// table returns a table's newest version. A tool that names a table which the session does not have
// is a defect of the tool.
func (w *World) table(name string) *table { return &w.tables[w.frame.schema().Place(name)] }

// change returns a table's newest version, which may be changed: other worlds do not see it.
func (w *World) change(name string) *table {
	w.tables = slices.Clone(w.tables)
	return w.table(name)
}

// Rows returns the rows of a table. Change neither the slice nor the rows. A call that needs only
// some of them asks with Find or Count: other calls are then less in its way.
func (w *World) Rows(name string) []Row {
	w.readRows(name, All(), allColumns)
	return w.table(name).rows
}

// Load sets a table's rows as they were stored, without counting as a write. It is for the owner of
// a world, as are Recall, Settle, SetDrawn, SetNow and what says which versions there are: calls do
// not use them.
func (w *World) Load(name string, rows []Row) {
	t := w.change(name)
	*t = table{rows: rows, stored: true, ever: t.ever || len(rows) > 0, blank: t.stored && t.blank || len(rows) == 0}
}

// Recall adds what is known about the versions that were not loaded: whether any had a row, and
// whether any had none.
func (w *World) Recall(name string, ever, blank bool) {
	t := w.change(name)
	t.ever, t.blank = t.ever || ever, t.blank || blank
}

// Ever says whether any version of the table had a row.
func (w *World) Ever(name string) bool { return w.table(name).ever }

// Write replaces a table's rows. It takes ownership of the slice. A call that changes only some of
// them says so with Append, Remove or Update: it is then in the way of fewer calls.
func (w *World) Write(name string, rows []Row) {
	w.wrote(Write{kind: writeAll, table: name, where: All()})
	w.write(name, rows)
}

func (w *World) write(name string, rows []Row) {
	t := w.change(name)
	if !t.written {
		t.before = t.rows
	}
	t.rows, t.ever, t.written = rows, t.ever || len(rows) > 0, true
}

// Written says whether the table was written since Settle.
func (w *World) Written(name string) bool { return w.table(name).written }

// Settle ends an execution: what follows belongs to a later message.
func (w *World) Settle() {
	w.tables = slices.Clone(w.tables)
	for i := range w.tables {
		w.tables[i].before, w.tables[i].written = nil, false
	}
}

// Active says whether the conversation goes on.
func (w *World) Active() bool {
	w.read(PartActive)
	return w.active
}

// SetActive ends the conversation or revives it.
func (w *World) SetActive(active bool) {
	w.wrote(Write{of: PartActive, where: All()})
	w.active = active
}

// Now returns the virtual time in POSIX seconds.
func (w *World) Now() float64 {
	w.read(PartClock)
	return w.now
}

// SetNow moves the virtual clock.
func (w *World) SetNow(now float64) { w.now = now }

// Drawn returns how many row ids were drawn.
func (w *World) Drawn() int64 {
	w.read(PartDrawn)
	return w.drawn
}

// SetDrawn restores the counter of row ids.
func (w *World) SetDrawn(drawn int64) { w.drawn = drawn }

// NewID draws the next row id. It is used up even if the call fails afterwards.
func (w *World) NewID() string {
	name := "row:" + strconv.FormatInt(w.drawn, 10)
	if w.frame.Seed != 0 {
		name = "row:" + strconv.FormatInt(w.frame.Seed, 10) + ":" + strconv.FormatInt(w.drawn, 10)
	}
	w.drawn++
	if w.record != nil {
		w.wrote(Write{of: PartDrawn, where: All()})
		w.record.Draws++
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String()
}

// Decode turns stored rows into rows of a world.
func Decode(rows []*worldv1.Row) []Row {
	decoded := make([]Row, len(rows))
	for i, row := range rows {
		cells := make(Row, len(row.GetCells()))
		for j, cell := range row.GetCells() {
			cells[j] = world.Plain(cell)
		}
		decoded[i] = cells
	}
	return decoded
}

// Encode turns rows into their stored form.
func Encode(name string, index int32, rows []Row) *worldv1.Table {
	encoded := &worldv1.Table{Name: name, Index: index, Rows: make([]*worldv1.Row, len(rows))}
	for i, row := range rows {
		cells := make([]*worldv1.Value, len(row))
		for j, cell := range row {
			cells[j] = world.Cell(cell)
		}
		encoded.Rows[i] = &worldv1.Row{Cells: cells}
	}
	return encoded
}
