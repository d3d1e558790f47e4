package session

import (
	"maps"
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// Record is what calls did to a world while it was watched. Records that were added up are the
// effects of one call in all the states in which it was run. It is not safe for concurrent use.
type Record struct {
	// Reads are what the calls learned. Whatever they did follows from it and from their arguments.
	Reads []Read
	// Shapes are what the world copied into rows that the calls wrote, without telling them.
	Shapes []Read
	Writes []Write
	// Draws is how many ids a run drew at most.
	Draws int

	begin World
}

// Part is a part of a world that calls read and write.
type Part uint8

// The parts.
const (
	// PartRows is the rows of a table.
	PartRows Part = iota
	// PartVersions is a whole table with what decides whether rows come back: see Remove.
	PartVersions
	// PartActive is whether the conversation goes on.
	PartActive
	// PartClock is the virtual time.
	PartClock
	// PartDrawn is how many row ids were drawn.
	PartDrawn
)

// Read is one question that a call put to the world. The question counts and not the answer: one
// that found nothing is a read of the rows that might have been there.
type Read struct {
	of      Part
	table   string
	where   Where
	columns columnSet
	// rows are those that it found, if they have a condition; many says that there was more than
	// one at a time, unbounded that there were too many to list.
	rows            []Row
	many, unbounded bool
}

// maxListed bounds the lists of a record. What does not fit becomes a read or a write of a whole
// table.
const maxListed = 256

// Write is one change of the world.
type Write struct {
	of    Part
	kind  writeKind
	table string
	where Where
	row   Row
	// columns are those that an update changes, or those of an added row that are copies.
	columns columnSet
	// picks is the question that an update does not ask: which rows it changes.
	picks Read
}

type writeKind uint8

const (
	writeAll writeKind = iota
	// writeAny is any of the others.
	writeAny
	writeAppend
	writeRemove
	writeUpdate
)

// columnSet is a bit for each column. Columns beyond its size share the last bit.
type columnSet uint64

const allColumns = ^columnSet(0)

func columnBit(column int) columnSet { return 1 << min(column, 63) }

// Watch lets the record take down what calls do to the world from now on, and copies of the world
// with it; nil ends that.
func (w *World) Watch(record *Record) {
	w.record = nil
	if record != nil {
		*record = Record{Reads: record.Reads[:0], Shapes: record.Shapes[:0], Writes: record.Writes[:0], begin: *w}
		w.record = record
	}
}

// Drawing returns the question how many ids were drawn.
func Drawing() Read { return Read{of: PartDrawn} }

func (w *World) read(part Part) {
	if w.record != nil {
		w.record.Reads = append(w.record.Reads, Read{of: part, where: All()})
	}
}

// readRows takes down a question about rows of a table.
func (w *World) readRows(name string, where Where, columns columnSet) {
	if w.record != nil {
		w.record.Reads = append(w.record.Reads, w.question(name, where, columns))
	}
}

// question returns a question with the rows that it finds, those that it would have found before
// the call's own writes among them.
func (w *World) question(name string, where Where, columns columnSet) Read {
	read := Read{table: name, where: where, columns: columns}
	if where.all() {
		return read
	}
	read.find(w.table(name).rows)
	if w.table(name).written {
		read.find(w.record.begin.table(name).rows)
	}
	return read
}

func (r *Read) find(rows []Row) {
	before := len(r.rows)
	for _, row := range rows {
		if r.where.selects(row) {
			r.rows = append(r.rows, row)
		}
	}
	r.many = r.many || len(r.rows) > before+1
}

func (w *World) wrote(write Write) {
	if w.record != nil {
		w.record.Writes = append(w.record.Writes, write)
	}
}

// Add adds another record of the same call and says whether that was anything new.
func (r *Record) Add(other *Record) bool {
	grown := AddReads(&r.Reads, other.Reads)
	grown = AddReads(&r.Shapes, other.Shapes) || grown
	for i := range other.Writes {
		grown = r.addWrite(&other.Writes[i]) || grown
	}
	grown = grown || other.Draws > r.Draws
	r.Draws = max(r.Draws, other.Draws)
	return grown
}

// addWrite adds a write and says whether that was anything new.
func (r *Record) addWrite(write *Write) bool {
	if at := slices.IndexFunc(r.Writes, write.within); at >= 0 {
		return r.Writes[at].picks.add(&write.picks)
	}
	added := *write
	added.picks.rows = slices.Clone(added.picks.rows)
	if r.Writes = append(r.Writes, added); len(r.Writes) > maxListed {
		writes := r.Writes
		r.Writes = nil
		for _, w := range writes {
			if w.of == PartRows {
				w = Write{kind: writeAny, table: w.table, where: All(), picks: wholeTable(w.table)}
			}
			if !slices.ContainsFunc(r.Writes, w.within) {
				r.Writes = append(r.Writes, w)
			}
		}
	}
	return true
}

// AddReads adds reads to others, each question once, and says whether that was anything new.
func AddReads(reads *[]Read, others []Read) (grown bool) {
	for i := range others {
		at := slices.IndexFunc(*reads, others[i].within)
		if at >= 0 {
			grown = (*reads)[at].add(&others[i]) || grown
			continue
		}
		added := others[i]
		added.rows = slices.Clone(added.rows)
		if *reads, grown = append(*reads, added), true; len(*reads) > maxListed {
			*reads = wholeTables(*reads)
		}
	}
	return grown
}

// wholeTables makes one question about each table of the questions about rows.
func wholeTables(reads []Read) []Read {
	var whole []Read
	for _, read := range reads {
		if read.of == PartRows {
			read = wholeTable(read.table)
		}
		if !slices.ContainsFunc(whole, read.within) {
			whole = append(whole, read)
		}
	}
	return whole
}

func wholeTable(name string) Read {
	return Read{table: name, where: All(), columns: allColumns}
}

// within says whether an answer to another question answers this one too: it is the same, or about
// the whole table.
func (r Read) within(other Read) bool {
	return r.Same(other) || r.of == PartRows && other.of == PartRows && r.table == other.table && other.where.all() && other.columns == allColumns
}

// Same says whether two reads are the same question.
func (r Read) Same(other Read) bool {
	return r.of == other.of && r.table == other.table && r.columns == other.columns && r.where.same(other.where)
}

// add adds what the same question found in another run.
func (r *Read) add(other *Read) bool {
	if r.where.all() {
		return false
	}
	grown := other.many && !r.many
	r.many = r.many || other.many
	for _, row := range other.rows {
		if r.unbounded || slices.ContainsFunc(r.rows, func(known Row) bool { return sameCells(known, row, 0) }) {
			continue
		}
		if r.rows, grown = append(r.rows, row), true; len(r.rows) > maxListed {
			r.rows, r.unbounded = nil, true
		}
	}
	return grown
}

// within says whether another write may do all that this one does.
func (w Write) within(other Write) bool {
	if w.of != other.of || w.table != other.table {
		return false
	}
	return other.kind == writeAny || w.kind == other.kind && w.columns == other.columns &&
		w.where.same(other.where) && sameCells(w.row, other.row, w.columns)
}

// sameCells compares two rows except in some columns.
func sameCells(a, b Row, except columnSet) bool {
	if len(a) == 0 || len(b) == 0 || &a[0] == &b[0] {
		return len(a) == len(b)
	}
	for i := range a {
		if except&columnBit(i) == 0 && !sameValue(a[i], b[i]) {
			return false
		}
	}
	return true
}

// sameValue says whether two values cannot be told apart. A number that is not equal to itself is
// the same as another such one.
func sameValue(a, b python.Value) bool {
	x, y := a, b
	return a.Kind() == b.Kind() && (a.Equal(b) || !a.Equal(x) && !b.Equal(y))
}

// Conflicts tells which writes of the calls of a batch matter to which of their reads.
type Conflicts struct {
	base *World
	// selectors are the columns of a table by which writes choose rows.
	selectors map[string]columnSet
	// lasting are the tables, of those from which calls remove rows, in which no row comes back.
	lasting map[string]bool
}

// NewConflicts returns the conflicts of calls with these effects, in all states that they make of
// one world. The world must not change.
func NewConflicts(base *World, records []*Record) *Conflicts {
	c := &Conflicts{base: base, selectors: make(map[string]columnSet), lasting: make(map[string]bool)}
	for _, record := range records {
		for i := range record.Writes {
			if w := &record.Writes[i]; w.kind == writeAny {
				c.selectors[w.table] = allColumns
			} else if !w.where.all() {
				c.selectors[w.table] |= columnBit(w.where.Column)
			}
		}
	}
	for _, record := range records {
		for i := range record.Reads {
			if r := &record.Reads[i]; r.of == PartVersions {
				c.lasting[r.table] = false
			}
		}
	}
	for name := range c.lasting {
		c.lasting[name] = c.lasts(name, records)
	}
	return c
}

// lasts says whether no row of a table ever comes back: a row is in none of the removals, or the
// table always had rows and can become empty only once.
func (c *Conflicts) lasts(name string, records []*Record) bool {
	rows, adds := slices.Clone(c.base.table(name).rows), false
	for _, record := range records {
		for i := range record.Writes {
			w := &record.Writes[i]
			if w.of != PartRows || w.table != name {
				continue
			}
			switch {
			case w.kind == writeRemove:
				rows = slices.DeleteFunc(rows, w.where.selects)
			case w.kind == writeAll, w.kind == writeAny, w.kind == writeUpdate && w.columns&c.selectors[name] != 0:
				return false
			case w.kind == writeAppend:
				adds = true
			}
		}
	}
	return len(rows) > 0 || !adds && !c.base.table(name).blank
}

// Matter says whether one of the writes may change the answer to one of the reads.
func (c *Conflicts) Matter(writes []Write, reads []Read) bool {
	for i := range reads {
		for j := range writes {
			if c.matters(&writes[j], &reads[i]) {
				return true
			}
		}
	}
	return false
}

func (c *Conflicts) matters(w *Write, r *Read) bool {
	switch {
	case r.of == PartVersions:
		return w.of == PartRows && w.table == r.table && !c.lasting[r.table]
	case w.of != r.of || w.table != r.table:
		return false
	case w.of != PartRows:
		return true
	}
	switch w.kind {
	case writeAppend:
		return r.where.all() || w.columns&columnBit(r.where.Column) != 0 || r.where.selects(w.row)
	case writeRemove:
		return !c.lasting[w.table] || r.finds(w.where)
	case writeUpdate:
		return c.updates(w, r)
	default:
		return true
	}
}

// updates says whether an update may change the answer to a question. An update of rows that it
// chooses also puts them behind the others.
func (c *Conflicts) updates(w *Write, r *Read) bool {
	if w.columns&c.selectors[w.table] != 0 || !r.where.all() && w.columns&columnBit(r.where.Column) != 0 {
		return true // rows may be chosen by what the update changes
	}
	moves := !w.where.all() && (r.many || r.where.all())
	return (w.columns&r.columns != 0 || r.columns != 0 && moves) && r.finds(w.where)
}

// Chosen returns the questions which rows the writes change, as far as the answers to the reads
// depend on that: those of updates through which rows come to meet a condition.
func (c *Conflicts) Chosen(writes []Write, reads []Read) []Read {
	var chosen []Read
	for i := range writes {
		w := &writes[i]
		if w.of != PartRows || w.kind != writeUpdate && w.kind != writeAny {
			continue
		}
		columns, matters := columnSet(0), false
		for j := range reads {
			if r := &reads[j]; r.of == PartRows && r.table == w.table {
				columns |= r.columns
				matters = matters || w.kind == writeAny || !r.where.all() && w.columns&columnBit(r.where.Column) != 0
			}
		}
		if matters {
			picks := w.picks
			picks.columns |= columns
			chosen = append(chosen, picks)
		}
	}
	return chosen
}

// finds says whether a row that the condition selects may be among those that the question found.
func (r *Read) finds(where Where) bool {
	return r.where.all() || r.unbounded || slices.ContainsFunc(r.rows, where.selects)
}

// Same says whether conflicts with the effects of more runs are the same.
func (c *Conflicts) Same(other *Conflicts) bool {
	return maps.Equal(c.selectors, other.selectors) && maps.Equal(c.lasting, other.lasting)
}

// AppendAnswers appends a text of the answers to the questions. Where it is the same in two worlds,
// the answers are the same, and again after the same call.
func (c *Conflicts) AppendAnswers(key []byte, w *World, reads []Read) []byte {
	for i := range reads {
		r := &reads[i]
		switch r.of {
		case PartRows:
			key = c.appendRows(key, w, r)
		case PartVersions:
			t := w.table(r.table)
			key = strconv.AppendBool(strconv.AppendBool(key, t.blank), t.written)
			key = appendCells(appendCells(key, t.rows, All(), allColumns), t.before, All(), allColumns)
		case PartActive:
			key = strconv.AppendBool(key, w.active)
		case PartClock:
			key = strconv.AppendFloat(key, w.now, 'g', -1, 64)
		case PartDrawn:
			key = strconv.AppendInt(key, w.drawn, 10)
		}
		key = append(key, ';')
	}
	return key
}

// appendRows appends the rows that a question finds: what it asks of them, and by what writes
// choose rows. Rows that nothing has changed need not be spelled out.
func (c *Conflicts) appendRows(key []byte, w *World, r *Read) []byte {
	rows, base := w.table(r.table).rows, c.base.table(r.table).rows
	if len(rows) == len(base) && (len(rows) == 0 || &rows[0] == &base[0]) {
		return append(key, '=')
	}
	return appendCells(key, rows, r.where, r.columns|c.selectors[r.table])
}

func appendCells(key []byte, rows []Row, where Where, columns columnSet) []byte {
	for _, row := range rows {
		if !where.selects(row) {
			continue
		}
		for i, cell := range row {
			if columns&columnBit(i) != 0 {
				key = append(python.AppendRepr(key, cell), ',')
			}
		}
		key = append(key, '|')
	}
	return append(key, ':')
}
