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

// Zone is a time zone. The zero Zone is UTC.
type Zone struct {
	location *time.Location
}

// FromLocation returns the zone of a location, UTC for nil.
func FromLocation(location *time.Location) Zone { return Zone{location: location} }

// Now rounds a time in POSIX seconds to whole microseconds.
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

// LocalTime returns the date and time at a timestamp, an int, float or bool of any size, as a dict
// of ints.
func (z Zone) LocalTime(timestamp python.Value) (python.Value, error) {
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

// Diff returns the days and seconds, 0 to 86399, between the local times at two timestamps, which
// are ints, floats or bools, as a dict.
func (z Zone) Diff(from, to python.Value) (python.Value, error) {
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

// Fields are a date and a time of day, ints or bools of any size.
type Fields struct {
	Year, Month, Day, Hour, Minute, Second python.Value
}

// Timestamp returns the timestamp, a float, of the first occurrence of a local time.
func (z Zone) Timestamp(fields Fields) (python.Value, error) {
	at, err := fields.datetime()
	if err != nil {
		return python.Value{}, err
	}
	return z.timestamp(at)
}

// Delta is a duration, ints or bools of any size.
type Delta struct {
	Weeks, Days, Hours, Minutes, Seconds python.Value
}

// Shift returns the timestamp, a float, of the local time at a timestamp plus a duration. The first
// timestamp is an int, float or bool.
func (z Zone) Shift(timestamp python.Value, by Delta) (python.Value, error) {
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
