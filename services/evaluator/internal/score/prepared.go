package score

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/ported/rouge"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assign"
)

// preparedTrajectory is a trajectory with the data that scoring derives from it once, on first use.
type preparedTrajectory struct {
	trajectory *Trajectory
	// first is the index of the first user message, −1 without one.
	first      int
	vocabulary rouge.Vocabulary
	texts      map[string]rouge.Text
	// completions holds the completions of a constraint's target. targets holds completed texts,
	// numbered all targets with the vocabulary.
	completions  map[*constraint]*completionClasses
	targets      map[string]*rouge.Target
	numbered     map[*rouge.Target]*rouge.NumberedTarget
	traces       [][]call
	parsed       []bool
	schema       *world.Schema
	tables       []history // by index in the schema
	solver       assign.Solver
	costs        []float64
	selected     [][]Value
	packMeasures packMeasures
	scratch      *scratch // nil: zeros allocates
	// effort counts the compared words and rows, and the bytes of completed texts.
	effort int
}

// history is the stored versions of one table.
type history struct {
	versions []Version
	// versionAt is the index of the version at each message.
	versionAt []int32
	// classes maps each version to the first equal one.
	classes []int32
	// ids holds numbers of the rows of each version. Equal rows, with null equal to zero values, have
	// equal numbers. rows holds one row per number, with zero values. Both are nil until
	// numberRows is called.
	ids  [][]int32
	rows [][]Value
	// count is scratch space of difference, all 0 between calls.
	count []int32
}

// empty is the history of a table without versions.
var empty = []Version{{}}

// prepare allocates the data of a trajectory.
func prepare(trajectory *Trajectory) *preparedTrajectory {
	w := &preparedTrajectory{
		trajectory: trajectory, schema: trajectory.schema(), first: trajectory.firstUser(),
		texts: make(map[string]rouge.Text), targets: make(map[string]*rouge.Target), numbered: make(map[*rouge.Target]*rouge.NumberedTarget),
		completions: make(map[*constraint]*completionClasses), packMeasures: packMeasures{cache: make(map[cellPair]comparison)},
	}
	n := len(trajectory.Messages)
	w.traces, w.parsed = make([][]call, n), make([]bool, n)
	w.tables = make([]history, len(w.schema.Tables()))
	at := make([]int32, len(w.schema.StoredTables())*n)
	for t, table := range w.schema.StoredTables() {
		h := &w.tables[1+t]
		h.versions = trajectory.Tables[table.Name]
		if len(h.versions) == 0 {
			h.versions = empty
		}
		h.versionAt, at = at[:n:n], at[n:]
		version := 0
		for i := range h.versionAt {
			for version+1 < len(h.versions) && h.versions[version+1].Index <= i {
				version++
			}
			h.versionAt[i] = int32(version)
		}
	}
	return w
}

// tokens returns the ROUGE-L tokens of a text.
func (p *preparedTrajectory) tokens(text string) rouge.Text {
	tokens, ok := p.texts[text]
	if !ok {
		tokens = p.vocabulary.Text(text)
		p.texts[text] = tokens
	}
	return tokens
}

// calls returns the traces of a message. It ignores invalid ones.
func (p *preparedTrajectory) calls(index int) []call {
	if !p.parsed[index] {
		p.parsed[index] = true
		for _, trace := range p.trajectory.Messages[index].Traces {
			if c, ok := newCall(trace); ok {
				p.traces[index] = append(p.traces[index], c)
			}
		}
	}
	return p.traces[index]
}

// classOf returns the class of a table's version at a message index.
func (p *preparedTrajectory) classOf(t int, index int) int32 {
	h := &p.tables[t]
	if h.classes == nil {
		h.classes = make([]int32, len(h.versions))
		for i := range h.versions {
			h.classes[i] = int32(i)
			p.effort += i
			for j := range i {
				if h.classes[j] == int32(j) && equalRows(h.versions[i].Rows, h.versions[j].Rows) {
					h.classes[i] = int32(j)
					break
				}
			}
		}
	}
	return h.classes[h.versionAt[index]]
}

// equalRows reports whether two versions have the same rows in the same order.
func equalRows(a, b [][]Value) bool { return slices.EqualFunc(a, b, equalRow) }

// equalRow reports whether two rows have the same cells.
func equalRow(a, b []Value) bool {
	return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] || slices.EqualFunc(a, b, Value.Equal)
}

// equal reports whether a table is the same at two message indices.
func (p *preparedTrajectory) equal(t int, index, reference int) bool {
	if index == reference {
		return true
	}
	if t == sandbox {
		return p.trajectory.Messages[index].equal(&p.trajectory.Messages[reference])
	}
	return p.classOf(t, index) == p.classOf(t, reference)
}

// compareRows compares rows of a table with target rows: the best geometric mean over all pairings.
// As in the original, one pair without a result gives 0.
func (p *preparedTrajectory) compareRows(target [][]cell, rows [][]Value) float64 {
	n := len(target)
	if len(rows) != n {
		return 0
	}
	p.effort += n * n * (n + 1)
	switch n {
	case 0:
		return 1
	case 1:
		if similarity := p.compareRow(target[0], rows[0]); similarity > 0 {
			return similarity
		}
		return 0
	}
	p.costs = p.costs[:0]
	for i := range rows {
		for j := range target {
			similarity := p.compareRow(target[j], rows[i])
			if math.IsNaN(similarity) {
				return 0
			}
			// −log of 0 is +Inf, a forbidden pair.
			p.costs = append(p.costs, -math.Log(similarity))
		}
	}
	columns, ok := p.solver.Solve(n, p.costs)
	if !ok {
		return 0
	}
	sum := 0.0
	for i, column := range columns {
		sum += p.costs[i*n+column]
	}
	return math.Exp(-sum / float64(n))
}

// evaluate returns the similarity of a constraint at a message. reference is the message index of
// its reference, or −1.
func (p *preparedTrajectory) evaluate(c *constraint, index, reference int) float64 {
	if c.measure == Guardrail {
		return indicator(p.equal(c.table, index, reference))
	}
	if c.table == sandbox {
		if !c.admits(&p.trajectory.Messages[index]) || len(c.target) != 1 {
			return 0
		}
		if c.measure == ToolTraceDependant {
			return p.dependant(c, index, reference)
		}
		return p.compareMessage(c.target[0], index, completion{fillColumn: -1})
	}
	h := &p.tables[c.table]
	rows := h.versionAt[index]
	if c.packMeasure != nil {
		similarity, err := p.packMeasures.compareRows(c.packMeasure, c.target, h.versions[rows].Rows, p.columns(c.table))
		p.packMeasures.recordFailure(err)
		return similarity
	}
	if c.measure == Snapshot {
		return p.compareRows(c.target, h.versions[rows].Rows)
	}
	before := h.versionAt[reference]
	switch c.measure {
	case Addition:
		if !p.difference(c.table, rows, before, true) {
			return 0
		}
	case Removal:
		if !p.difference(c.table, before, rows, true) {
			return 0
		}
	case Update:
		if len(h.versions[rows].Rows) != len(h.versions[before].Rows) {
			return 0
		}
		p.difference(c.table, rows, before, false)
	}
	return p.compareRows(c.target, p.selected)
}

// admits reports whether the target accepts the message's roles.
func (c *constraint) admits(m *Message) bool {
	return c.senders&(1<<m.Sender) != 0 && c.recipients&(1<<m.Recipient) != 0
}

// columns returns the columns of a table.
func (p *preparedTrajectory) columns(t int) []world.Column { return p.schema.Tables()[t].Columns }

// difference selects the rows of version more that are missing in version less, with null cells
// replaced by zero values. If complete is set, it reports whether every row of less has an equal
// row in more; otherwise the selection is meaningless.
func (p *preparedTrajectory) difference(t int, more, less int32, complete bool) bool {
	h := &p.tables[t]
	if h.ids == nil {
		h.numberRows(p.columns(t))
	}
	for _, id := range h.ids[less] {
		h.count[id]++
	}
	p.effort += len(h.ids[more]) + len(h.ids[less])
	pairs := 0
	p.selected = p.selected[:0]
	for _, id := range h.ids[more] {
		pairs += int(h.count[id])
		if h.count[id] == 0 {
			p.selected = append(p.selected, h.rows[id])
		}
	}
	for _, id := range h.ids[less] {
		h.count[id] = 0
	}
	return !complete || pairs == len(h.ids[less])
}

// numberRows sets ids, rows and count.
func (h *history) numberRows(columns []world.Column) {
	h.ids = make([][]int32, len(h.versions))
	numbers := make(map[string]int32)
	var key []byte
	var previous []int32
	for v := range h.versions {
		ids := make([]int32, len(h.versions[v].Rows))
		next := 0
		for i, row := range h.versions[v].Rows {
			match := -1
			for at := next; at < min(next+2, len(previous)) && match < 0; at++ {
				if equalNullAsZero(columns, h.rows[previous[at]], row) {
					match = at
				}
			}
			if match >= 0 {
				ids[i], next = previous[match], match+1
				continue
			}
			key = appendRow(key[:0], columns, row)
			id, ok := numbers[string(key)]
			if !ok {
				id = int32(len(h.rows))
				numbers[string(key)] = id
				h.rows = append(h.rows, nullAsZero(columns, row))
			}
			ids[i] = id
		}
		h.ids[v], previous = ids, ids
	}
	h.count = make([]int32, len(h.rows))
}

// equalNullAsZero reports whether two rows are equal if null equals the zero value.
func equalNullAsZero(columns []world.Column, a, b []Value) bool {
	for i := range columns {
		x, y := a[i], b[i]
		if x.IsNull() {
			x = nullValue(columns[i].Kind)
		}
		if y.IsNull() {
			y = nullValue(columns[i].Kind)
		}
		if !x.Equal(y) {
			return false
		}
	}
	return true
}

// appendRow appends a key that two rows share if and only if equalNullAsZero holds for them.
func appendRow(key []byte, columns []world.Column, row []Value) []byte {
	for i := range columns {
		v := row[i]
		if v.IsNull() {
			v = nullValue(columns[i].Kind)
		}
		key = append(key, byte(v.kind))
		switch v.kind {
		case KindBool, KindNumber:
			number := v.number
			switch {
			case number == 0:
				number = 0 // both zeros
			case math.IsNaN(number):
				number = math.NaN()
			}
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(number))
		case KindString:
			key = binary.AppendUvarint(key, uint64(len(v.text)))
			key = append(key, v.text...)
		case KindList:
			key = binary.AppendUvarint(key, uint64(len(v.list)))
			for _, text := range v.list {
				key = binary.AppendUvarint(key, uint64(len(text)))
				key = append(key, text...)
			}
		}
	}
	return key
}

// nullAsZero returns a row with zero values in place of null.
func nullAsZero(columns []world.Column, row []Value) []Value {
	for i := range row {
		if row[i].IsNull() {
			filled := make([]Value, len(row))
			for j := range row {
				if filled[j] = row[j]; row[j].IsNull() {
					filled[j] = nullValue(columns[j].Kind)
				}
			}
			return filled
		}
	}
	return row
}
