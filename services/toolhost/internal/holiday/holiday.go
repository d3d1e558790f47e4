// Package holiday computes the federal holidays of the United States, including observed days, with
// the results of python-holidays 0.51. It also searches a holiday by name.
//
// All functions are pure and safe for concurrent use.
package holiday

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/ported/fuzzy"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/clock"
)

const (
	// firstYear is the first year with federal holidays. lastYear is the last year whose next year is
	// in Python's range.
	firstYear = 1871
	lastYear  = 9998

	// cutoff is the score, of 100, above which a name matches.
	cutoff = 90.0
)

// Day is one holiday.
type Day struct {
	Date time.Time // at midnight, UTC
	Name string
}

// Search implements search_holiday: it returns the timestamp, a float, at which the best matching
// holiday starts in the zone, or None. Of equal matches it returns the last. year is an int or bool
// of any size, or None for the current year. now is in POSIX seconds. The error is an OverflowError
// or a ValueError for a year that is too large.
func Search(zone clock.Zone, now float64, name string, year python.Value) (python.Value, error) {
	number, err := resolveYear(zone, now, year)
	if err != nil {
		return python.Value{}, err
	}
	days, err := Federal(number)
	if err != nil {
		return python.Value{}, err
	}
	query := fuzzy.Prepare(name)
	var found Day
	best := cutoff
	for _, day := range days {
		score := fuzzy.PartialRatio(query, fuzzy.Prepare(day.Name))
		if order := cmp.Compare(score, best); order > 0 || order == 0 && score > cutoff && day.Date.After(found.Date) {
			found, best = day, score
		}
	}
	if best == cutoff {
		return python.None(), nil
	}
	return zone.Midnight(found.Date.Year(), found.Date.Month(), found.Date.Day())
}

// resolveYear returns the year to search. All years before firstYear give the same result.
func resolveYear(zone clock.Zone, now float64, year python.Value) (int, error) {
	if year.IsNone() {
		return zone.Year(now)
	}
	if whole, ok := year.AsBigInt(); ok && whole.Cmp(big.NewInt(firstYear)) < 0 {
		return 0, nil
	}
	return clock.Int32(year)
}

// Names returns the names of the holidays of a recent year, each once.
func Names() []string {
	c := calendar{year: 2025}
	c.addFixed()
	c.addMovable()
	var names []string
	for _, day := range c.days {
		if !slices.Contains(names, day.Name) {
			names = append(names, day.Name)
		}
	}
	return names
}

// Federal returns the holidays of a year in the original's order, none before 1871. The error is a
// ValueError for years from 9999.
func Federal(year int) ([]Day, error) {
	if year < firstYear {
		return nil, nil
	}
	if year > lastYear {
		return nil, &python.Exception{Type: "ValueError", Text: "year " + strconv.Itoa(max(year, lastYear+2)) + " is out of range"}
	}
	c := calendar{year: year}
	c.addFixed()
	c.addMovable()
	return c.days, nil
}
