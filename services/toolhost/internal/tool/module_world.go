package tool

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// worldName is the name of the session's world in Python tools.
const worldName = "world"

// These are the methods of the world.
const (
	rowsMethod   = "rows"
	valueMethod  = "value"
	addMethod    = "add"
	updateMethod = "update"
	removeMethod = "remove"
	nowMethod    = "now"
	idMethod     = "new_id"
	randomMethod = "random"

	scheduleMethod   = "schedule"
	unscheduleMethod = "unschedule"
)

func worldMethods() (names []string) {
	for _, method := range methods() {
		names = append(names, method.name)
	}
	return names
}

// readingMethods returns the methods that do not change the world.
func readingMethods() []string { return []string{rowsMethod, valueMethod, nowMethod} }

// tableMethods returns the methods whose first argument is a table.
func tableMethods() []string {
	return []string{rowsMethod, valueMethod, addMethod, updateMethod, removeMethod}
}

// idFraction converts an id to a number from 0 to below 1 by its digits before the version. The
// same seed gives the same numbers.
func idFraction(id string) float64 {
	const digits = 12
	drawn, err := strconv.ParseUint(strings.ReplaceAll(id, "-", "")[:digits], 16, 64)
	if err != nil {
		panic("id " + id + " is not hexadecimal")
	}
	return float64(drawn) / (1 << (4 * digits))
}

// storedTable returns a table by its name in files.
func storedTable(schema *world.Schema, name string) (world.Table, bool) {
	table, ok := schema.Table(world.TableName(name))
	return table, ok && !isHidden(table.Name) && name == world.AuthorName(table.Name)
}

// isHidden reports whether tools of packs cannot access a table: messages, and consents, which only
// the user gives.
func isHidden(table string) bool { return table == world.Sandbox || table == world.Consent }

// table returns a table of the session. An unknown one raises KeyError.
func (m moduleWorld) table(name python.Value) (world.Table, error) {
	text, _ := name.AsStr()
	if table := m.world.Table(world.TableName(text)); len(table.Columns) > 0 && !isHidden(table.Name) && text == world.AuthorName(table.Name) {
		return table, nil
	}
	return world.Table{}, raise("KeyError", python.Repr(name))
}

// changeable returns a table whose rows tools may change. The table of events raises TypeError.
func (m moduleWorld) changeable(name python.Value) (world.Table, error) {
	table, err := m.table(name)
	if err == nil && m.isEventTable(table.Name) {
		err = raise("TypeError", eventsOnly)
	}
	return table, err
}

// These are suffixes of column names in conditions.
const (
	likeSuffix  = "__like"
	aboutSuffix = "__about"
	minSuffix   = "__min"
	maxSuffix   = "__max"
)

// condition returns column and filter of a named argument. Only queries may have suffixes.
func condition(table world.Table, name string, endings bool) (column int, f filter, ok bool) {
	if column = table.Column(name); column >= 0 {
		return column, filter{}, true
	}
	at := strings.LastIndex(name, "__")
	if !endings || at < 0 {
		return 0, filter{}, false
	}
	switch name[at:] {
	case likeSuffix:
		f.cutoff = likeCutoff
	case aboutSuffix:
		f.cutoff = aboutCutoff
	case minSuffix:
		f.comparison = atLeast
	case maxSuffix:
		f.comparison = atMost
	default:
		return 0, filter{}, false
	}
	column = table.Column(name[:at])
	return column, f, column >= 0
}

func noColumn(name string) error { return raise(columnNotFoundError, name) }

// rows returns the rows that meet all conditions as dicts of the wanted columns, by default of all.
func (m moduleWorld) rows(args []python.Value, conditions *python.Dict) (python.Value, error) {
	table, err := m.table(args[0])
	if err != nil {
		return python.Value{}, err
	}
	columns, err := selectColumns(table, args[1])
	if err != nil {
		return python.Value{}, err
	}
	rows, err := m.find(table, columns, conditions)
	if err != nil {
		return python.Value{}, err
	}
	return dicts(table, columns, rows), nil
}

// value returns a cell of the first row that meets all conditions, None without one.
func (m moduleWorld) value(args []python.Value, conditions *python.Dict) (python.Value, error) {
	table, err := m.table(args[0])
	if err != nil {
		return python.Value{}, err
	}
	name, _ := args[1].AsStr()
	column := table.Column(name)
	if column < 0 {
		return python.Value{}, noColumn(name)
	}
	rows, err := m.find(table, []int{column}, conditions)
	if err != nil || len(rows) == 0 {
		return python.None(), err
	}
	return rows[0][0], nil
}

// find returns the rows that meet all conditions, with these columns first.
func (m moduleWorld) find(table world.Table, columns []int, conditions *python.Dict) ([]session.Row, error) {
	if conditions.Len() == 0 {
		return m.world.Find(table.Name, session.All(), columns...), nil
	}
	where, read := session.All(), slices.Clone(columns)
	filters := make([]filter, conditions.Len())
	places := make([]int, conditions.Len())
	for i, item := range conditions.Items() {
		column, f, ok := condition(table, item.Key, true)
		if !ok {
			return nil, noColumn(item.Key)
		}
		if err := f.check(item.Value, table.Columns[column].Kind); err != nil {
			return nil, err
		}
		if i == 0 && f.cutoff == 0 && f.comparison == equalTo {
			where = session.Where{Column: column, Value: item.Value}
		}
		if places[i] = slices.Index(read, column); places[i] < 0 {
			places[i], read = len(read), append(read, column)
		}
		filters[i] = f
	}
	rows := m.world.Find(table.Name, where, read...)
	for i, item := range conditions.Items() {
		rows = filters[i].apply(rows, places[i], item.Value)
	}
	return rows, nil
}

// selectColumns returns the indices of the columns in a query, by default of all.
func selectColumns(table world.Table, columns python.Value) ([]int, error) {
	if columns.IsNone() {
		all := make([]int, len(table.Columns))
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	list, ok := columns.AsList()
	if !ok {
		return nil, raise("TypeError", "columns are a list of names, not '"+columns.TypeName()+"'")
	}
	var selected []int
	for _, name := range list {
		text, _ := name.AsStr()
		column := table.Column(text)
		if column < 0 {
			return nil, noColumn(text)
		}
		if !slices.Contains(selected, column) {
			selected = append(selected, column)
		}
	}
	return selected, nil
}

// cells returns the indices and values of a dict by column, in the order of the columns.
func cells(table world.Table, values python.Value) ([]session.Change, error) {
	dict, ok := values.AsDict()
	if !ok {
		return nil, raise("TypeError", "values are a dict by column, not '"+values.TypeName()+"'")
	}
	var changes []session.Change
	for _, item := range dict.Items() {
		column := table.Column(item.Key)
		if column < 0 {
			return nil, noColumn(item.Key)
		}
		if err := checkValue(table.Columns[column], item.Value); err != nil {
			return nil, err
		}
		changes = append(changes, session.Change{Column: column, Value: item.Value})
	}
	slices.SortFunc(changes, func(a, b session.Change) int { return a.Column - b.Column })
	return changes, nil
}

// checkValue raises for a value that a column cannot hold.
func checkValue(column world.Column, value python.Value) error {
	number, isNumber := value.Number()
	var ok bool
	switch column.Kind {
	case world.KindText:
		ok = value.Kind() == python.KindStr
	case world.KindBool:
		ok = value.Kind() == python.KindBool
	case world.KindNumber:
		ok = isNumber && !math.IsNaN(number) && !math.IsInf(number, 0)
	}
	if ok || value.IsNone() {
		return nil
	}
	if isNumber && column.Kind == world.KindNumber {
		return raise("ValueError", "column "+column.Name+" holds finite numbers, not "+python.Repr(value))
	}
	return raise("TypeError", "column "+column.Name+" holds "+column.Kind.String()+", not '"+value.TypeName()+"'")
}

// add adds a row. Missing columns have their defaults.
func (m moduleWorld) add(args []python.Value, _ *python.Dict) (python.Value, error) {
	table, err := m.changeable(args[0])
	if err != nil {
		return python.Value{}, err
	}
	changes, err := cells(table, args[1])
	if err != nil {
		return python.Value{}, err
	}
	row := session.NewRow(table)
	for _, change := range changes {
		row[change.Column] = change.Value
	}
	return python.None(), addRow(m.world, table.Name, row)
}

// singleCondition returns the only condition of an update or removal. ok is false without one.
func singleCondition(table world.Table, conditions *python.Dict) (column string, value python.Value, ok bool, err error) {
	if conditions.Len() > 1 {
		return "", value, false, raise("TypeError", "rows are changed and removed by one column; ask with world.rows first")
	}
	if conditions.Len() == 0 {
		return "", value, false, nil
	}
	item := conditions.Items()[0]
	at := table.Column(item.Key)
	if at < 0 {
		return "", value, false, noColumn(item.Key)
	}
	return item.Key, item.Value, true, checkComparable(item.Value, table.Columns[at].Kind)
}

// update changes the only row that the condition selects; without a condition it changes all rows.
func (m moduleWorld) update(args []python.Value, conditions *python.Dict) (python.Value, error) {
	table, err := m.changeable(args[0])
	if err != nil {
		return python.Value{}, err
	}
	changes, err := cells(table, args[1])
	if err != nil {
		return python.Value{}, err
	}
	column, value, ok, err := singleCondition(table, conditions)
	switch {
	case err != nil:
		return python.Value{}, err
	case ok:
		return python.None(), modifyRow(m.world, table.Name, column, value, changes...)
	}
	if err := storable(table, changes); err != nil {
		return python.Value{}, err
	}
	m.world.Update(table.Name, session.All(), changes...)
	return python.None(), nil
}

// remove removes the rows that the condition selects.
func (m moduleWorld) remove(args []python.Value, conditions *python.Dict) (python.Value, error) {
	table, err := m.changeable(args[0])
	if err != nil {
		return python.Value{}, err
	}
	column, value, ok, err := singleCondition(table, conditions)
	if err == nil && !ok {
		err = raise("TypeError", "world.remove() needs a condition such as "+table.Columns[0].Name+"=…")
	}
	if err != nil {
		return python.Value{}, err
	}
	return python.None(), removeRows(m.world, table.Name, column, value)
}
