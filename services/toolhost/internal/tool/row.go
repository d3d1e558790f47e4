package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/phone"
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

// addRow appends a row. It takes ownership of the row.
func addRow(w *session.World, name string, row session.Row) error {
	if err := encodable(row...); err != nil {
		return err
	}
	table := w.Table(name)
	for i := range row {
		row[i] = toColumnType(table.Columns[i], row[i])
	}
	w.Append(name, row)
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

// zoneOf returns the time zone of the phone.
func zoneOf(w *session.World) clock.Zone { return clock.FromLocation(w.Config().Zone) }

// currentTimestamp returns the virtual time in POSIX seconds.
func currentTimestamp(w *session.World) (python.Value, error) { return zoneOf(w).Now(w.Now()) }
