package provenance

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/python"
)

const (
	halfDay = 12 * 60
	// near is the number of days around a told date that people name without a number, such as the
	// day after tomorrow; month is the distance at which they name a weekday.
	near, month = 2, 62
)

// moment judges the parts of a date and a time of day in one object together.
func (j *judge) moment(path string, dict *python.Dict) {
	if j.checked == nil {
		j.checked = make(map[string]bool)
	}
	field := func(name string) (number int, value python.Value, ok bool) {
		if value, ok = dict.Get(name); !ok {
			return 0, value, false
		}
		size, ok := numberOf(value)
		return int(size), value, ok
	}
	mark := func(names ...string) {
		for _, name := range names {
			j.checked[path+name] = true
		}
	}
	year, yearValue, hasYear := field("year")
	monthNumber, monthValue, hasMonth := field("month")
	dayNumber, dayValue, hasDay := field("day")
	if hasYear && hasMonth && hasDay {
		mark("year", "month", "day")
		switch {
		case monthNumber >= 1 && monthNumber <= 12 && dayNumber >= 1 && dayNumber <= 31 && j.toldDay(time.Date(year, time.Month(monthNumber), dayNumber, 0, 0, 0, 0, time.UTC)):
		case !j.toldYear(year):
			j.add(path+"year", yearValue)
		case !j.toldMonth(time.Month(monthNumber)):
			j.add(path+"month", monthValue)
		default:
			j.add(path+"day", dayValue)
		}
	}
	hour, hourValue, hasHour := field("hour")
	minute, minuteValue, hasMinute := field("minute")
	if !hasHour || !hasMinute {
		return
	}
	mark("hour", "minute", "second")
	if !j.toldClock(hour, minute) {
		if j.isHour(hour) {
			j.add(path+"minute", minuteValue)
		} else {
			j.add(path+"hour", hourValue)
		}
	}
	if second, secondValue, ok := field("second"); ok && !j.toldSecond(second) && (second != 59 || minute != 59) {
		j.add(path+"second", secondValue)
	}
}

// toldYear reports whether a year was told or is next to that of a told date.
func (f *facts) toldYear(year int) bool {
	return f.isTold(float64(year)) || slices.ContainsFunc(f.days, func(base time.Time) bool {
		return year-base.Year() >= -1 && year-base.Year() <= 1
	})
}

func (f *facts) toldMonth(month time.Month) bool {
	return f.months[month] || f.isTold(float64(month)) || slices.ContainsFunc(f.days, func(base time.Time) bool {
		return (month-base.Month()+12)%12 <= 1 || (base.Month()-month+12)%12 <= 1
	})
}

// toldDay reports whether a date follows from what was told: it was said, it is near a told one,
// or as far from one as was said.
func (f *facts) toldDay(date time.Time) bool {
	for _, shift := range []int{0, -1, 1} {
		said := date.AddDate(0, 0, shift)
		if f.isTold(float64(said.Day())) && f.toldMonth(said.Month()) && f.toldYear(said.Year()) && (f.months[said.Month()] || len(f.days) > 0 || f.isTold(float64(said.Year()))) {
			return true
		}
	}
	return slices.ContainsFunc(f.days, func(base time.Time) bool {
		distance := int(math.Abs(date.Sub(base).Hours()) / 24)
		if distance <= near || distance <= month && f.weekdays[date.Weekday()] {
			return true
		}
		return slices.ContainsFunc(append([]float64{1}, f.spoken...), func(n float64) bool {
			if n != math.Trunc(n) || n > 1000 {
				return false
			}
			count := int(n)
			return distance == count || distance == 7*count ||
				date.Equal(base.AddDate(0, count, 0)) || date.Equal(base.AddDate(0, -count, 0)) ||
				date.Equal(base.AddDate(count, 0, 0)) || date.Equal(base.AddDate(-count, 0, 0))
		})
	})
}

// isHour reports whether an hour was told, in either half of the day.
func (f *facts) isHour(hour int) bool {
	return slices.ContainsFunc(f.spoken, func(n float64) bool {
		return n == math.Trunc(n) && n <= 24 && int(n)%12 == hour%12
	})
}

// toldClock reports whether a time of day was told, begins or ends a day, or is as far from a told
// one as was said. The clocks may change in between.
func (f *facts) toldClock(hour, minute int) bool {
	at := (hour*60 + minute) % halfDay
	switch {
	case hour < 0 || hour >= 24 || minute < 0 || minute >= 60:
		return false
	case hour == 0 && minute == 0, hour == 23 && minute == 59, f.clocks[at]:
		return true
	case f.isHour(hour) && (minute == 0 || f.isSpoken(float64(minute))):
		return true
	}
	bases := slices.Collect(maps.Keys(f.clocks))
	for _, n := range f.spoken {
		if n == math.Trunc(n) && n <= 24 {
			bases = append(bases, int(n)*60%halfDay)
		}
	}
	for _, told := range bases {
		for _, change := range []int{0, 60, -60} {
			distance := ((at-told+change)%halfDay + halfDay) % halfDay
			if distance > 0 && (f.isLength(distance) || f.isLength(halfDay-distance)) {
				return true
			}
		}
	}
	return false
}

// isLength reports whether a number of minutes was told, in minutes or hours or both.
func (f *facts) isLength(minutes int) bool {
	hours, rest := minutes/60, minutes%60
	minutesTold := rest == 0 || f.isSpoken(float64(rest))
	hoursTold := hours == 0 || hours == 1 && f.words["hour"] || f.isSpoken(float64(hours)) || rest == 0 && f.isSpoken(float64(hours+12))
	return f.isSpoken(float64(minutes)) || minutesTold && hoursTold
}

// toldSecond reports whether a second of a minute was told.
func (f *facts) toldSecond(second int) bool {
	return second == 0 || f.isTold(float64(second)) && (f.words["second"] || f.words["seconds"] || f.exactClocks)
}

// toldStamp reports whether POSIX seconds follow from what was told: the date and the time of day,
// the last second of a day, or the distance from a told time.
func (j *judge) toldStamp(stamp float64) bool {
	at := time.Unix(int64(stamp), 0).In(j.zone)
	if j.toldDay(time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)) &&
		(j.toldSecond(at.Second()) && j.toldClock(at.Hour(), at.Minute()) || at.Format(time.TimeOnly) == "23:59:59") {
		return true
	}
	return slices.ContainsFunc(j.stamps, func(base float64) bool {
		distance := math.Abs(stamp - base)
		for name, unit := range offsets {
			switch {
			case unit >= day && (distance == unit || distance+1 == unit), distance == unit && j.words[strings.TrimSuffix(name, "s")],
				unit > 1 && distance > 0 && j.isSpoken(distance/unit):
				return true
			}
		}
		return distance >= 60 && j.isSpoken(distance)
	})
}

// toldOffset reports whether a length of time follows from what was told, e.g. from two dates, two
// weekdays, or another unit. The sign does not count.
func (j *judge) toldOffset(name string, number float64) bool {
	unit, size := offsets[name], math.Abs(number)
	for _, told := range j.spoken {
		for _, other := range offsets {
			if length := told * other; length == size*unit || other > unit && math.Mod(length, other) != 0 && math.Mod(length, other) == size*unit {
				return true
			}
		}
		if rest := math.Mod(told, 60); (name == "minutes" || name == "seconds") && told > 60 && rest == size {
			return true // 90 minutes are one hour and 30 minutes
		}
	}
	switch name {
	case "hours":
		return size < 24 && (j.isHour(int(size)) || j.isClockHour(int(size)))
	case "minutes":
		return size < 60 && j.isClockMinute(int(size))
	case "days":
		return j.toldDays(size)
	}
	return false
}

// isClockHour reports whether a told time of day has an hour.
func (f *facts) isClockHour(hour int) bool {
	for minute := range 60 {
		if f.clocks[(hour*60+minute)%halfDay] {
			return true
		}
	}
	return false
}

// isClockMinute reports whether a told time of day has a minute.
func (f *facts) isClockMinute(minute int) bool {
	for at := range f.clocks {
		if at%60 == minute {
			return true
		}
	}
	return false
}

// toldDays reports whether a number of days lies between two told dates or weekdays.
func (f *facts) toldDays(count float64) bool {
	if count == near {
		return true
	}
	for _, a := range f.days {
		for _, b := range f.days {
			if math.Abs(a.Sub(b).Hours()) == 24*count {
				return true
			}
		}
	}
	for a := range f.weekdays {
		for b := range f.weekdays {
			if distance := math.Abs(float64(a - b)); count == distance || count == 7-distance {
				return true
			}
		}
	}
	return false
}
