package tool

import (
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// Effects says which parts of a world matter to one call and which it changes. They are exact about
// what they leave out: too many parts cost time, one too few is an error.
type Effects struct {
	// Raises are the parts that decide, together with the arguments, whether the call raises.
	Raises []Part
	// Shapes are the parts that decide what a call that does not raise makes of those in Changes,
	// beyond Raises and what they were before.
	Shapes []Part
	// Changes are the parts that a call that does not raise may change.
	Changes []Part
}

// Part is one part of a world, or all of it: the zero Part. Parts are values; their methods are
// safe for concurrent use.
type Part struct {
	kind  partKind
	table string
	// name is a column of the settings or the id of a row; empty for the rows of all ids.
	name string
	// fresh stands for the rows of the ids that are drawn next.
	fresh bool
	// clears says, of a change, that it only takes rows away.
	clears bool
}

type partKind uint8

const (
	// partWorld is everything.
	partWorld partKind = iota
	// partSetting is a cell of the settings.
	partSetting
	// partActive is whether the conversation goes on.
	partActive
	// partClock is the virtual time.
	partClock
	// partDrawn is how many row ids were drawn.
	partDrawn
	// partRows is how many rows of a table have an id.
	partRows
	// partSelf is how many contacts of an id, or of each, are the owner of the phone.
	partSelf
	// partCells is what the rows of a table hold, and their order.
	partCells
)

func settingPart(column string) Part { return Part{kind: partSetting, name: column} }
func activePart() Part               { return Part{kind: partActive} }
func clockPart() Part                { return Part{kind: partClock} }
func drawnPart() Part                { return Part{kind: partDrawn} }
func rowPart(table string, id string) Part {
	return Part{kind: partRows, table: table, name: id}
}
func selfPart(id string) Part     { return Part{kind: partSelf, table: contactTable, name: id} }
func cellsPart(table string) Part { return Part{kind: partCells, table: table} }

// ofNew returns the same part of the rows that the call adds.
func (p Part) ofNew() Part { p.fresh = true; return p }

// cleared returns a change of the part that only takes rows away.
func (p Part) cleared() Part { p.clears = true; return p }

// Whole says whether the part is the whole world.
func (p Part) Whole() bool { return p.kind == partWorld }

// Adds says whether a change adds rows to a table.
func (p Part) Adds() (table string, ok bool) {
	return p.table, p.kind == partRows && !p.clears
}

// Draws says whether a change is that of a call that draws an id, of which each draws at most one.
func (p Part) Draws() bool { return p.kind == partDrawn }

// Removes says whether a change takes the rows of an id away.
func (p Part) Removes() (table string, id string, ok bool) {
	return p.table, p.name, p.kind == partRows && p.clears
}

// Clears says whether a change only takes rows away, so that it changes nothing where there are
// none.
func (p Part) Clears() bool { return p.clears }

// In says whether the part belongs to a table.
func (p Part) In(table string) bool { return p.kind == partWorld || p.table == table }

// Overlaps says whether two parts have something in common. drawn says whether an id may be that of
// a row yet to be added.
func (p Part) Overlaps(q Part, drawn func(id string) bool) bool {
	switch {
	case p.kind == partWorld || q.kind == partWorld:
		return true
	case p.kind != q.kind || p.table != q.table:
		return false
	case p.fresh && q.fresh || p.any() || q.any():
		return true
	case p.fresh:
		return drawn(q.name)
	case q.fresh:
		return drawn(p.name)
	default:
		return p.name == q.name
	}
}

// any says whether the part is about the rows of all ids.
func (p Part) any() bool { return p.kind == partSelf && p.name == "" && !p.fresh }

// AppendKey appends the value of the part, a text that is the same in two worlds if and only if the
// part is. The zero Part and parts of new rows have none.
func (p Part) AppendKey(key []byte, w *session.World) []byte {
	switch p.kind {
	case partSetting:
		key = python.AppendRepr(key, setting(w, p.name))
	case partActive:
		key = strconv.AppendBool(key, w.Active())
	case partClock:
		key = strconv.AppendFloat(key, w.Now(), 'g', -1, 64)
	case partDrawn:
		key = strconv.AppendInt(key, w.Drawn(), 10)
	case partRows:
		key = strconv.AppendInt(key, int64(p.count(w)), 10)
	case partSelf:
		key = p.appendSelves(key, w)
	case partCells:
		for _, row := range w.Rows(p.table) {
			for _, cell := range row {
				key = append(python.AppendRepr(key, cell), ',')
			}
			key = append(key, '|')
		}
	case partWorld:
	}
	return append(key, ';')
}

// Empty says whether the part consists of rows, of which there are none.
func (p Part) Empty(w *session.World) bool {
	switch p.kind {
	case partRows:
		return !p.fresh && p.count(w) == 0
	case partSelf:
		return !p.fresh && len(p.appendSelves(nil, w)) == 0
	default:
		return false
	}
}

// count returns how many rows of the table have the id.
func (p Part) count(w *session.World) int {
	n, at := 0, IDColumn(p.table)
	for _, row := range w.Rows(p.table) {
		if id, ok := row[at].AsStr(); ok && id == p.name {
			n++
		}
	}
	return n
}

// appendSelves appends the ids, in order, of those contacts of the part that are the owner of the
// phone.
func (p Part) appendSelves(key []byte, w *session.World) []byte {
	var ids []string
	isSelf, personID := columnOf(contactTable, "is_self"), columnOf(contactTable, "person_id")
	for _, row := range w.Rows(contactTable) {
		if is, _ := row[isSelf].AsBool(); !is {
			continue
		}
		if id, ok := row[personID].AsStr(); p.name == "" || ok && id == p.name {
			ids = append(ids, python.Repr(row[personID]))
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		key = append(append(key, id...), ',')
	}
	return key
}

// IDColumn returns the place of the column with the ids of a table's rows.
func IDColumn(table string) int {
	switch table {
	case contactTable:
		return columnOf(table, "person_id")
	case messagingTable:
		return columnOf(table, "message_id")
	default:
		return columnOf(table, "reminder_id")
	}
}

// EffectsOf returns the effects of a call that passed CheckArgs. A tool that declares none may
// depend on the whole world, and change it unless it is read-only.
func (t *Tool) EffectsOf(args Args) Effects {
	switch {
	case t.Effects != nil:
		return t.Effects(args)
	case t.ReadOnly:
		return Effects{Raises: []Part{{}}}
	default:
		return Effects{Raises: []Part{{}}, Shapes: []Part{{}}, Changes: []Part{{}}}
	}
}

// raisesOn declares the effects of a tool that changes nothing: some parts, or none, decide whether
// its calls raise.
func raisesOn(parts ...Part) func(Args) Effects {
	return func(Args) Effects { return Effects{Raises: parts} }
}
