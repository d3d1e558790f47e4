package tool

import (
	"math"

	"github.com/toolsandbox/toolsandbox/internal/ported/fuzzy"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// fuzzyLimit is the maximum number of rows that pass a fuzzy filter.
const fuzzyLimit = 5

// comparison is the way a filter compares a cell with its argument.
type comparison uint8

const (
	equalTo comparison = iota
	atLeast
	atMost
)

// These are the minimum scores of a fuzzy match of a name, and of a longer text.
const (
	likeCutoff  = 90
	aboutCutoff = 50
)

// filter compares the cells of a column with an argument.
type filter struct {
	comparison comparison
	// cutoff is the minimum score of a fuzzy match; 0 compares exactly.
	cutoff float64
}

// check raises for a value that cannot be compared with cells of a kind.
func (f filter) check(target python.Value, kind world.Kind) error {
	if f.cutoff == 0 {
		return checkComparable(target, kind)
	}
	if _, ok := target.AsStr(); !ok && !target.IsNone() {
		return raise("TypeError", "sentence must be a String")
	}
	return nil
}

// apply returns the rows whose cell at an index passes.
func (f filter) apply(rows []session.Row, at int, target python.Value) []session.Row {
	if f.cutoff > 0 {
		return fuzzyRows(rows, at, target, f.cutoff)
	}
	var matches []session.Row
	for _, row := range rows {
		if !row[at].IsNone() && f.comparison.holds(row[at], target) {
			matches = append(matches, row)
		}
	}
	return matches
}

// holds compares a non-null cell.
func (c comparison) holds(cell, target python.Value) bool {
	if c == equalTo {
		return cell.Equal(target)
	}
	number, isNumber := cell.Number()
	bound, isBound := target.Number()
	if !isNumber || !isBound {
		return false
	}
	if c == atLeast {
		return number >= bound
	}
	return number <= bound
}

// fuzzyRows returns the best matches of a text, the best first. None matches nothing.
func fuzzyRows(rows []session.Row, at int, target python.Value, cutoff float64) []session.Row {
	query, ok := target.AsStr()
	if !ok {
		return nil
	}
	matches := fuzzy.Extract(query, len(rows), func(i int) (string, bool) { return rows[i][at].AsStr() }, cutoff, fuzzyLimit)
	result := make([]session.Row, len(matches))
	for i, match := range matches {
		result[i] = rows[match.Index]
	}
	return result
}

// checkComparable raises polars' exception for a value that cannot be compared with a column.
func checkComparable(v python.Value, kind world.Kind) error {
	if v.Kind() == python.KindDict {
		// The last line of polars' message is a hint; the exception's type is in an earlier line.
		return &python.Exception{Type: "Hint", Text: "Pass `allow_object=True` to accept any value and create a literal of type Object."}
	}
	if err := encodable(v); err != nil || kind != world.KindText {
		return err
	}
	switch v.Kind() {
	case python.KindInt:
		i, ok := v.AsInt()
		switch {
		case !ok:
			return nil
		case i <= math.MinInt32 || i >= math.MaxInt32:
			return raise("polars.exceptions.ComputeError", "cannot compare string with numeric type (i64)")
		}
		return raise("polars.exceptions.ComputeError", "cannot compare string with numeric type (i32)")
	case python.KindFloat:
		return raise("polars.exceptions.ComputeError", "cannot compare string with numeric type (f64)")
	default:
		return nil
	}
}

// dicts returns rows as a list of dicts. The rows begin with the cells of the columns.
func dicts(table world.Table, columns []int, rows []session.Row) python.Value {
	list := make([]python.Value, len(rows))
	for i, row := range rows {
		items := make([]python.Item, len(columns))
		for j, column := range columns {
			items[j] = python.Item{Key: table.Columns[column].Name, Value: row[j]}
		}
		list[i] = python.DictOf(items...)
	}
	return python.List(list...)
}
