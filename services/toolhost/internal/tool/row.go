package tool

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/phone"
	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/clock"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/geodesic"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// checkPhone raises what the original's phone number library raises for a value that is no phone
// number.
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

// checkPhones checks those of the named arguments that were given.
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

// anyGiven says whether any of the named arguments was given.
func anyGiven(args Args, names []string) bool {
	for _, name := range names {
		if args.Given(name) {
			return true
		}
	}
	return false
}

// columnOf returns the place of a column in a built-in table.
func columnOf(name, column string) int {
	table, _ := world.Builtin().Table(name)
	return table.Column(column)
}

// declared raises KeyError for a table that the session does not have: its pack does not declare it.
func declared(w *session.World, name string) error {
	if len(w.Table(name).Columns) == 0 {
		return raise("KeyError", python.Repr(python.Str(name)))
	}
	return nil
}

// addRow appends a row. It takes ownership of the row.
func addRow(w *session.World, name string, row session.Row) error {
	if err := declared(w, name); err != nil {
		return err
	}
	if err := encodable(row...); err != nil {
		return err
	}
	convert(w.Table(name), row)
	w.Write(name, append(slices.Clip(w.Rows(name)), row))
	return nil
}

// convert makes floats of the numbers and truth values in columns of numbers, in place.
func convert(table world.Table, row session.Row) {
	for i := range row {
		if number, ok := row[i].Number(); ok && table.Columns[i].Kind == world.KindNumber {
			row[i] = python.Float(number)
		}
	}
}

// inClockRange raises ValueError for a timestamp outside of the range that tools accept.
func inClockRange(args Args, names ...string) error {
	for _, name := range names {
		if err := args.InRange(name, clock.MinTimestamp, clock.MaxTimestamp); err != nil {
			return err
		}
	}
	return nil
}

// inEarthRange raises ValueError for a latitude or longitude that is no place on Earth.
func inEarthRange(args Args) error {
	if err := args.InRange("latitude", -geodesic.MaxLatitude, geodesic.MaxLatitude); err != nil {
		return err
	}
	return args.InRange("longitude", -geodesic.MaxLongitude, geodesic.MaxLongitude)
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

// surrogates says where the first run of lone surrogates in a text stands. The text is WTF-8 and
// has one.
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

// removeRows removes all rows with an id. shown is how polars prints the beginning of the compared
// value.
func removeRows(w *session.World, name string, column, id, shown string) error {
	if err := declared(w, name); err != nil {
		return err
	}
	at := w.Table(name).Column(column)
	old := w.Rows(name)
	kept := make([]session.Row, 0, len(old))
	for _, row := range old {
		if value, ok := row[at].AsStr(); !ok || value != id {
			kept = append(kept, row)
		}
	}
	switch len(kept) {
	case len(old):
		w.Touch(name)
		return raise("polars.exceptions.NoDataError", `No db entry matching predicate=<Expr ['[([(col("`+column+`")) == `+shown+`'] at 0x7F0000000000> found`)
	case 0:
		w.Clear(name)
	default:
		w.Write(name, kept)
	}
	return nil
}

// modifyRow replaces cells of the one row with an id, by column, and moves the row to the end.
func modifyRow(w *session.World, name string, column, id string, changes map[string]python.Value) error {
	if err := declared(w, name); err != nil {
		return err
	}
	at := w.Table(name).Column(column)
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
	for field, value := range changes {
		changed[w.Table(name).Column(field)] = value
	}
	if err := encodable(changed...); err != nil {
		return err
	}
	convert(w.Table(name), changed)
	w.Write(name, append(kept, changed))
	return nil
}

// addEffects returns the effects of adding a row with the next id to a table.
func addEffects(name string) Effects {
	return Effects{
		Shapes:  []Part{drawnPart()},
		Changes: []Part{drawnPart(), rowPart(name, "").ofNew(), cellsPart(name)},
	}
}

// modifyEffects returns the effects of modifyRow. What the row holds does not matter: text in a
// table is UTF-8.
func modifyEffects(name string, id string) Effects {
	return Effects{Raises: []Part{rowPart(name, id)}, Changes: []Part{cellsPart(name)}}
}

// removeEffects returns the effects of removeRows, unless it takes the last rows of a table that
// had none before: see Clear of a world.
func removeEffects(name string, id string) Effects {
	return Effects{
		Raises:  []Part{rowPart(name, id)},
		Changes: []Part{rowPart(name, id).cleared(), cellsPart(name)},
	}
}

// given returns those of the named arguments that were given.
func given(args Args, names []string) map[string]python.Value {
	values := make(map[string]python.Value, len(names))
	for _, name := range names {
		if args.Given(name) {
			values[name] = args.Value(name)
		}
	}
	return values
}

// zoneOf returns the time zone of the phone.
func zoneOf(w *session.World) clock.Zone { return clock.In(w.Frame().Zone) }

// currentTimestamp returns the virtual time in POSIX seconds.
func currentTimestamp(w *session.World) (python.Value, error) { return zoneOf(w).Now(w.Now()) }
