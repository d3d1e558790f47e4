package interp

import (
	"math"
	"math/big"
	"time"
)

// moment is a date, a time or both.
type moment struct {
	class  *class
	day    int // 1 is 1 January of year 1; 0 for a time alone
	micros int // since midnight
	zone   *timezone
	fold   int
}

func (t *moment) kind() *class { return t.class }

func (t *moment) civil() (year, month, day int) {
	date := time.Date(1, 1, t.day, 0, 0, 0, 0, time.UTC)
	return date.Year(), int(date.Month()), date.Day()
}

// ordinal returns the number of a date, which has to exist.
func ordinal(year, month, day int) int {
	switch {
	case year < 1 || year > 9999:
		panic(raise("ValueError", "year %d is out of range", year))
	case month < 1 || month > 12:
		panic(raise("ValueError", "month must be in 1..12"))
	}
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if day < 1 || day > 31 || date.Day() != day {
		panic(raise("ValueError", "day is out of range for month"))
	}
	return int(date.Unix()/secondsPerDay) + epochOrdinal
}

// timeOfDay returns the microseconds of a time, which has to exist.
func timeOfDay(hour, minute, second, micro int) int {
	switch {
	case hour < 0 || hour > 23:
		panic(raise("ValueError", "hour must be in 0..23"))
	case minute < 0 || minute > 59:
		panic(raise("ValueError", "minute must be in 0..59"))
	case second < 0 || second > 59:
		panic(raise("ValueError", "second must be in 0..59"))
	case micro < 0 || micro >= microsPerSecond:
		panic(raise("ValueError", "microsecond must be in 0..999999"))
	}
	return ((hour*60+minute)*60+second)*microsPerSecond + micro
}

// field returns an argument that is a part of a date or a time, by default 0.
func field(v any) int {
	if v == absent {
		return 0
	}
	i, large, ok := integer(v)
	switch {
	case !ok:
		panic(raise("TypeError", "'%s' object cannot be interpreted as an integer", typeName(v)))
	case large != nil || i != int(int32(i)):
		panic(raise("OverflowError", "signed integer is greater than maximum"))
	}
	return i
}

// zoneOf returns an argument that is a time zone or None.
func zoneOf(v any) *timezone {
	switch v := v.(type) {
	case nil, absentType:
		return nil
	case *timezone:
		return v
	}
	panic(raise("TypeError", "tzinfo argument must be None or of a tzinfo subclass, not type '%s'", typeName(v)))
}

func newDate(a *arguments) any {
	args := a.bind(3, "year", "month", "day")
	return &moment{class: dateClass, day: ordinal(field(args[0]), field(args[1]), field(args[2]))}
}

func foldOf(v any) int {
	fold := field(v)
	if fold != 0 && fold != 1 {
		panic(raise("ValueError", "fold must be either 0 or 1"))
	}
	return fold
}

func newDatetimeValue(a *arguments) any {
	args := a.bind(3, "year", "month", "day", "hour", "minute", "second", "microsecond", "tzinfo", "fold")
	return &moment{
		class: datetimeClass, day: ordinal(field(args[0]), field(args[1]), field(args[2])),
		micros: timeOfDay(field(args[3]), field(args[4]), field(args[5]), field(args[6])), zone: zoneOf(args[7]), fold: foldOf(args[8]),
	}
}

func newTime(a *arguments) any {
	args := a.bind(0, "hour", "minute", "second", "microsecond", "tzinfo", "fold")
	return &moment{
		class: timeClass, micros: timeOfDay(field(args[0]), field(args[1]), field(args[2]), field(args[3])), zone: zoneOf(args[4]),
		fold: foldOf(args[5]),
	}
}

func (t *moment) hasDate() bool { return t.class != timeClass }

func (t *moment) hasTime() bool { return t.class != dateClass }

func (t *moment) attribute(_ *machine, name string) any {
	if t.hasDate() {
		year, month, day := t.civil()
		switch name {
		case "year":
			return year
		case "month":
			return month
		case "day":
			return day
		}
	}
	if !t.hasTime() {
		return absent
	}
	switch name {
	case "hour":
		return t.micros / (3600 * microsPerSecond)
	case "minute":
		return t.micros / (60 * microsPerSecond) % 60
	case "second":
		return t.micros / microsPerSecond % 60
	case "microsecond":
		return t.micros % microsPerSecond
	case "fold":
		return t.fold
	case "tzinfo":
		if t.zone != nil {
			return t.zone
		}
		return nil
	}
	return absent
}

// absolute returns the microseconds since the start of year 1, in UTC if there is a time zone.
func (t *moment) absolute() int {
	total := (t.day-1)*microsPerDay + t.micros
	if t.zone != nil {
		total -= t.zone.offset
	}
	return total
}

func (t *moment) order(_ *machine, other any, wanted bool) (order int, ok bool) {
	y, ok := other.(*moment)
	switch {
	case !ok || t.class != y.class && wanted && t.hasTime() != y.hasTime():
		if ok && t.hasDate() && y.hasDate() {
			panic(raise("TypeError", "can't compare %s to %s", t.class.name, y.class.name))
		}
		return 0, false
	case t.class != y.class:
		return 0, false
	case (t.zone == nil) != (y.zone == nil):
		if wanted {
			panic(raise("TypeError", "can't compare offset-naive and offset-aware %ss", t.class.short()))
		}
		return 0, false
	}
	a, b := t.absolute(), y.absolute()
	switch {
	case a < b:
		return -1, true
	case a > b:
		return 1, true
	default:
		return 0, true
	}
}

type momentHash struct {
	class    *class
	absolute int
	aware    bool
}

func (t *moment) hash() any { return momentHash{t.class, t.absolute(), t.zone != nil} }

// momentAt returns a date and time of microseconds since the start of year 1.
func momentAt(class *class, micros *big.Int, zone *timezone) *moment {
	days, rest := floorDivide(micros, big.NewInt(microsPerDay))
	if !days.IsInt64() || days.Int64() < 0 || days.Int64() >= maxOrdinal {
		panic(raise("OverflowError", "date value out of range"))
	}
	return &moment{class: class, day: int(days.Int64()) + 1, micros: int(rest.Int64()), zone: zone}
}

// calculate implements the sum and difference of dates and durations.
func (t *moment) calculate(m *machine, op string, x, y any) any {
	m.chargeSteps(2)
	left, leftOK := x.(*moment)
	right, rightOK := y.(*moment)
	duration, _ := y.(*timedelta)
	if !leftOK {
		duration, _ = x.(*timedelta)
		left = right
	}
	switch {
	case op == "-" && leftOK && rightOK && left.class == right.class && left.hasDate():
		if (left.zone == nil) != (right.zone == nil) {
			panic(raise("TypeError", "can't subtract offset-naive and offset-aware datetimes"))
		}
		return durationOf(big.NewInt(int64(left.absolute() - right.absolute())))
	case duration == nil || !left.hasDate() || op != "+" && (op != "-" || !leftOK):
		return absent
	}
	step := duration.total()
	if op == "-" {
		step.Neg(step)
	}
	if !left.hasTime() { // a date moves by whole days
		days := duration.days
		if op == "-" {
			days = -days
		}
		step.Mul(big.NewInt(int64(days)), big.NewInt(microsPerDay))
	}
	start := &moment{day: left.day, micros: left.micros}
	return momentAt(left.class, step.Add(step, big.NewInt(int64(start.absolute()))), left.zone)
}

// dateMethod implements weekday, isoweekday, toordinal, isocalendar and ctime.
func dateMethod(a *arguments) any {
	t, _ := self[*moment](a, 0, 0)
	weekday := (t.day + 6) % 7
	switch a.name {
	case "weekday":
		return weekday
	case "isoweekday":
		return weekday + 1
	case "toordinal":
		return t.day
	case "ctime":
		return a.strftime(t, "%a %b %e %H:%M:%S %Y")
	default:
		year, week := time.Date(1, 1, t.day, 0, 0, 0, 0, time.UTC).ISOWeek()
		return &tuple{[]any{year, week, weekday + 1}}
	}
}

// datetimePart implements date, time and timetz.
func datetimePart(a *arguments) any {
	t, _ := self[*moment](a, 0, 0)
	switch a.name {
	case "date":
		return &moment{class: dateClass, day: t.day}
	case "time":
		return &moment{class: timeClass, micros: t.micros, fold: t.fold}
	default:
		return &moment{class: timeClass, micros: t.micros, fold: t.fold, zone: t.zone}
	}
}

// momentZone implements utcoffset, tzname and dst.
func momentZone(a *arguments) any {
	t, _ := self[*moment](a, 0, 0)
	if t.zone == nil {
		return nil
	}
	return t.zone.answer(a.machine, a.name)
}

func momentReplace(a *arguments) any {
	t, _ := a.self.(*moment)
	names := []string{"year", "month", "day", "hour", "minute", "second", "microsecond", "tzinfo"}
	switch t.class {
	case dateClass:
		names = names[:3]
	case timeClass:
		names = names[3:]
	}
	args := a.bind(0, append(names, "fold")...)
	named := make([]namedArgument, 0, len(args))
	for i, name := range append(names, "fold") {
		v := args[i]
		if v == absent {
			v = t.attribute(a.machine, name)
		}
		if v != absent {
			named = append(named, namedArgument{name, v})
		}
	}
	return a.call(t.class, nil, named)
}

func fromOrdinal(a *arguments) any {
	class, _ := a.self.(*class)
	day := field(a.one())
	if day < 1 || day > maxOrdinal {
		panic(raise("ValueError", "ordinal must be >= 1"))
	}
	return &moment{class: class, day: day}
}

func datetimeCombine(a *arguments) any {
	args := a.bind(2, "date", "time", "tzinfo")
	day, dayOK := args[0].(*moment)
	clock, clockOK := args[1].(*moment)
	switch {
	case !dayOK || !day.hasDate():
		panic(raise("TypeError", "combine() argument 1 must be datetime.date, not %s", typeName(args[0])))
	case !clockOK || clock.class != timeClass:
		panic(raise("TypeError", "combine() argument 2 must be datetime.time, not %s", typeName(args[1])))
	}
	zone := clock.zone
	if args[2] != absent {
		zone = zoneOf(args[2])
	}
	return &moment{class: datetimeClass, day: day.day, micros: clock.micros, zone: zone, fold: clock.fold}
}

// posixParts returns whole seconds and microseconds of a timestamp, rounded half to even.
func posixParts(v any) (seconds, micros int) {
	if i, large, ok := integer(v); ok && large == nil {
		return checkSeconds(float64(i), i), 0
	}
	if !isNumber(v) {
		panic(raise("TypeError", "'%s' object cannot be interpreted as an integer", typeName(v)))
	}
	f := float(v)
	switch {
	case math.IsNaN(f):
		panic(raise("ValueError", "Invalid value NaN (not a number)"))
	case math.IsInf(f, 0):
		panic(raise("OverflowError", "cannot convert float infinity to integer"))
	}
	whole, fraction := math.Modf(f)
	fraction = math.RoundToEven(fraction * microsPerSecond)
	switch {
	case fraction >= microsPerSecond:
		whole, fraction = whole+1, fraction-microsPerSecond
	case fraction < 0:
		whole, fraction = whole-1, fraction+microsPerSecond
	}
	return checkSeconds(whole, int(max(min(whole, 1e18), -1e18))), int(fraction)
}

func checkSeconds(size float64, seconds int) int {
	const first, last = -epochOrdinal * secondsPerDay, (maxOrdinal - epochOrdinal + 2) * secondsPerDay
	switch {
	case math.Abs(size) >= math.MaxInt64:
		panic(raise("OverflowError", "timestamp out of range for platform time_t"))
	case seconds < first || seconds > last:
		year := 1970 + seconds/31556952
		panic(raise("ValueError", "year %d is out of range", year))
	}
	return seconds
}

// fromWall returns the moment without a zone at seconds of a local time since 1970.
func fromWall(class *class, seconds, micros int) *moment {
	since := big.NewInt(int64(seconds + (epochOrdinal-1)*secondsPerDay))
	since.Mul(since, big.NewInt(microsPerSecond))
	if since.Sign() < 0 || seconds >= (maxOrdinal-epochOrdinal+1)*secondsPerDay {
		panic(raise("ValueError", "year is out of range"))
	}
	return momentAt(class, since.Add(since, big.NewInt(int64(micros))), nil)
}

// at returns the local moment at a time in POSIX seconds.
func (m *machine) at(class *class, seconds, micros int, function string) *moment {
	zone := m.clock(function).Zone()
	local := wall(zone, seconds)
	t := fromWall(class, local, micros)
	if jump := local - wall(zone, seconds-secondsPerDay) - secondsPerDay; jump < 0 && class == datetimeClass && wall(zone, seconds+jump) == local {
		t.fold = 1
	}
	return t
}

// inZone returns the moment in a time zone at a time in POSIX seconds.
func inZone(seconds, micros int, zone *timezone) *moment {
	t := fromWall(datetimeClass, seconds, micros)
	return momentAt(datetimeClass, big.NewInt(int64(t.absolute()+zone.offset)), zone)
}

func dateToday(a *arguments) any {
	a.positionalOnly(0, 0)
	seconds, _ := posixParts(a.clock("date.today").Now())
	return a.at(dateClass, seconds, 0, "date.today")
}

func dateFromTimestamp(a *arguments) any {
	seconds, _ := posixParts(a.one())
	return a.at(dateClass, seconds, 0, "date.fromtimestamp")
}

// datetimeNow implements now, today and utcnow. The time is that of the host.
func datetimeNow(a *arguments) any {
	zone := absent
	if a.name == "now" {
		zone = a.bind(0, "tz")[0]
	} else {
		a.positionalOnly(0, 0)
	}
	seconds, micros := posixParts(a.clock("datetime." + a.name).Now())
	return a.fromSeconds(seconds, micros, zone)
}

func (a *arguments) fromSeconds(seconds, micros int, zone any) any {
	switch fixed := zoneOf(zone); {
	case fixed != nil:
		return inZone(seconds, micros, fixed)
	case a.name == "utcnow" || a.name == "utcfromtimestamp":
		return fromWall(datetimeClass, seconds, micros)
	default:
		return a.at(datetimeClass, seconds, micros, "datetime."+a.name)
	}
}

// datetimeFromTimestamp implements fromtimestamp and utcfromtimestamp.
func datetimeFromTimestamp(a *arguments) any {
	args := []any{absent, absent}
	if a.name == "fromtimestamp" {
		args = a.bind(1, "timestamp", "tz")
	} else {
		args[0] = a.one()
	}
	seconds, micros := posixParts(args[0])
	return a.fromSeconds(seconds, micros, args[1])
}

// seconds returns the time in POSIX seconds, without the microseconds.
func (m *machine) seconds(t *moment, function string) int {
	return posix(m.clock(function).Zone(), t.localSeconds(), t.fold)
}

// localSeconds returns the seconds of the local time since 1970.
func (t *moment) localSeconds() int {
	return (t.day-epochOrdinal)*secondsPerDay + t.micros/microsPerSecond
}

func datetimeTimestamp(a *arguments) any {
	t, _ := self[*moment](a, 0, 0)
	if t.zone != nil {
		return trueDivide(big.NewInt(int64(t.absolute()-(epochOrdinal-1)*microsPerDay)), big.NewInt(microsPerSecond))
	}
	return float64(a.seconds(t, "datetime.timestamp")) + float64(t.micros%microsPerSecond)/1e6
}

func datetimeAsTimezone(a *arguments) any {
	t, _ := a.self.(*moment)
	zone := zoneOf(a.bind(0, "tz")[0])
	var seconds int
	if t.zone != nil {
		total, _ := floorDivide(big.NewInt(int64(t.absolute())), big.NewInt(microsPerSecond))
		seconds = int(total.Int64()) - (epochOrdinal-1)*secondsPerDay
	} else {
		local := a.clock("datetime.astimezone").Zone()
		found := a.seconds(t, "datetime.astimezone")
		seconds = t.localSeconds() + found - wall(local, found) // differs from found if the local time is skipped
	}
	micros := t.micros % microsPerSecond
	if zone == nil {
		name, offset := time.Unix(int64(seconds), 0).In(a.clock("datetime.astimezone").Zone()).Zone()
		zone = &timezone{offset * microsPerSecond, name}
	}
	return inZone(seconds, micros, zone)
}
