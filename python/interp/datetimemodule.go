package interp

import (
	"math"
	"math/big"
	"time"
)

// Clock is a host that knows the time. Without it the functions of the module datetime that need
// the time or the local time zone raise an exception.
type Clock interface {
	// Now returns the time in POSIX seconds.
	Now() float64
	// Zone returns the local time zone.
	Zone() *time.Location
}

// These are the classes of the module datetime. newDatetime gives them their functions.
var (
	dateClass      = &class{name: "datetime.date"}
	datetimeClass  = &class{name: "datetime.datetime", base: dateClass}
	timeClass      = &class{name: "datetime.time"}
	timedeltaClass = &class{name: "datetime.timedelta"}
	tzinfoClass    = &class{name: "datetime.tzinfo"}
	timezoneClass  = &class{name: "datetime.timezone", base: tzinfoClass}
)

const (
	microsPerSecond = 1_000_000
	microsPerDay    = 86400 * microsPerSecond
	secondsPerDay   = 86400
	// maxOrdinal is the number of 31 December 9999; 1 January of year 1 is 1.
	maxOrdinal = 3652059
	maxDays    = 999999999
	// epochOrdinal is the number of 1 January 1970.
	epochOrdinal = 719163
)

// newDatetime returns the module datetime.
func newDatetime() *module {
	timedeltaClass.construct, timezoneClass.construct = newTimedelta, newTimezone
	dateClass.construct, datetimeClass.construct, timeClass.construct = newDate, newDatetimeValue, newTime
	timedeltaClass.methods = map[string]native{"total_seconds": totalSeconds}
	timezoneClass.methods = splitNames(map[string]native{"utcoffset tzname dst": timezoneMethod})
	dateClass.methods = splitNames(map[string]native{
		"weekday isoweekday toordinal isocalendar ctime": dateMethod, "isoformat": momentISO, "strftime __format__": momentFormat, "replace": momentReplace,
	})
	datetimeClass.methods = splitNames(map[string]native{
		"date time timetz": datetimePart, "timestamp": datetimeTimestamp, "astimezone": datetimeAsTimezone, "utcoffset tzname dst": momentZone,
	})
	timeClass.methods = splitNames(map[string]native{
		"isoformat": momentISO, "strftime __format__": momentFormat, "replace": momentReplace, "utcoffset tzname dst": momentZone,
	})
	day := &timedelta{days: 1}
	micro := &timedelta{micros: 1}
	timedeltaClass.attributes = map[string]any{"min": &timedelta{days: -maxDays}, "max": &timedelta{maxDays, microsPerDay - 1}, "resolution": micro}
	timezoneClass.attributes = map[string]any{"utc": utc}
	dateClass.attributes = functions(map[string]native{
		"today": dateToday, "fromtimestamp": dateFromTimestamp, "fromordinal": fromOrdinal, "fromisoformat": fromISO,
	}, dateClass)
	dateClass.attributes["min"], dateClass.attributes["max"] = &moment{class: dateClass, day: 1}, &moment{class: dateClass, day: maxOrdinal}
	dateClass.attributes["resolution"] = day
	datetimeClass.attributes = functions(map[string]native{
		"now today utcnow": datetimeNow, "fromtimestamp utcfromtimestamp": datetimeFromTimestamp, "fromordinal": fromOrdinal,
		"fromisoformat": fromISO, "combine": datetimeCombine, "strptime": datetimeParse,
	}, datetimeClass)
	datetimeClass.attributes["min"] = &moment{class: datetimeClass, day: 1}
	datetimeClass.attributes["max"] = &moment{class: datetimeClass, day: maxOrdinal, micros: microsPerDay - 1}
	datetimeClass.attributes["resolution"] = micro
	timeClass.attributes = functions(map[string]native{"fromisoformat": fromISO}, timeClass)
	timeClass.attributes["min"], timeClass.attributes["max"] = &moment{class: timeClass}, &moment{class: timeClass, micros: microsPerDay - 1}
	timeClass.attributes["resolution"] = micro
	return &module{name: "datetime", members: map[string]any{
		"date": dateClass, "datetime": datetimeClass, "time": timeClass, "timedelta": timedeltaClass, "timezone": timezoneClass,
		"tzinfo": tzinfoClass, "UTC": utc, "MINYEAR": 1, "MAXYEAR": 9999,
	}}
}

// functions returns functions of a class by name.
func functions(all map[string]native, of *class) map[string]any {
	bound := make(map[string]any)
	for name, f := range splitNames(all) {
		bound[name] = &builtin{name: name, call: func(a *arguments) any {
			return f(&arguments{a.machine, a.name, of, a.positional, a.named})
		}}
	}
	return bound
}

// timedelta is a duration; micros are 0 to those of a day.
type timedelta struct{ days, micros int }

func (d *timedelta) total() *big.Int {
	total := new(big.Int).Mul(big.NewInt(int64(d.days)), big.NewInt(microsPerDay))
	return total.Add(total, big.NewInt(int64(d.micros)))
}

// durationOf returns the duration of a number of microseconds.
func durationOf(micros *big.Int) *timedelta {
	days, rest := floorDivide(micros, big.NewInt(microsPerDay))
	if !days.IsInt64() {
		panic(raise("OverflowError", "Python int too large to convert to C int"))
	}
	if days.Int64() > maxDays || days.Int64() < -maxDays {
		panic(raise("OverflowError", "days=%s; must have magnitude <= %d", days, maxDays))
	}
	return &timedelta{int(days.Int64()), int(rest.Int64())}
}

func (d *timedelta) kind() *class { return timedeltaClass }

func (d *timedelta) attribute(_ *machine, name string) any {
	switch name {
	case "days":
		return d.days
	case "seconds":
		return d.micros / microsPerSecond
	case "microseconds":
		return d.micros % microsPerSecond
	}
	return absent
}

func (d *timedelta) order(m *machine, other any, _ bool) (order int, ok bool) {
	y, ok := other.(*timedelta)
	if !ok {
		return 0, false
	}
	m.chargeSteps(1)
	return d.total().Cmp(y.total()), true
}

func (d *timedelta) hash() any { return *d }

// signed returns -d, +d.
func (d *timedelta) signed(op string) any {
	if op == "-" {
		return durationOf(new(big.Int).Neg(d.total()))
	}
	return d
}

// durationUnits are the arguments of timedelta in the order in which Python adds them up, with
// their microseconds.
var durationUnits = []struct {
	name   string
	at     int // among the arguments
	micros int
}{
	{"microseconds", 2, 1}, {"milliseconds", 3, 1000}, {"seconds", 1, microsPerSecond}, {"minutes", 4, 60 * microsPerSecond},
	{"hours", 5, 3600 * microsPerSecond}, {"days", 0, microsPerDay}, {"weeks", 6, 7 * microsPerDay},
}

func newTimedelta(a *arguments) any {
	args := a.bind(0, "days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")
	total, leftover := new(big.Int), 0.0
	for _, unit := range durationUnits {
		arg := plain(args[unit.at])
		if arg == absent {
			continue
		}
		factor := big.NewInt(int64(unit.micros))
		if i, ok := toBigInt(arg); ok {
			a.chargeSteps(i.BitLen() / 64)
			total.Add(total, i.Mul(new(big.Int).Set(i), factor))
			continue
		}
		f, ok := arg.(float64)
		if !ok {
			panic(raise("TypeError", "unsupported type for timedelta %s component: %s", unit.name, typeName(arg)))
		}
		whole, _ := toBigInt(truncate(f))
		total.Add(total, new(big.Int).Mul(whole, factor))
		if fraction := f - math.Trunc(f); fraction != 0 {
			micros := float64(unit.micros) * fraction
			total.Add(total, big.NewInt(int64(micros)))
			leftover += micros - math.Trunc(micros)
		}
	}
	if leftover != 0 {
		rounded := math.Round(leftover)
		if math.Abs(rounded-leftover) == 0.5 { // to even, in the sum
			odd := float64(total.Bit(0))
			rounded = 2*math.Round((leftover+odd)*0.5) - odd
		}
		total.Add(total, big.NewInt(int64(rounded)))
	}
	return durationOf(total)
}

func totalSeconds(a *arguments) any {
	d, _ := self[*timedelta](a, 0, 0)
	return trueDivide(d.total(), big.NewInt(microsPerSecond))
}

// calculate returns x op y where one is a duration.
func (d *timedelta) calculate(m *machine, op string, x, y any) any {
	m.chargeSteps(4)
	left, leftOK := x.(*timedelta)
	right, rightOK := y.(*timedelta)
	switch {
	case leftOK && rightOK:
		return betweenDurations(op, left.total(), right.total())
	case op == "*" && rightOK:
		return scaled(right, x, false)
	case op == "*":
		return scaled(left, y, false)
	case op == "/" && leftOK:
		return scaled(left, y, true)
	case op == "//" && leftOK:
		if i, ok := toBigInt(y); ok {
			if i.Sign() == 0 {
				panic(raise("ZeroDivisionError", "integer division or modulo by zero"))
			}
			quotient, _ := floorDivide(left.total(), i)
			return durationOf(quotient)
		}
	}
	return absent
}

func betweenDurations(op string, x, y *big.Int) any {
	if y.Sign() == 0 && (op == "/" || op == "//" || op == "%") {
		panic(raise("ZeroDivisionError", "division by zero"))
	}
	switch op {
	case "+":
		return durationOf(x.Add(x, y))
	case "-":
		return durationOf(x.Sub(x, y))
	case "/":
		return trueDivide(x, y)
	case "//", "%":
		quotient, remainder := floorDivide(x, y)
		if op == "//" {
			return normalize(quotient)
		}
		return durationOf(remainder)
	}
	return absent
}

// scaled returns a duration times a number, or divided by it, rounded half to even.
func scaled(d *timedelta, by any, divided bool) any {
	factor := new(big.Rat)
	if i, ok := toBigInt(by); ok {
		if !divided {
			return durationOf(new(big.Int).Mul(d.total(), i))
		}
		factor.SetInt(i)
	} else if f, ok := by.(float64); ok {
		switch {
		case math.IsNaN(f):
			panic(raise("ValueError", "cannot convert NaN to integer ratio"))
		case math.IsInf(f, 0):
			panic(raise("OverflowError", "cannot convert Infinity to integer ratio"))
		}
		factor.SetFloat64(f)
	} else {
		return absent
	}
	if divided {
		if factor.Sign() == 0 {
			panic(raise("ZeroDivisionError", "division by zero"))
		}
		factor.Inv(factor)
	}
	product := factor.Mul(factor, new(big.Rat).SetInt(d.total()))
	return durationOf(roundHalfEven(product))
}

func roundHalfEven(x *big.Rat) *big.Int {
	quotient, remainder := floorDivide(x.Num(), x.Denom())
	switch twice := remainder.Lsh(remainder, 1); twice.Cmp(x.Denom()) {
	case 1:
		return quotient.Add(quotient, big.NewInt(1))
	case 0:
		if quotient.Bit(0) == 1 {
			return quotient.Add(quotient, big.NewInt(1))
		}
	}
	return quotient
}

// timezone is a time zone with a fixed offset in microseconds.
type timezone struct {
	offset int
	label  string // empty for the text of the offset
}

var utc = &timezone{}

func newTimezone(a *arguments) any {
	args := a.bind(1, "offset", "name")
	d, ok := args[0].(*timedelta)
	if !ok {
		panic(raise("TypeError", "timezone() argument 1 must be datetime.timedelta, not %s", typeName(args[0])))
	}
	label := ""
	if args[1] != absent {
		label = requireString(args[1], "timezone() argument 2 must be str, not %s")
	}
	if d.days < -1 || d.days > 0 || d.days == -1 && d.micros == 0 {
		panic(raise("ValueError", "offset must be a timedelta strictly between -timedelta(hours=24) and timedelta(hours=24), not %s.", d.repr(a.machine)))
	}
	if offset := d.days*microsPerDay + d.micros; offset != 0 || label != "" {
		return &timezone{offset, label}
	}
	return utc
}

func (z *timezone) kind() *class { return timezoneClass }

func (z *timezone) attribute(*machine, string) any { return absent }

func (z *timezone) order(_ *machine, other any, wanted bool) (order int, ok bool) {
	y, ok := other.(*timezone)
	return 0, !wanted && ok && y.offset == z.offset
}

func (z *timezone) hash() any { return timezone{offset: z.offset} }

func (z *timezone) delta() *timedelta { return durationOf(big.NewInt(int64(z.offset))) }

// timezoneMethod implements utcoffset, tzname and dst.
func timezoneMethod(a *arguments) any {
	z, _ := self[*timezone](a, 1, 1)
	return z.answer(a.machine, a.name)
}

func (z *timezone) answer(m *machine, method string) any {
	switch method {
	case "utcoffset":
		return z.delta()
	case "tzname":
		return z.str(m)
	default:
		return nil
	}
}

// clock returns the host's clock.
func (m *machine) clock(function string) Clock {
	if clock, ok := m.host.(Clock); ok {
		return clock
	}
	panic(raise("RuntimeError", "%s() has no clock here; take the time from the arguments", function))
}

// wall returns the seconds of the local time since 1970 at a time in POSIX seconds.
func wall(zone *time.Location, at int) int {
	_, offset := time.Unix(int64(at), 0).In(zone).Zone()
	return at + offset
}

// posix returns the time in POSIX seconds of a local time, as Python finds it.
func posix(zone *time.Location, local, fold int) int {
	a := wall(zone, local) - local
	first := local - a
	var b int
	if wall(zone, first) == local {
		other := first - secondsPerDay
		if fold == 1 {
			other = first + secondsPerDay
		}
		if b = wall(zone, other) - other; a == b {
			return first
		}
	} else {
		b = wall(zone, first) - first
	}
	second := local - b
	switch {
	case wall(zone, second) == local:
		return second
	case wall(zone, first) == local:
		return first
	case fold == 1:
		return min(first, second)
	default:
		return max(first, second)
	}
}
