package expression

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/toolsandbox/toolsandbox/python"
)

// Time is a compiled time over a scenario's now and time zone. It is immutable.
type Time struct{ expression *Expression }

// CompileTime compiles a time: an expression whose value is a number of POSIX seconds. The error is
// an *Error.
func CompileTime(text string) (*Time, error) {
	var names []string
	for _, f := range functions() {
		names = append(names, f.name)
	}
	compiled, err := Compile(text, names, "now", zoneName)
	if err != nil {
		return nil, err
	}
	return &Time{compiled}, nil
}

// Seconds evaluates the time for a now in POSIX seconds and a zone. It returns POSIX seconds. The
// error is an *Error.
func (t *Time) Seconds(now float64, zone *time.Location) (float64, error) {
	if _, ok := fromSeconds(python.Float(now)); !ok {
		return 0, &Error{Problem: fmt.Sprintf("now is %v, which is no time", now)}
	}
	result, _, err := t.expression.Eval(calendar{zone}, python.Float(now), python.Str(zone.String()))
	if err != nil {
		return 0, &Error{Problem: err.Error()}
	}
	seconds, ok := number(result)
	switch {
	case !ok:
		return 0, &Error{Problem: fmt.Sprintf("gives %s, expected a time: a number of seconds", result.TypeName())}
	case math.IsNaN(seconds) || math.IsInf(seconds, 0):
		return 0, &Error{Problem: fmt.Sprintf("gives %v seconds, which is no time", seconds)}
	}
	return seconds, nil
}

// zoneName is the name of the variable zone, and of the parameter that all functions have.
const zoneName = "zone"

// function is a function of times.
type function struct {
	name string
	// required and optional are the parameters before zone. An optional one is an int, by default 0.
	required, optional []string
	apply              func(a *arguments) (time.Time, error)
}

// functions returns the functions of times.
func functions() []function {
	return []function{
		{"local", []string{"text"}, nil, func(a *arguments) (time.Time, error) { return ParseLocal(a.text(0), a.zone) }},
		{"at", []string{"time", "clock"}, nil, func(a *arguments) (time.Time, error) { return atClock(a.time(0), a.text(1), a.zone) }},
		{"next_weekday", []string{"time", "weekday"}, nil, func(a *arguments) (time.Time, error) {
			return nextWeekday(a.time(0), a.text(1), a.zone)
		}},
		{"shift", []string{"time"}, []string{"weeks", "days", "hours", "minutes", "seconds"}, func(a *arguments) (time.Time, error) {
			return shift(a.time(0), a.amount(1), a.zone)
		}},
	}
}

// calendar is the host of the functions of times. Its zone is the default of their parameter zone.
type calendar struct{ zone *time.Location }

// Callable implements interp.Host.
func (calendar) Callable(string) bool { return false }

// Call implements interp.Host.
func (c calendar) Call(name string, positional []python.Value, keyword *python.Dict) (python.Value, error) {
	all := functions()
	at := slices.IndexFunc(all, func(f function) bool { return f.name == name })
	result, err := all[at].call(c.zone, positional, keyword)
	if err != nil {
		return python.Value{}, fmt.Errorf("%s: %w", name, err)
	}
	return python.Float(float64(result.Unix()) + float64(result.Nanosecond()/1000)/1e6), nil
}

// call binds the arguments and calls the function.
func (f *function) call(zone *time.Location, positional []python.Value, keyword *python.Dict) (time.Time, error) {
	var signature python.Signature
	for _, name := range f.required {
		signature.Params = append(signature.Params, python.Param{Name: name})
	}
	for _, name := range f.optional {
		signature.Params = append(signature.Params, python.Param{Name: name, HasDefault: true, Default: python.Int(0)})
	}
	signature.Params = append(signature.Params, python.Param{Name: zoneName, HasDefault: true, Default: python.Str(zone.String())})
	bound, err := signature.Bind(positional, keyword)
	if err != nil {
		return time.Time{}, err
	}
	a := &arguments{bound: bound, zone: zone}
	if named := a.text(len(bound) - 1); a.err == nil && named != zone.String() {
		a.zone, a.err = loadZone(named)
	}
	if a.err != nil {
		return time.Time{}, a.err
	}
	result, err := f.apply(a)
	return result, cmp.Or(a.err, err)
}

// arguments are the arguments of a call. err is the first mistake in them.
type arguments struct {
	bound []python.Arg
	zone  *time.Location
	err   error
}

func (a *arguments) fail(format string, values ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, values...)
	}
}

// text returns a text, empty after a mistake.
func (a *arguments) text(at int) string {
	text, ok := a.bound[at].Value.AsStr()
	if !ok {
		a.fail("%s is %s, expected a text", a.bound[at].Name, a.bound[at].Value.TypeName())
	}
	return text
}

// time returns a time, the zero time after a mistake.
func (a *arguments) time(at int) time.Time {
	t, ok := fromSeconds(a.bound[at].Value)
	if !ok {
		a.fail("%s is %s, expected a time in seconds since 1970", a.bound[at].Name, python.Repr(a.bound[at].Value))
	}
	return t
}

// amount returns the sum of the units from an argument on in seconds, 0 after a mistake.
func (a *arguments) amount(from int) (total int64) {
	for _, unit := range a.bound[from : len(a.bound)-1] {
		count, ok := unit.Value.Interface().(int)
		if !ok {
			a.fail("%s is %s, expected a whole number", unit.Name, unit.Value.TypeName())
			return 0
		}
		length := unitSeconds(unit.Name)
		if math.Abs(float64(count)*float64(length)) > maxShift {
			a.fail("%d %s lead out of the calendar", count, unit.Name)
			return 0
		}
		total += int64(count) * length
	}
	return total
}

// The POSIX seconds of the first and the last second of the calendar.
const minSeconds, maxSeconds = -62135596800, 253402300799

// fromSeconds converts POSIX seconds. ok is false for anything else.
func fromSeconds(v python.Value) (t time.Time, ok bool) {
	seconds, ok := number(v)
	if !ok || !(seconds >= minSeconds && seconds <= maxSeconds) {
		return t, false
	}
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC(), true
}

// number returns the value of an int or a float.
func number(v python.Value) (number float64, ok bool) {
	if v.Kind() == python.KindBool {
		return 0, false
	}
	return v.Number()
}
