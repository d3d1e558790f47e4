package clock

import (
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/toolsandbox/toolsandbox/python"
)

const (
	overflowError = "OverflowError"
	valueError    = "ValueError"

	daySeconds  = 24 * 60 * 60
	weekSeconds = 7 * daySeconds
	micros      = 1e6

	minYear = 1
	maxYear = 9999
	minWall = -62135596800 // the first second of minYear
	maxWall = 253402300799 // the last second of maxYear

	maxTimedelta = 999999999 // days

	// transitionWindow is the distance at which resolve looks up the zone's other offset.
	transitionWindow = daySeconds

	// farSeconds is after every time whose year fits 32 bits, and far below the maximum of 64 bits.
	farSeconds = 1e17
)

// datetime is a local time without its zone: seconds since 1970 as if the zone were UTC, and
// microseconds. fold marks the second occurrence of a repeated time.
type datetime struct {
	wall  int64
	micro int
	fold  bool
}

func (d datetime) civil() time.Time { return time.Unix(d.wall, 0).UTC() }

// fromTimestamp returns datetime.fromtimestamp(timestamp).
func (z Zone) fromTimestamp(timestamp python.Value) (datetime, error) {
	seconds, micro, err := splitMicroseconds(timestamp)
	if err != nil {
		return datetime{}, err
	}
	wall, err := z.wallTime(seconds)
	if err != nil {
		return datetime{}, err
	}
	before, err := z.wallTime(seconds - transitionWindow)
	if err != nil {
		return datetime{}, err
	}
	at := datetime{wall: wall, micro: micro}
	if transition := wall - before - transitionWindow; transition < 0 {
		earlier, err := z.wallTime(seconds + transition)
		if err != nil {
			return datetime{}, err
		}
		at.fold = earlier == wall
	}
	return at, nil
}

// timestamp returns d.timestamp().
func (z Zone) timestamp(d datetime) (python.Value, error) {
	seconds, err := z.resolve(d)
	if err != nil {
		return python.Value{}, err
	}
	return python.Float(float64(seconds) + float64(d.micro)/micros), nil
}

// resolve returns the POSIX seconds of a local time. In a gap it uses the offset before the gap, or
// with fold the offset after it.
func (z Zone) resolve(d datetime) (int64, error) {
	wall, err := z.wallTime(d.wall)
	if err != nil {
		return 0, err
	}
	offset := wall - d.wall
	first := d.wall - offset
	atFirst, err := z.wallTime(first)
	if err != nil {
		return 0, err
	}
	other := atFirst - first
	if atFirst == d.wall {
		beside := first - transitionWindow
		if d.fold {
			beside = first + transitionWindow
		}
		if wall, err = z.wallTime(beside); err != nil {
			return 0, err
		}
		if other = wall - beside; other == offset {
			return first, nil
		}
	}
	second := d.wall - other
	atSecond, err := z.wallTime(second)
	if err != nil {
		return 0, err
	}
	switch {
	case atSecond == d.wall:
		return second, nil
	case atFirst == d.wall:
		return first, nil
	case d.fold:
		return min(first, second), nil
	default:
		return max(first, second), nil
	}
}

// wallTime returns the local time at a time in POSIX seconds. The error reports a year outside
// Python's range.
func (z Zone) wallTime(seconds int64) (int64, error) {
	if seconds < -farSeconds || seconds > farSeconds {
		return 0, tooLarge()
	}
	at := time.Unix(seconds, 0).UTC()
	if z.location != nil {
		at = at.In(z.location)
	}
	year := at.Year()
	if fields := int64(year) - 1900; fields != int64(int32(fields)) {
		return 0, tooLarge()
	}
	if year < minYear || year > maxYear {
		return 0, raise(valueError, "year "+strconv.Itoa(int(int32(year)))+" is out of range")
	}
	_, offset := at.Zone()
	return seconds + int64(offset), nil
}

func tooLarge() error {
	return raise("OSError", "[Errno 75] Value too large for defined data type")
}

// splitMicroseconds splits a number into whole seconds and microseconds, rounded half to even.
func splitMicroseconds(timestamp python.Value) (seconds int64, micro int, err error) {
	if seconds, ok := integer(timestamp); ok {
		if !seconds.IsInt64() {
			return 0, 0, outOfRange()
		}
		return seconds.Int64(), 0, nil
	}
	f, ok := timestamp.AsFloat()
	if !ok {
		return 0, 0, raise("TypeError", "an integer is required (got type "+timestamp.TypeName()+")")
	}
	if math.IsNaN(f) {
		return 0, 0, raise(valueError, "Invalid value NaN (not a number)")
	}
	wholeSeconds, fraction := math.Modf(f)
	fraction = math.RoundToEven(fraction * micros)
	switch {
	case fraction >= micros:
		fraction -= micros
		wholeSeconds++
	case fraction < 0:
		fraction += micros
		wholeSeconds--
	}
	switch {
	case wholeSeconds < math.MinInt64 || wholeSeconds > -math.MinInt64:
		return 0, 0, outOfRange()
	case wholeSeconds == -math.MinInt64: // wraps after Python's check
		wholeSeconds = math.MinInt64
	}
	return int64(wholeSeconds), int(fraction), nil
}

func outOfRange() error {
	return raise(overflowError, "timestamp out of range for platform time_t")
}

// datetime returns datetime(year, month, day, hour, minute, second).
func (f Fields) datetime() (datetime, error) {
	var n [6]int
	for i, value := range []python.Value{f.Year, f.Month, f.Day, f.Hour, f.Minute, f.Second} {
		var err error
		if n[i], err = Int32(value); err != nil {
			return datetime{}, err
		}
	}
	year, month := n[0], time.Month(n[1])
	if year < minYear || year > maxYear {
		return datetime{}, raise(valueError, "year "+strconv.Itoa(year)+" is out of range")
	}
	if month < time.January || month > time.December {
		return datetime{}, raise(valueError, "month must be in 1..12")
	}
	if n[2] < 1 || n[2] > time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		return datetime{}, raise(valueError, "day is out of range for month")
	}
	if n[3] < 0 || n[3] > 23 {
		return datetime{}, raise(valueError, "hour must be in 0..23")
	}
	if n[4] < 0 || n[4] > 59 {
		return datetime{}, raise(valueError, "minute must be in 0..59")
	}
	if n[5] < 0 || n[5] > 59 {
		return datetime{}, raise(valueError, "second must be in 0..59")
	}
	return datetime{wall: time.Date(year, month, n[2], n[3], n[4], n[5], 0, time.UTC).Unix()}, nil
}

// Int32 converts an int or bool to a C int as Python does. The error is an OverflowError if it does
// not fit.
func Int32(value python.Value) (int, error) {
	number, ok := integer(value)
	switch {
	case !ok:
		return 0, raise("TypeError", "an integer is required (got type "+value.TypeName()+")")
	case !number.IsInt64():
		return 0, raise(overflowError, "Python int too large to convert to C long")
	case number.Int64() > math.MaxInt32:
		return 0, raise(overflowError, "signed integer is greater than maximum")
	case number.Int64() < math.MinInt32:
		return 0, raise(overflowError, "signed integer is less than minimum")
	}
	return int(number.Int64()), nil
}

// normalize returns the days and seconds, 0 to 86399, of timedelta(weeks=..., ...).
func (d Delta) normalize() (days, seconds int64, err error) {
	total := new(big.Int)
	for _, part := range []struct {
		value python.Value
		unit  int64
	}{{d.Seconds, 1}, {d.Minutes, 60}, {d.Hours, 60 * 60}, {d.Days, daySeconds}, {d.Weeks, weekSeconds}} {
		n, ok := integer(part.value)
		if !ok {
			return 0, 0, raise("TypeError", "unsupported type for timedelta component: "+part.value.TypeName())
		}
		total.Add(total, n.Mul(n, big.NewInt(part.unit)))
	}
	wholeDays, remainder := total.DivMod(total, big.NewInt(daySeconds), new(big.Int))
	if !wholeDays.IsInt64() || wholeDays.Int64() != int64(int32(wholeDays.Int64())) {
		return 0, 0, raise(overflowError, "Python int too large to convert to C int")
	}
	days = wholeDays.Int64()
	if days < -maxTimedelta || days > maxTimedelta {
		return 0, 0, raise(overflowError, "days="+strconv.FormatInt(days, 10)+"; must have magnitude <= "+strconv.Itoa(maxTimedelta))
	}
	return days, remainder.Int64(), nil
}

// integer returns the value of an int or bool as a new big.Int.
func integer(v python.Value) (*big.Int, bool) {
	if b, ok := v.AsBool(); ok {
		if b {
			return big.NewInt(1), true
		}
		return new(big.Int), true
	}
	return v.AsBigInt()
}

// floorDivide divides with the quotient rounded down.
func floorDivide(a, b int64) (quotient, remainder int64) {
	quotient, remainder = a/b, a%b
	if remainder < 0 {
		quotient, remainder = quotient-1, remainder+b
	}
	return quotient, remainder
}

// raise returns a Python exception.
func raise(kind, text string) error { return &python.Exception{Type: kind, Text: text} }
