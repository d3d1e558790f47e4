package contract

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	hour    = 60
	halfDay = 12 * hour
	lastDay = 24
	// digitRun is how many digits in words, one after the other, are a number that is spelled out.
	digitRun = 3
)

// mention is a number or a time of day in words, or a time whose hour is in digits.
type mention struct {
	span
	// digits are those of the number; empty for a time.
	digits string
	value  int
	// minute of the half day, for a time.
	minute int
	clock  bool
	// hour is what an hour is called in a time that is told by it: ten, in half past ten.
	hour string
}

// mentions returns what stands in words. Nothing is part of two.
func mentions(list []token) []mention {
	var found []mention
	for i := 0; i < len(list); {
		m, n := timeOfDay(list[i:])
		if n == 0 {
			m, n = spelled(list[i:])
		}
		if n == 0 {
			m, n = hourAndMinutes(list[i:])
		}
		if n == 0 {
			i++
			continue
		}
		m.start, m.end = list[i].start, list[i+n-1].end
		found = append(found, m)
		i += n
	}
	return found
}

// timeOfDay reads half past ten, quarter to 9, ten past four, noon. n is how many words that are.
func timeOfDay(list []token) (m mention, n int) {
	if list[0].word == "noon" || list[0].word == "midday" || list[0].word == "midnight" {
		return mention{clock: true, hour: "12"}, 1
	}
	if len(list) < 3 {
		return mention{}, 0
	}
	minutes, ok := map[string]int{"half": 30, "quarter": 15}[list[0].word]
	if value, isNumber := numberWord(list[0].word); isNumber && list[1].word == "past" {
		minutes, ok = value, true
	}
	at, isHour := numberWord(list[2].word)
	if value, err := strconv.Atoi(list[2].word); err == nil {
		at, isHour = value, true
	}
	if !ok || !isHour || at > lastDay {
		return mention{}, 0
	}
	switch list[1].word {
	case "past", "after":
	case "to":
		minutes = halfDay - minutes
	default:
		return mention{}, 0
	}
	return mention{clock: true, minute: (at*hour + minutes) % halfDay, hour: strconv.Itoa(at)}, 3
}

// spelled reads a number digit by digit: four one five.
func spelled(list []token) (m mention, n int) {
	for _, t := range list {
		value, ok := numberWord(t.word)
		if t.word == "oh" {
			value, ok = 0, true
		}
		if !ok || value > 9 {
			break
		}
		m.digits += strconv.Itoa(value)
		n++
	}
	if n < digitRun {
		return mention{}, 0
	}
	m.value = -1
	return m, n
}

// hourAndMinutes reads ten thirty as a time, and a number in words otherwise.
func hourAndMinutes(list []token) (m mention, n int) {
	value, n := amount(list)
	if n == 0 {
		return mention{}, 0
	}
	if value <= lastDay && n < len(list) {
		if minutes, more := amount(list[n:]); more > 0 && minutes >= 10 && minutes < hour {
			return mention{clock: true, minute: (value*hour + minutes) % halfDay, hour: strconv.Itoa(value)}, n + more
		}
	}
	digits := strconv.Itoa(value)
	if rest := list[n:]; len(rest) > 2 && rest[0].word == "and" && rest[1].word == "a" && rest[2].word == "half" {
		return mention{digits: digits + ".5", value: value}, n + 3
	}
	return mention{digits: digits, value: value}, n
}

// amount reads a number in words, as twenty five or six hundred and forty.
func amount(list []token) (value, n int) {
	for n < len(list) {
		next, ok := numberWord(list[n].word)
		switch {
		case !ok:
			if list[n].word == "and" && n > 0 && value >= 100 && value%100 == 0 && n+1 < len(list) {
				if _, more := numberWord(list[n+1].word); more {
					n++
					continue
				}
			}
			return value, n
		case n == 0:
			value = next
		case next == 100 && value < 100, next == 1000 && value < 1000:
			value *= next
		case value%100 == 0 && value > 0 && next < 100, value%100 >= 20 && value%10 == 0 && next > 0 && next < 10:
			value += next
		default:
			return value, n
		}
		n++
	}
	return value, n
}

// numberWord returns what a word for a number means.
func numberWord(word string) (value int, ok bool) {
	for _, list := range [][]string{
		{
			"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
			"fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
		},
		{
			"zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
			"thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth",
		},
	} {
		if i := slices.Index(list, word); i >= 0 {
			return i, true
		}
	}
	value, ok = map[string]int{
		"thirty": 30, "thirtieth": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100, "thousand": 1000,
	}[word]
	return value, ok
}

// lengths returns what spans of time in a text are in other numbers, as half an hour is 30 minutes.
func lengths(text string) []string {
	var list []string
	for _, length := range []struct {
		said   *regexp.Regexp
		number string
	}{
		{halfHour, "30"}, {quarterHour, "15"}, {quarterHours, "45"}, {hourAndHalf, "90"}, {oneHour, "60"}, {oneDay, "24"}, {twoWeeks, "14"}, {twelve, "12"},
	} {
		if length.said.MatchString(text) {
			list = append(list, length.number)
		}
	}
	return list
}

var (
	halfHour     = regexp.MustCompile(`(?i)\bhalf an hour\b`)
	quarterHour  = regexp.MustCompile(`(?i)\bquarter of an hour\b`)
	quarterHours = regexp.MustCompile(`(?i)\bthree[ -]quarters of an hour\b`)
	hourAndHalf  = regexp.MustCompile(`(?i)\b(hour and a half|one and a half hours|1\.5 hours)\b`)
	oneHour      = regexp.MustCompile(`(?i)\b(an|one) hour\b`)
	oneDay       = regexp.MustCompile(`(?i)\b(a|one) day\b`)
	twoWeeks     = regexp.MustCompile(`(?i)\b(two weeks|fortnight)\b`)
	twelve       = regexp.MustCompile(`(?i)\bdozen\b`)
)

var (
	// numeral is digits as people write them: 415-555 0199, (020) 7946, 7:30, 1,000.
	numeral = regexp.MustCompile(`\+?\(?\d(?:[\d().,:/ -]*\d)?`)
	// apart is what stands between numbers of their own. Groups of a phone number are set apart by a blank, a hyphen or a dot.
	apart = regexp.MustCompile(`[,;]\s+|\s+[-/]\s+|\s+`)
	// listed says that a numeral is several numbers.
	listed = regexp.MustCompile(`[,;:/]|\s-\s`)
	// decimal is a number with decimals, those at the end that say nothing left out.
	decimal = regexp.MustCompile(`^(\d+)[.,](\d*?)0*$`)
	// ofDay is what follows the hour of a time.
	ofDay = regexp.MustCompile(`(?i)^\s*([ap]\.?m\b|o['’]clock|uhr\b|h\b)`)
	// clockTime is a time of day with minutes.
	clockTime = regexp.MustCompile(`^(\d{1,2})[:.](\d{2})$`)
	// atHour and afterHour stand around an hour that nothing else follows.
	atHour    = regexp.MustCompile(`(?i)\bat\s+$`)
	afterHour = regexp.MustCompile(`(?i)^\s*([.,;!?)]|$|(tomorrow|today|tonight|sharp|please|then|instead)\b|(on|in the)\s)`)
)

// clock reads a time of day as minutes of the half day; rest follows what is written.
func clock(written, rest string) (minute int, ok bool) {
	hours, minutes := written, "0"
	if found := clockTime.FindStringSubmatch(written); found != nil {
		hours, minutes = found[1], found[2]
	} else if !ofDay.MatchString(rest) {
		return 0, false
	}
	h, err := strconv.Atoi(hours)
	m, wrong := strconv.Atoi(minutes)
	if err != nil || wrong != nil || h > lastDay || m >= hour {
		return 0, false
	}
	return (h*hour + m) % halfDay, true
}

// fraction returns a number with decimals as every way to write it has it: 12.50 and 12,5 are 12.5, and 12.00 is 12.
func fraction(written string) (canonical string, ok bool) {
	found := decimal.FindStringSubmatch(written)
	if found == nil {
		return "", false
	}
	if found[2] == "" {
		return trimZeros(found[1]), true
	}
	return trimZeros(found[1]) + "." + found[2], true
}

func digitsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
}

// parts returns the numbers that a numeral is made of, without leading zeros.
func parts(written string) []string {
	list := strings.FieldsFunc(written, func(r rune) bool { return r < '0' || r > '9' })
	for i := range list {
		list[i] = trimZeros(list[i])
	}
	return list
}

func trimZeros(digits string) string {
	if trimmed := strings.TrimLeft(digits, "0"); trimmed != "" {
		return trimmed
	}
	return "0"
}
