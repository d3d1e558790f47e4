package tool

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/phone"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// checkPhone raises what the original's phone number library raises for a value that is no phone number.
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

// anyGiven says whether any of the named arguments was given.
func anyGiven(args Args, names []string) bool {
	for _, name := range names {
		if args.Given(name) {
			return true
		}
	}
	return false
}

// columnOf returns the place of a column in a table.
func columnOf(name worldv1.TableName, column string) int {
	schema, _ := world.SchemaOf(name)
	return schema.Column(column)
}

// addRow appends a row.
func addRow(w *session.World, name worldv1.TableName, row session.Row) error {
	if err := encodable(row...); err != nil {
		return err
	}
	w.Write(name, append(slices.Clip(w.Rows(name)), row))
	return nil
}

// encodable raises what storing a text with a lone surrogate raises.
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

// surrogates says where the first run of lone surrogates in a text stands. The text is WTF-8 and has one.
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

// removeRows removes all rows with an id. shown is how polars prints the beginning of the compared value. As in the original,
// nothing is missed in a table that an earlier execution emptied.
func removeRows(w *session.World, name worldv1.TableName, column, id, shown string) error {
	at := columnOf(name, column)
	old := w.Rows(name)
	if len(old) == 0 && w.Ever(name) && !w.Written(name) {
		return nil
	}
	kept := make([]session.Row, 0, len(old))
	for _, row := range old {
		if value, ok := row[at].AsStr(); !ok || value != id {
			kept = append(kept, row)
		}
	}
	if len(kept) == len(old) {
		w.Touch(name)
		return raise("polars.exceptions.NoDataError", `No db entry matching predicate=<Expr ['[([(col("`+column+`")) == `+shown+`'] at 0x7F0000000000> found`)
	}
	w.Write(name, kept)
	return nil
}

// modifyRow replaces the given fields of the one row with the id in args and moves the row to the end.
func modifyRow(w *session.World, name worldv1.TableName, column string, args Args, fields []string) error {
	at, id := columnOf(name, column), args.Str(column)
	var found session.Row
	old := w.Rows(name)
	kept := make([]session.Row, 0, len(old))
	for _, row := range old {
		if value, ok := row[at].AsStr(); !ok || value != id {
			kept = append(kept, row)
			continue
		}
		if found != nil {
			return raise("polars.exceptions.DuplicateError", "More than 1 entry with "+column+"="+python.Repr(python.Str(id))+" found")
		}
		found = row
	}
	if found == nil {
		return raise("polars.exceptions.NoDataError", "No db entry matching "+column+"="+python.Repr(python.Str(id))+" found")
	}
	changed := append(session.Row(nil), found...)
	for _, field := range fields {
		if args.Given(field) {
			changed[columnOf(name, field)] = args.Value(field)
		}
	}
	if err := encodable(changed...); err != nil {
		return err
	}
	w.Write(name, append(kept, changed))
	return nil
}
