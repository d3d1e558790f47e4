// Package clock implements the arithmetic of the time tools: POSIX timestamps and local times of a
// time zone. Its results are those of Python's datetime without tzinfo if that zone is the local
// one. The zone database is built in; the system's database has precedence.
//
// Repeated and skipped hours, the rounding to microseconds and error texts are Python's. The
// package never reads the system clock. It is safe for concurrent use.
package clock

import (
	"time"
	_ "time/tzdata" // the zone database for machines without one

	"github.com/toolsandbox/toolsandbox/python"
)

// These are the limits of timestamps that tools accept, in POSIX seconds: midnight of 1 January
// 1980 and 2050 in a zone one hour east of Greenwich.
const (
	MinTimestamp = 315529200.0
	MaxTimestamp = 2524604400.0
)

// Zone is a time zone. The zero Zone is UTC.
type Zone struct {
	location *time.Location
}

// FromLocation returns the zone of a location, UTC for nil.
func FromLocation(location *time.Location) Zone { return Zone{location: location} }

// CheckTimestamp returns a ValueError that names the parameter if a timestamp is outside
// MinTimestamp to MaxTimestamp. The value must be a number.
func CheckTimestamp(name string, timestamp python.Value) error {
	switch {
	case compare(timestamp, MinTimestamp) < 0:
		return raise(valueError, "Parameter '"+name+"' is smaller than its valid range minimum of "+python.FormatFloat(MinTimestamp)+".")
	case compare(timestamp, MaxTimestamp) > 0:
		return raise(valueError, "Parameter '"+name+"' is larger than its valid range maximum of "+python.FormatFloat(MaxTimestamp)+".")
	}
	return nil
}

// Now implements get_current_timestamp. now is in POSIX seconds; the result has whole microseconds.
func (z Zone) Now(now float64) (python.Value, error) {
	at, err := z.fromTimestamp(python.Float(now))
	if err != nil {
		return python.Value{}, err
	}
	return z.timestamp(at)
}

// Year returns the year of the local time at a time in POSIX seconds.
func (z Zone) Year(now float64) (int, error) {
	at, err := z.fromTimestamp(python.Float(now))
	if err != nil {
		return 0, err
	}
	return at.civil().Year(), nil
}

// Midnight returns the timestamp, a float, at which a day starts in the zone.
func (z Zone) Midnight(year int, month time.Month, day int) (python.Value, error) {
	return z.timestamp(datetime{wall: time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix()})
}

// DatetimeInfo implements timestamp_to_datetime_info: it returns date and local time as a dict of
// ints. It checks the range of the timestamp, an int, float or bool.
func (z Zone) DatetimeInfo(timestamp python.Value) (python.Value, error) {
	if err := CheckTimestamp("timestamp", timestamp); err != nil {
		return python.Value{}, err
	}
	at, err := z.fromTimestamp(timestamp)
	if err != nil {
		return python.Value{}, err
	}
	civil := at.civil()
	weekday := int(civil.Weekday())
	if weekday == 0 {
		weekday = 7
	}
	return python.DictOf(
		item("year", civil.Year()),
		item("month", int(civil.Month())),
		item("day", civil.Day()),
		item("hour", civil.Hour()),
		item("minute", civil.Minute()),
		item("second", civil.Second()),
		item("isoweekday", weekday),
	), nil
}

// HoursMinutesSeconds implements seconds_to_hours_minutes_seconds: it returns the local time at a
// timestamp as a dict of ints. The timestamp is an int, float or bool of any size.
func (z Zone) HoursMinutesSeconds(seconds python.Value) (python.Value, error) {
	at, err := z.fromTimestamp(seconds)
	if err != nil {
		return python.Value{}, err
	}
	civil := at.civil()
	return python.DictOf(
		item("hour", civil.Hour()),
		item("minute", civil.Minute()),
		item("second", civil.Second()),
	), nil
}

// Diff implements timestamp_diff: it returns the days and seconds, 0 to 86399, between two local
// times as a dict. It checks the ranges of the timestamps, which are ints, floats or bools.
func (z Zone) Diff(from, to python.Value) (python.Value, error) {
	if err := CheckTimestamp("timestamp_0", from); err != nil {
		return python.Value{}, err
	}
	if err := CheckTimestamp("timestamp_1", to); err != nil {
		return python.Value{}, err
	}
	start, err := z.fromTimestamp(from)
	if err != nil {
		return python.Value{}, err
	}
	end, err := z.fromTimestamp(to)
	if err != nil {
		return python.Value{}, err
	}
	seconds := end.wall - start.wall
	if end.micro < start.micro {
		seconds--
	}
	days, seconds := floorDivide(seconds, daySeconds)
	return python.DictOf(item("days", int(days)), item("seconds", int(seconds))), nil
}

// Fields are the arguments of datetime_info_to_timestamp, ints or bools of any size.
type Fields struct {
	Year, Month, Day, Hour, Minute, Second python.Value
}

// Timestamp implements datetime_info_to_timestamp: it returns the timestamp, a float, of the first
// occurrence of a local time.
func (z Zone) Timestamp(fields Fields) (python.Value, error) {
	at, err := fields.datetime()
	if err != nil {
		return python.Value{}, err
	}
	return z.timestamp(at)
}

// Delta are the arguments of shift_timestamp, ints or bools of any size.
type Delta struct {
	Weeks, Days, Hours, Minutes, Seconds python.Value
}

// Shift implements shift_timestamp: it returns the timestamp, a float, of the local time plus a
// delta. It checks the range of the timestamp, an int, float or bool.
func (z Zone) Shift(timestamp python.Value, by Delta) (python.Value, error) {
	if err := CheckTimestamp("timestamp", timestamp); err != nil {
		return python.Value{}, err
	}
	at, err := z.fromTimestamp(timestamp)
	if err != nil {
		return python.Value{}, err
	}
	days, seconds, err := by.normalize()
	if err != nil {
		return python.Value{}, err
	}
	wall := at.wall + days*daySeconds + seconds
	if wall < minWall || wall > maxWall {
		return python.Value{}, raise(overflowError, "date value out of range")
	}
	return z.timestamp(datetime{wall: wall, micro: at.micro})
}

func item(key string, value int) python.Item {
	return python.Item{Key: key, Value: python.Int(int64(value))}
}
