package session

import (
	"maps"
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/python"
)

// Effects are the reads and writes of calls. A merged value holds the effects of one call in all
// states in which it was run. It is not safe for concurrent use.
type Effects struct {
	// Reads are the queries of the calls. The calls are functions of the answers and of their
	// arguments.
	Reads  []Read
	Writes []Write
	// NewIDs is the largest number of ids that one run drew.
	NewIDs int

	start World
}

// Resource is a part of a world that calls read and write.
type Resource uint8

// The resources.
const (
	// ResourceRows is the rows of a table.
	ResourceRows Resource = iota
	// ResourceVersions is a whole table with the history that decides whether rows come back; see
	// Remove.
	ResourceVersions
	// ResourceActive reports whether the conversation continues.
	ResourceActive
	// ResourceClock is the virtual time.
	ResourceClock
	// ResourceIDCount is the number of drawn row ids.
	ResourceIDCount
)

// Read is one query. The query matters and not its answer: a query that selects nothing reads the
// rows that might exist.
type Read struct {
	resource Resource
	table    string
	where    Where
	columns  columnSet
	// rows are the selected rows of a query with a condition. multiple reports that one state had
	// several, unbounded that there were too many to list.
	rows                []Row
	multiple, unbounded bool
}

// maxEffects bounds each list of Effects. A longer list is replaced by reads or writes of whole
// tables.
const maxEffects = 256

// Write is one change of the world.
type Write struct {
	resource Resource
	kind     writeKind
	table    string
	where    Where
	row      Row
	// columns are the columns that an update changes.
	columns columnSet
	// selection is the query for the rows that an update changes. The call does not see its answer.
	selection Read
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

// RecordInto records the effects of calls on this world, and on its later copies, until
// RecordInto(nil).
func (w *World) RecordInto(effects *Effects) {
	w.effects = nil
	if effects != nil {
		*effects = Effects{Reads: effects.Reads[:0], Writes: effects.Writes[:0], start: *w}
		w.effects = effects
	}
}

// IDCountRead returns the query for the number of drawn ids.
func IDCountRead() Read { return Read{resource: ResourceIDCount} }

func (w *World) recordRead(part Resource) {
	if w.effects != nil {
		w.effects.Reads = append(w.effects.Reads, Read{resource: part, where: All()})
	}
}

// recordRowsRead records a query of rows.
func (w *World) recordRowsRead(name string, where Where, columns columnSet) {
	if w.effects != nil {
		w.effects.Reads = append(w.effects.Reads, w.newRead(name, where, columns))
	}
}

// newRead returns a query with the rows that it selects, including those that it would have
// selected before the call's own writes.
func (w *World) newRead(name string, where Where, columns columnSet) Read {
	read := Read{table: name, where: where, columns: columns}
	if where.all() {
		return read
	}
	read.addMatches(w.table(name).rows)
	if w.table(name).written {
		read.addMatches(w.effects.start.table(name).rows)
	}
	return read
}

func (r *Read) addMatches(rows []Row) {
	before := len(r.rows)
	for _, row := range rows {
		if r.where.selects(row) {
			r.rows = append(r.rows, row)
		}
	}
	r.multiple = r.multiple || len(r.rows) > before+1
}

func (w *World) recordWrite(write Write) {
	if w.effects != nil {
		w.effects.Writes = append(w.effects.Writes, write)
	}
}

// Merge adds the effects of another run of the same call and reports whether any was new.
func (r *Effects) Merge(other *Effects) bool {
	changed := MergeReads(&r.Reads, other.Reads)
	for i := range other.Writes {
		changed = r.addWrite(&other.Writes[i]) || changed
	}
	changed = changed || other.NewIDs > r.NewIDs
	r.NewIDs = max(r.NewIDs, other.NewIDs)
	return changed
}

// addWrite adds a write and reports whether it was new.
func (r *Effects) addWrite(write *Write) bool {
	if at := slices.IndexFunc(r.Writes, write.coveredBy); at >= 0 {
		return r.Writes[at].selection.merge(&write.selection)
	}
	merged := *write
	merged.selection.rows = slices.Clone(merged.selection.rows)
	if r.Writes = append(r.Writes, merged); len(r.Writes) > maxEffects {
		writes := r.Writes
		r.Writes = nil
		for _, w := range writes {
			if w.resource == ResourceRows {
				w = Write{kind: writeAny, table: w.table, where: All(), selection: wholeTable(w.table)}
			}
			if !slices.ContainsFunc(r.Writes, w.coveredBy) {
				r.Writes = append(r.Writes, w)
			}
		}
	}
	return true
}

// MergeReads adds reads without duplicates and reports whether any was new.
func MergeReads(reads *[]Read, added []Read) (changed bool) {
	for i := range added {
		index := slices.IndexFunc(*reads, added[i].coveredBy)
		if index >= 0 {
			changed = (*reads)[index].merge(&added[i]) || changed
			continue
		}
		read := added[i]
		read.rows = slices.Clone(read.rows)
		if *reads, changed = append(*reads, read), true; len(*reads) > maxEffects {
			*reads = wholeTables(*reads)
		}
	}
	return changed
}

// wholeTables replaces the queries of each table's rows by one query of the whole table.
func wholeTables(reads []Read) []Read {
	var tables []Read
	for _, read := range reads {
		if read.resource == ResourceRows {
			read = wholeTable(read.table)
		}
		if !slices.ContainsFunc(tables, read.coveredBy) {
			tables = append(tables, read)
		}
	}
	return tables
}

func wholeTable(name string) Read {
	return Read{table: name, where: All(), columns: allColumns}
}

// coveredBy reports whether the answer to another query also answers this one: it is equal, or
// selects the whole table.
func (r Read) coveredBy(other Read) bool {
	return r.Equal(other) || r.resource == ResourceRows && other.resource == ResourceRows && r.table == other.table && other.where.all() && other.columns == allColumns
}

// Equal reports whether two queries are equal.
func (r Read) Equal(other Read) bool {
	return r.resource == other.resource && r.table == other.table && r.columns == other.columns && r.where.equal(other.where)
}

// merge adds the rows that the same query selected in another run, and reports whether any was new.
func (r *Read) merge(other *Read) bool {
	if r.where.all() {
		return false
	}
	changed := other.multiple && !r.multiple
	r.multiple = r.multiple || other.multiple
	for _, row := range other.rows {
		if r.unbounded || slices.ContainsFunc(r.rows, func(existing Row) bool { return sameCells(existing, row) }) {
			continue
		}
		if r.rows, changed = append(r.rows, row), true; len(r.rows) > maxEffects {
			r.rows, r.unbounded = nil, true
		}
	}
	return changed
}

// coveredBy reports whether another write may have all effects of this one.
func (w Write) coveredBy(other Write) bool {
	if w.resource != other.resource || w.table != other.table {
		return false
	}
	return other.kind == writeAny || w.kind == other.kind && w.columns == other.columns &&
		w.where.equal(other.where) && sameCells(w.row, other.row)
}

// sameCells reports whether two rows are indistinguishable.
func sameCells(a, b Row) bool {
	if len(a) == 0 || len(b) == 0 || &a[0] == &b[0] {
		return len(a) == len(b)
	}
	for i := range a {
		if !sameValue(a[i], b[i]) {
			return false
		}
	}
	return true
}

// sameValue reports whether two values are indistinguishable. NaN is the same as NaN.
func sameValue(a, b python.Value) bool {
	x, y := a, b
	return a.Kind() == b.Kind() && (a.Equal(b) || !a.Equal(x) && !b.Equal(y))
}

// Conflicts decides which writes of a batch may affect which of its reads.
type Conflicts struct {
	base *World
	// selectors are the columns of each table by which writes select rows.
	selectors map[string]columnSet
	// permanent reports, for tables from which calls remove rows, that no removed row comes back.
	permanent map[string]bool
}

// NewConflicts returns the conflicts of calls with these effects, in all states that they produce
// from a base world. The base world must not change.
func NewConflicts(base *World, calls []*Effects) *Conflicts {
	c := &Conflicts{base: base, selectors: make(map[string]columnSet), permanent: make(map[string]bool)}
	for _, call := range calls {
		for i := range call.Writes {
			if w := &call.Writes[i]; w.kind == writeAny {
				c.selectors[w.table] = allColumns
			} else if !w.where.all() {
				c.selectors[w.table] |= columnBit(w.where.Column)
			}
		}
	}
	for _, call := range calls {
		for i := range call.Reads {
			if r := &call.Reads[i]; r.resource == ResourceVersions {
				c.permanent[r.table] = false
			}
		}
	}
	for name := range c.permanent {
		c.permanent[name] = c.isPermanent(name, calls)
	}
	return c
}

// isPermanent reports that no removed row of a table comes back: some row is in none of the
// removals, or the table always had rows and can become empty only once.
func (c *Conflicts) isPermanent(name string, calls []*Effects) bool {
	rows, appends := slices.Clone(c.base.table(name).rows), false
	for _, call := range calls {
		for i := range call.Writes {
			w := &call.Writes[i]
			if w.resource != ResourceRows || w.table != name {
				continue
			}
			switch {
			case w.kind == writeRemove:
				rows = slices.DeleteFunc(rows, w.where.selects)
			case w.kind == writeAll, w.kind == writeAny, w.kind == writeUpdate && w.columns&c.selectors[name] != 0:
				return false
			case w.kind == writeAppend:
				appends = true
			}
		}
	}
	return len(rows) > 0 || !appends && !c.base.table(name).hadNoRows
}

// Overlap reports whether one of the writes may change the answer to one of the reads.
func (c *Conflicts) Overlap(writes []Write, reads []Read) bool {
	for i := range reads {
		for j := range writes {
			if c.affects(&writes[j], &reads[i]) {
				return true
			}
		}
	}
	return false
}

func (c *Conflicts) affects(w *Write, r *Read) bool {
	switch {
	case r.resource == ResourceVersions:
		return w.resource == ResourceRows && w.table == r.table && !c.permanent[r.table]
	case w.resource != r.resource || w.table != r.table:
		return false
	case w.resource != ResourceRows:
		return true
	}
	switch w.kind {
	case writeAppend:
		return r.where.all() || w.columns&columnBit(r.where.Column) != 0 || r.where.selects(w.row)
	case writeRemove:
		return !c.permanent[w.table] || r.mayMatch(w.where)
	case writeUpdate:
		return c.updateAffects(w, r)
	default:
		return true
	}
}

// updateAffects reports whether an update may change the answer to a query. An update with a
// condition also moves its rows behind the others.
func (c *Conflicts) updateAffects(w *Write, r *Read) bool {
	if w.columns&c.selectors[w.table] != 0 || !r.where.all() && w.columns&columnBit(r.where.Column) != 0 {
		return true // rows may be chosen by what the update changes
	}
	moves := !w.where.all() && (r.multiple || r.where.all())
	return (w.columns&r.columns != 0 || r.columns != 0 && moves) && r.mayMatch(w.where)
}

// SelectionReads returns the queries for the rows that the writes change, if the answers to the
// reads depend on them: those of updates after which other rows may meet a condition.
func (c *Conflicts) SelectionReads(writes []Write, reads []Read) []Read {
	var selections []Read
	for i := range writes {
		w := &writes[i]
		if w.resource != ResourceRows || w.kind != writeUpdate && w.kind != writeAny {
			continue
		}
		columns, affected := columnSet(0), false
		for j := range reads {
			if r := &reads[j]; r.resource == ResourceRows && r.table == w.table {
				columns |= r.columns
				affected = affected || w.kind == writeAny || !r.where.all() && w.columns&columnBit(r.where.Column) != 0
			}
		}
		if affected {
			selection := w.selection
			selection.columns |= columns
			selections = append(selections, selection)
		}
	}
	return selections
}

// mayMatch reports whether a condition may select one of the rows that the query selected.
func (r *Read) mayMatch(where Where) bool {
	return r.where.all() || r.unbounded || slices.ContainsFunc(r.rows, where.selects)
}

// Equal reports whether two analyses are equal.
func (c *Conflicts) Equal(other *Conflicts) bool {
	return maps.Equal(c.selectors, other.selectors) && maps.Equal(c.permanent, other.permanent)
}

// AppendAnswers appends an encoding of the answers to queries. Worlds with equal encodings give
// equal answers, also after the same call.
func (c *Conflicts) AppendAnswers(key []byte, w *World, reads []Read) []byte {
	for i := range reads {
		r := &reads[i]
		switch r.resource {
		case ResourceRows:
			key = c.appendRows(key, w, r)
		case ResourceVersions:
			t := w.table(r.table)
			key = strconv.AppendBool(strconv.AppendBool(key, t.hadNoRows), t.written)
			key = appendCells(appendCells(key, t.rows, All(), allColumns), t.before, All(), allColumns)
		case ResourceActive:
			key = strconv.AppendBool(key, w.active)
		case ResourceClock:
			key = strconv.AppendFloat(key, w.now, 'g', -1, 64)
		case ResourceIDCount:
			key = strconv.AppendInt(key, w.idCount, 10)
		}
		key = append(key, ';')
	}
	return key
}

// appendRows appends the rows that a query selects: the queried columns and those by which writes
// select rows. It abbreviates unchanged tables.
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
