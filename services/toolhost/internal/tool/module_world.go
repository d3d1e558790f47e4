package tool

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// These are the names of the session in Python tools.
const (
	worldName    = "world"
	rowsMethod   = "rows"
	addMethod    = "add"
	updateMethod = "update"
	removeMethod = "remove"
	nowMethod    = "now"
	idMethod     = "new_id"
	randomMethod = "random"

	scheduleMethod   = "schedule"
	unscheduleMethod = "unschedule"

	phoneName = "check_phone"
)

func worldMethods() []string {
	return []string{rowsMethod, addMethod, updateMethod, removeMethod, nowMethod, idMethod, randomMethod, scheduleMethod, unscheduleMethod}
}

// readingMethods returns the methods that do not change the world.
func readingMethods() []string { return []string{rowsMethod, nowMethod} }

// tableMethods returns the methods whose first argument is a table.
func tableMethods() []string { return []string{rowsMethod, addMethod, updateMethod, removeMethod} }

// library is the API for tools in Python besides builtins.
var library = sync.OnceValue(func() *interp.Library {
	functions := []string{phoneName}
	for _, method := range worldMethods() {
		functions = append(functions, worldName+"."+method)
	}
	return interp.NewLibrary(interp.Names{
		Functions: functions, Decorators: decorators(), Exceptions: []string{noDataError, duplicateError, columnNotFoundError},
	})
})

// moduleWorld is the API of the world for tools in Python. The world records its uses.
type moduleWorld struct{ world *session.World }

// Callable implements interp.Host. The library contains all functions by name.
func (moduleWorld) Callable(string) bool { return false }

// Call implements interp.Host.
func (m moduleWorld) Call(name string, positional []python.Value, keyword *python.Dict) (python.Value, error) {
	method := strings.TrimPrefix(name, worldName+".")
	required, params := 0, 0
	conditions := false
	switch method {
	case scheduleMethod, unscheduleMethod:
		return m.event(method, positional, keyword)
	case phoneName:
		required, params = 1, 1
	case rowsMethod: // columns are optional
		required, params, conditions = 1, 2, true
	case addMethod:
		required, params = 2, 2
	case updateMethod:
		required, params, conditions = 2, 2, true
	case removeMethod:
		required, params, conditions = 1, 1, true
	}
	if len(positional) < required || len(positional) > params {
		return python.Value{}, raise("TypeError", name+"() takes "+strconv.Itoa(params)+" positional arguments but "+strconv.Itoa(len(positional))+" were given")
	}
	if keyword.Len() > 0 && !conditions {
		return python.Value{}, raise("TypeError", name+"() got an unexpected keyword argument "+python.Repr(python.Str(keyword.Items()[0].Key)))
	}
	switch method {
	case phoneName:
		return python.None(), checkPhone(positional[0])
	case nowMethod:
		return currentTimestamp(m.world)
	case idMethod:
		return python.Str(m.world.NewID()), nil
	case randomMethod:
		return python.Float(idFraction(m.world.NewID())), nil
	}
	table, err := m.table(positional[0])
	if err == nil && method != rowsMethod && m.isEventTable(table.Name) {
		err = raise("TypeError", eventsOnly)
	}
	if err != nil {
		return python.Value{}, err
	}
	switch method {
	case addMethod:
		return python.None(), m.add(table, positional[1])
	case updateMethod:
		return python.None(), m.update(table, positional[1], keyword)
	case removeMethod:
		return python.None(), m.remove(table, keyword)
	default:
		return m.rows(table, positional[1:], keyword)
	}
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
func (m moduleWorld) rows(table world.Table, columns []python.Value, conditions *python.Dict) (python.Value, error) {
	selectedColumns, err := selectColumns(table, columns)
	if err != nil {
		return python.Value{}, err
	}
	where, read := session.All(), slices.Clone(selectedColumns)
	filters := make([]filter, conditions.Len())
	places := make([]int, conditions.Len())
	for i, item := range conditions.Items() {
		column, f, ok := condition(table, item.Key, true)
		if !ok {
			return python.Value{}, noColumn(item.Key)
		}
		if err := f.check(item.Value, table.Columns[column].Kind); err != nil {
			return python.Value{}, err
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
	selectedTable := world.Table{Columns: make([]world.Column, len(selectedColumns))}
	for i, column := range selectedColumns {
		selectedTable.Columns[i] = table.Columns[column]
	}
	for i := range rows {
		rows[i] = rows[i][:len(selectedColumns)]
	}
	return dicts(selectedTable, rows), nil
}

// selectColumns returns the indices of the columns in a query, by default of all.
func selectColumns(table world.Table, columns []python.Value) ([]int, error) {
	if len(columns) == 0 || columns[0].IsNone() {
		all := make([]int, len(table.Columns))
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	list, ok := columns[0].AsList()
	if !ok {
		return nil, raise("TypeError", "columns are a list of names, not '"+columns[0].TypeName()+"'")
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
func (m moduleWorld) add(table world.Table, values python.Value) error {
	changes, err := cells(table, values)
	if err != nil {
		return err
	}
	row := session.NewRow(table)
	for _, change := range changes {
		row[change.Column] = change.Value
	}
	return addRow(m.world, table.Name, row)
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
func (m moduleWorld) update(table world.Table, values python.Value, conditions *python.Dict) error {
	changes, err := cells(table, values)
	if err != nil {
		return err
	}
	column, value, ok, err := singleCondition(table, conditions)
	switch {
	case err != nil:
		return err
	case ok:
		return modifyRow(m.world, table.Name, column, value, changes...)
	}
	if err := storable(table, changes); err != nil {
		return err
	}
	m.world.Update(table.Name, session.All(), changes...)
	return nil
}

// remove removes the rows that the condition selects.
func (m moduleWorld) remove(table world.Table, conditions *python.Dict) error {
	column, value, ok, err := singleCondition(table, conditions)
	if err == nil && !ok {
		err = raise("TypeError", "world.remove() needs a condition such as "+table.Columns[0].Name+"=…")
	}
	if err != nil {
		return err
	}
	return removeRows(m.world, table.Name, column, value)
}
