package score

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
)

// maxPairs is the maximum number of compared pairs for pairing different numbers of rows. Beyond
// it, rows are paired in order.
const maxPairs = 1 << 16

// storedTable explains a constraint on a stored table at a message.
func (x *explainer) storedTable(e *evaluatorv1.ConstraintExplanation, c *constraint, index int) {
	h := &x.tables[c.table]
	current := h.versionAt[index]
	rows := h.versions[current].Rows
	if c.measure != Snapshot {
		reference := int(e.GetReferenceIndex())
		previous := h.versionAt[reference]
		switch c.measure {
		case Addition:
			if !x.difference(c.table, current, previous, true) {
				e.Problem = "a row of the reference is gone or changed"
			}
		case Removal:
			if !x.difference(c.table, previous, current, true) {
				e.Problem = "there is a row that the reference does not have"
			}
		case Update:
			x.difference(c.table, current, previous, false)
			if before := h.versions[previous].Rows; len(rows) != len(before) {
				e.Problem = fmt.Sprintf("there are %d rows, %d at the reference", len(rows), len(before))
			}
		}
		rows = slices.Clone(x.selected)
		if !x.brief {
			e.Changes = x.changes(c.table, reference, index, true)
		}
	}
	pairs, problem := x.pair(c.target, rows)
	if e.GetProblem() == "" {
		e.Problem = problem
	}
	used := make([]bool, len(rows))
	for j, i := range pairs {
		if i >= 0 {
			used[i] = true
			e.Rows = append(e.Rows, x.row(c.table, j, c.target[j], rows[i]))
		} else {
			e.Rows = append(e.Rows, x.missing(c.table, j, c.target[j]))
		}
	}
	for i, row := range rows {
		if !used[i] {
			e.Rows = append(e.Rows, &evaluatorv1.RowExplanation{Found: wireRow(row)})
		}
	}
}

// packRows explains a comparison by a pack's measure, which does not pair rows.
func (x *explainer) packRows(e *evaluatorv1.ConstraintExplanation, c *constraint, index int) {
	h := &x.tables[c.table]
	rows := h.versions[h.versionAt[index]].Rows
	e.Measure, e.PackMeasure = PackSnapshot, c.packMeasure.Name
	if _, err := x.packMeasures.compareRows(c.packMeasure, c.target, rows, x.columns(c.table)); err != nil {
		e.Problem = err.Error()
	}
	for j, row := range c.target {
		e.Rows = append(e.Rows, x.missing(c.table, j, row))
	}
	for _, row := range rows {
		e.Rows = append(e.Rows, &evaluatorv1.RowExplanation{Found: wireRow(row)})
	}
}

// row explains a pair of rows.
func (x *explainer) row(t int, targetIndex int, target []cell, row []Value) *evaluatorv1.RowExplanation {
	e := &evaluatorv1.RowExplanation{Wanted: proto.Int32(int32(targetIndex)), Found: wireRow(row)}
	if similarity := x.preparedTrajectory.compareRow(target, row); !math.IsNaN(similarity) {
		e.Similarity = similarity
	}
	for _, cell := range byColumn(target) {
		e.Cells = append(e.Cells, x.cell(t, cell, row[cell.column]))
	}
	return e
}

// missing explains a target row without a paired row.
func (x *explainer) missing(t int, targetIndex int, target []cell) *evaluatorv1.RowExplanation {
	e := &evaluatorv1.RowExplanation{Wanted: proto.Int32(int32(targetIndex))}
	for _, cell := range byColumn(target) {
		missing := &evaluatorv1.CellExplanation{Column: x.columns(t)[cell.column].Name, Measure: cell.measure, Wanted: cell.value.wire(), Found: world.Null()}
		if cell.packMeasure != nil {
			missing.PackMeasure = cell.packMeasure.Name
		}
		e.Cells = append(e.Cells, missing)
	}
	return e
}

// pair returns the row index for each target row, −1 for none. If scoring pairs the rows, the pairs
// are the same. Otherwise each target row gets the best remaining row, and problem explains why
// scoring pairs none.
func (x *explainer) pair(target [][]cell, rows [][]Value) (pairs []int, problem string) {
	n := len(target)
	if n != len(rows) {
		return x.greedy(target, rows), fmt.Sprintf("there are %d rows, %d are wanted", len(rows), n)
	}
	costs := make([]float64, 0, n*n)
	for i := range rows {
		for j := range target {
			similarity := x.preparedTrajectory.compareRow(target[j], rows[i])
			if math.IsNaN(similarity) && n > 1 {
				return x.greedy(target, rows), "a comparison of two rows has no result"
			}
			costs = append(costs, -math.Log(similarity))
		}
	}
	if n > 1 {
		if columns, ok := x.solver.Solve(n, costs); ok {
			pairs = make([]int, n)
			for i, column := range columns {
				pairs[column] = i
			}
			return pairs, ""
		}
	}
	return x.greedy(target, rows), ""
}

// greedy pairs each target row with the most similar remaining row.
func (x *explainer) greedy(target [][]cell, rows [][]Value) []int {
	pairs := make([]int, len(target))
	used := make([]bool, len(rows))
	for j := range target {
		if len(target)*len(rows) > maxPairs {
			if pairs[j] = j; j >= len(rows) {
				pairs[j] = -1
			}
			continue
		}
		best, nearest := -1, -1.0
		for i := range rows {
			if used[i] {
				continue
			}
			if similarity := x.rowSimilarity(target[j], rows[i]); similarity > nearest {
				best, nearest = i, similarity
			}
		}
		if pairs[j] = best; best >= 0 {
			used[best] = true
		}
	}
	return pairs
}

// rowSimilarity returns the sum of the similarities of two rows' cells.
func (x *explainer) rowSimilarity(target []cell, row []Value) float64 {
	sum := 0.0
	for i := range target {
		similarity := x.compareCell(&target[i], row[target[i].column])
		if !math.IsNaN(similarity) {
			sum += similarity
		}
	}
	return sum
}

// changes returns the rows that differ between two messages. If nullsAreZero is set, null equals
// the zero value.
func (x *explainer) changes(t int, reference, index int, nullsAreZero bool) []*evaluatorv1.RowChange {
	if t == sandbox {
		return x.changedMessage(reference, index)
	}
	h := &x.tables[t]
	removed, current := slices.Clone(h.versions[h.versionAt[reference]].Rows), h.versions[h.versionAt[index]].Rows
	equal := equalRow
	if nullsAreZero {
		equal = func(a, b []Value) bool { return equalNullAsZero(x.columns(t), a, b) }
	}
	var added [][]Value
	for _, row := range current {
		if i := slices.IndexFunc(removed, func(other []Value) bool { return equal(other, row) }); i >= 0 {
			removed = slices.Delete(removed, i, i+1)
		} else {
			added = append(added, row)
		}
	}
	var changes []*evaluatorv1.RowChange
	for _, row := range removed {
		change := &evaluatorv1.RowChange{Before: wireRow(row)}
		if i := slices.IndexFunc(added, func(other []Value) bool { return !row[0].IsNull() && other[0].Equal(row[0]) }); i >= 0 {
			after := added[i]
			change.After = wireRow(after)
			added = slices.Delete(added, i, i+1)
			for j, column := range x.columns(t) {
				if !row[j].Equal(after[j]) {
					change.Columns = append(change.Columns, column.Name)
				}
			}
		}
		changes = append(changes, change)
	}
	for _, row := range added {
		changes = append(changes, &evaluatorv1.RowChange{After: wireRow(row)})
	}
	return changes
}

// changedMessage returns the columns in which two messages differ.
func (x *explainer) changedMessage(reference, index int) []*evaluatorv1.RowChange {
	change := &evaluatorv1.RowChange{}
	a, b := &x.trajectory.Messages[reference], &x.trajectory.Messages[index]
	for column := columnSender; column <= columnVisibleTo; column++ {
		if !a.cell(column).Equal(b.cell(column)) {
			change.Columns = append(change.Columns, x.columns(sandbox)[column].Name)
		}
	}
	if len(change.GetColumns()) == 0 {
		return nil
	}
	return []*evaluatorv1.RowChange{change}
}
