package tool

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/phone"
	"github.com/toolsandbox/toolsandbox/internal/ported/geodesic"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/clock"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// These are exceptions of polars that tools raise.
const (
	noDataError         = "polars.exceptions.NoDataError"
	duplicateError      = "polars.exceptions.DuplicateError"
	columnNotFoundError = "polars.exceptions.ColumnNotFoundError"
)

// checkPhone raises the exceptions of the original's phone number library for an invalid number.
func checkPhone(v python.Value) error {
	switch v.Kind() {
	case python.KindStr:
		number, _ := v.AsStr()
		if err := phone.Check(number); err != nil {
			return err
		}
		return nil
	case python.KindNone:
		return raise("phonenumbers.phonenumberutil.NumberParseException", "(1) The phone number supplied was None.")
	case python.KindList, python.KindDict:
		return raise("AttributeError", "'"+v.TypeName()+"' object has no attribute 'find'")
	default:
		return raise("TypeError", "object of type '"+v.TypeName()+"' has no len()")
	}
}

// checkPhones checks the given ones of the named arguments.
func checkPhones(args Args, names ...string) error {
	for _, name := range names {
		if !args.Given(name) {
			continue
		}
		if err := checkPhone(args.Value(name)); err != nil {
			return err
		}
	}
	return nil
}

// needFields raises if no field to change is given.
func needFields(args Args, what string, fields []string) error {
	if slices.ContainsFunc(fields, args.Given) {
		return nil
	}
	return raise("ValueError", "No update information given. At least one new field should be provided among ["+
		strings.Join(fields, ", ")+"] in order to modify "+what)
}

// columnOf returns the index of a column in a built-in table.
func columnOf(name, column string) int {
	table, _ := world.Builtin().Table(name)
	return table.Column(column)
}

// addRow appends a row. It takes ownership of the row. The columns that a pack adds to a built-in
// table come last; a row without them gets their defaults.
func addRow(w *session.World, name string, row session.Row, copies ...session.Copy) error {
	if err := encodable(row...); err != nil {
		return err
	}
	table := w.Table(name)
	for i := range row {
		row[i] = toColumnType(table.Columns[i], row[i])
	}
	if len(row) < len(table.Columns) {
		row = append(row, session.NewRow(table)[len(row):]...)
	}
	w.Append(name, row, copies...)
	return nil
}

// toColumnType converts a value to a column's type: columns of numbers store numbers and bools as
// floats.
func toColumnType(column world.Column, value python.Value) python.Value {
	if number, ok := value.Number(); ok && column.Kind == world.KindNumber {
		return python.Float(number)
	}
	return value
}

// inClockRange raises ValueError for a timestamp outside the range of tools.
func inClockRange(args Args, names ...string) error {
	for _, name := range names {
		if err := args.InRange(name, clock.MinTimestamp, clock.MaxTimestamp); err != nil {
			return err
		}
	}
	return nil
}

// inEarthRange raises ValueError for an invalid latitude or longitude.
func inEarthRange(args Args) error {
	if err := args.InRange("latitude", -geodesic.MaxLatitude, geodesic.MaxLatitude); err != nil {
		return err
	}
	return args.InRange("longitude", -geodesic.MaxLongitude, geodesic.MaxLongitude)
}

// encodable raises the exception of storing a text with a lone surrogate.
func encodable(values ...python.Value) error {
	for _, value := range values {
		text, ok := value.AsStr()
		if !ok || utf8.ValidString(text) {
			continue
		}
		return raise("UnicodeEncodeError", "'utf-8' codec can't encode "+surrogates(text)+": surrogates not allowed")
	}
	return nil
}

// surrogates describes the first run of lone surrogates in a WTF-8 text, which must have one.
func surrogates(text string) string {
	const size = 3 // bytes of a surrogate
	position, rest := 0, text
	for {
		r, n := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && n <= 1 {
			break
		}
		position, rest = position+1, rest[n:]
	}
	run := 0
	for len(rest) >= size && rest[0] == 0xED && rest[1] >= 0xA0 {
		run, rest = run+1, rest[size:]
	}
	if run > 1 {
		return fmt.Sprintf("characters in position %d-%d", position, position+run-1)
	}
	start := len(text) - len(rest) - size*run
	return fmt.Sprintf("character %s in position %d", python.Repr(python.Str(text[start:len(text)-len(rest)])), position)
}

// whereEqual selects the rows of a built-in table with a value in a column.
func whereEqual(name, column string, value python.Value) session.Where {
	return session.Where{Column: columnOf(name, column), Value: value}
}

// removeRows removes all rows with an id.
func removeRows(w *session.World, name, column string, id python.Value) error {
	if w.Remove(name, session.Where{Column: w.Table(name).Column(column), Value: id}) == 0 {
		return raise(noDataError, "No db entry matching predicate=<Expr ['"+comparisonText(column, id)+"'] at 0x7F0000000000> found")
	}
	return nil
}

// comparisonText returns the start of a comparison as polars prints it.
func comparisonText(column string, value python.Value) string {
	const maxLength = 30
	text := `[([(col("` + column + `")) == (`
	if str, ok := value.AsStr(); ok {
		text += "String(" + str + ")"
	} else {
		text += python.Repr(value)
	}
	if text += ")])]"; len(text) > maxLength {
		text = strings.ToValidUTF8(text[:maxLength], "") + "…"
	}
	return text
}

// modifyRow changes cells of the only row with an id and moves the row to the end. The changes must
// be in the order of the columns.
func modifyRow(w *session.World, name, column string, id python.Value, changes ...session.Change) error {
	table := w.Table(name)
	switch row := (session.Where{Column: table.Column(column), Value: id}); w.Count(name, row) {
	case 0:
		return raise(noDataError, "No db entry matching "+column+"="+python.Repr(id)+" found")
	case 1:
		if err := storable(table, changes); err != nil {
			return err
		}
		w.Update(name, row, changes...)
		return nil
	default:
		return raise(duplicateError, "More than 1 entry with "+column+"="+python.Repr(id)+" found")
	}
}

// storable converts the values of changes to the types of their columns.
func storable(table world.Table, changes []session.Change) error {
	for i := range changes {
		if err := encodable(changes[i].Value); err != nil {
			return err
		}
		changes[i].Value = toColumnType(table.Columns[changes[i].Column], changes[i].Value)
	}
	return nil
}

// changesFromArguments returns the new values of the named columns that were given as arguments.
func changesFromArguments(name string, args Args, columns []string) []session.Change {
	var changes []session.Change
	for _, column := range columns {
		if args.Given(column) {
			changes = append(changes, session.Change{Column: columnOf(name, column), Value: args.Value(column)})
		}
	}
	return changes
}

// zoneOf returns the time zone of the phone.
func zoneOf(w *session.World) clock.Zone { return clock.FromLocation(w.Config().Zone) }

// currentTimestamp returns the virtual time in POSIX seconds.
func currentTimestamp(w *session.World) (python.Value, error) { return zoneOf(w).Now(w.Now()) }
