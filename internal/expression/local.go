package expression

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/timezone"
)

const (
	// day is the distance at which fromWallClock looks up the zone's other offset.
	day = 24 * time.Hour
	// maxShift is the maximum shift in seconds. It exceeds the calendar.
	maxShift = 400 * 366 * 24 * 60 * 60 * 25
)

// wallClock returns the local time in a zone as a UTC time.
func wallClock(t time.Time, zone *time.Location) time.Time {
	local := t.In(zone)
	return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), time.UTC)
}

// fromWallClock returns the time of a local time, the first if it is ambiguous. A skipped local
// time has the offset before the change, as in tools.
func fromWallClock(wall time.Time, zone *time.Location) time.Time {
	_, before := wall.Add(-day).In(zone).Zone()
	_, after := wall.Add(day).In(zone).Zone()
	first := wall.Add(-time.Duration(before) * time.Second)
	if second := wall.Add(-time.Duration(after) * time.Second); !wallClock(first, zone).Equal(wall) && wallClock(second, zone).Equal(wall) {
		return second
	}
	return first
}

// loadZone returns the zone of an IANA name.
func loadZone(name string) (*time.Location, error) {
	zone, err := timezone.Load(name)
	if err != nil || name == "" {
		return nil, fmt.Errorf("%q is no time zone, expected an IANA name like Europe/Berlin", name)
	}
	return zone, nil
}

// ParseLocal parses a local date with an optional time of day, e.g. 2025-03-15T10:00. A skipped
// local time has the offset before the change. An ambiguous one is the first.
func ParseLocal(text string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if wall, err := time.Parse(layout, text); err == nil {
			return fromWallClock(wall, zone), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no local time, expected one like 2025-03-15T10:00 or a date like 2025-03-15", text)
}

// atClock returns a time of day on the day of t.
func atClock(t time.Time, text string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{"15:04:05", "15:04"} {
		if clock, err := time.Parse(layout, text); err == nil {
			year, month, date := t.In(zone).Date()
			return fromWallClock(time.Date(year, month, date, clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), time.UTC), zone), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time of day, expected one like 10:00 or 10:00:30", text)
}

// nextWeekday returns the same time of day on the next occurrence of a weekday after t.
func nextWeekday(t time.Time, name string, zone *time.Location) (time.Time, error) {
	wall := wallClock(t, zone)
	for ahead := 1; ahead <= 7; ahead++ {
		if next := wall.AddDate(0, 0, ahead); strings.ToLower(next.Weekday().String()) == name {
			return fromWallClock(next, zone), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no weekday, expected one of monday, tuesday, wednesday, thursday, friday, saturday, sunday", name)
}

// unitSeconds returns the length of a unit of shift, 0 for an unknown one.
func unitSeconds(unit string) int64 {
	switch unit {
	case "weeks":
		return 7 * 24 * 60 * 60
	case "days":
		return 24 * 60 * 60
	case "hours":
		return 60 * 60
	case "minutes":
		return 60
	case "seconds":
		return 1
	}
	return 0
}

// shift adds seconds to the local time.
func shift(t time.Time, by int64, zone *time.Location) (time.Time, error) {
	wall := wallClock(t, zone)
	moved := time.Unix(wall.Unix()+by, int64(wall.Nanosecond())).UTC()
	if moved.Year() < 1 || moved.Year() > 9999 {
		return time.Time{}, fmt.Errorf("the year %d is out of the calendar", moved.Year())
	}
	return fromWallClock(moved, zone), nil
}
