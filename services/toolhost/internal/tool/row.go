package tool

import (
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

// removeRows removes all rows with an id. shown is how polars prints the beginning of the compared value.
func removeRows(w *session.World, name worldv1.TableName, column, id, shown string) error {
	at := columnOf(name, column)
	old := w.Rows(name)
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
	w.Write(name, append(kept, changed))
	return nil
}
