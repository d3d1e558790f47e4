package holiday

import "time"

const (
	observed = " (observed)"

	// uniformMonday is the first year in which several holidays are on Mondays.
	uniformMonday = 1971
)

// calendar holds the holidays of a year.
type calendar struct {
	year int
	days []Day
}

// addFixed adds the first part of the list. Most of these holidays have an observed day.
func (c *calendar) addFixed() {
	c.addObserved(time.January, 1, "New Year's Day")
	c.addSubstitute(time.Date(c.year+1, time.January, 1, 0, 0, 0, 0, time.UTC), "New Year's Day")
	if c.year >= uniformMonday {
		c.addLastWeekday(time.May, time.Monday, "Memorial Day")
	} else if c.year >= 1888 {
		c.add(c.date(time.May, 30), "Memorial Day")
	}
	if c.year >= 2021 {
		c.addObserved(time.June, 19, "Juneteenth National Independence Day")
	}
	c.addObserved(time.July, 4, "Independence Day")
	if c.year >= 1894 {
		c.addNthWeekday(1, time.September, time.Monday, "Labor Day")
	}
	switch {
	case c.year >= uniformMonday && c.year <= 1977:
		c.addNthWeekday(4, time.October, time.Monday, "Veterans Day")
	case c.year >= 1954:
		c.addObserved(time.November, 11, "Veterans Day")
	case c.year >= 1938:
		c.addObserved(time.November, 11, "Armistice Day")
	}
	c.addNthWeekday(4, time.November, time.Thursday, "Thanksgiving")
	c.addObserved(time.December, 25, "Christmas Day")
}

// addMovable adds the second part of the list. These holidays have no observed day.
func (c *calendar) addMovable() {
	if c.year >= 1986 {
		c.addNthWeekday(3, time.January, time.Monday, "Martin Luther King Jr. Day")
	}
	if c.year >= uniformMonday {
		c.addNthWeekday(3, time.February, time.Monday, "Washington's Birthday")
	} else if c.year >= 1879 {
		c.add(c.date(time.February, 22), "Washington's Birthday")
	}
	if c.year >= uniformMonday {
		c.addNthWeekday(2, time.October, time.Monday, "Columbus Day")
	} else if c.year >= 1937 {
		c.add(c.date(time.October, 12), "Columbus Day")
	}
}

func (c *calendar) date(month time.Month, day int) time.Time {
	return time.Date(c.year, month, day, 0, 0, 0, 0, time.UTC)
}

func (c *calendar) add(date time.Time, name string) {
	c.days = append(c.days, Day{Date: date, Name: name})
}

// addObserved adds a holiday and its observed day.
func (c *calendar) addObserved(month time.Month, day int, name string) {
	date := c.date(month, day)
	c.add(date, name)
	c.addSubstitute(date, name)
}

// addSubstitute adds the observed day of a holiday on a weekend if that day is in the calendar's
// year.
func (c *calendar) addSubstitute(date time.Time, name string) {
	switch date.Weekday() {
	case time.Saturday:
		date = date.AddDate(0, 0, -1)
	case time.Sunday:
		date = date.AddDate(0, 0, 1)
	default:
		return
	}
	if date.Year() == c.year {
		c.add(date, name+observed)
	}
}

// addNthWeekday adds the n-th occurrence of a weekday in a month.
func (c *calendar) addNthWeekday(n int, month time.Month, weekday time.Weekday, name string) {
	first := c.date(month, 1)
	skip := (int(weekday-first.Weekday()) + 7) % 7
	c.add(first.AddDate(0, 0, skip+7*(n-1)), name)
}

// addLastWeekday adds the last occurrence of a weekday in a month.
func (c *calendar) addLastWeekday(month time.Month, weekday time.Weekday, name string) {
	end := c.date(month+1, 0)
	skip := (int(end.Weekday()-weekday) + 7) % 7
	c.add(end.AddDate(0, 0, -skip), name)
}
