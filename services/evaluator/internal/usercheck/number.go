package usercheck

import (
	"regexp"
	"strconv"
	"strings"
)

const (
	hour    = 60
	halfDay = 12 * hour
	lastDay = 24
	// digitRun is the number of consecutive digits in words that spell a number out.
	digitRun = 3
)

// mention is a number or a time of day in words, or a time whose hour is in digits.
type mention struct {
	span
	// digits are the digits of a number, empty for a time.
	digits string
	value  int
	// minute is the minute of the half day of a time.
	minute int
	clock  bool
	// hour is the text of the hour in a time, e.g. ten in half past ten. minutes is the text of the
	// minutes if they are a number.
	hour, minutes string
	// vague: the words may mean two numbers, e.g. two to four, or ten minutes before three.
	vague bool
}

// mentions returns the numbers and times in words. They do not overlap.
func mentions(list []token) []mention {
	var found []mention
	for i := 0; i < len(list); {
		m, n := timeOfDay(list[i:])
		if n == 0 {
			m, n = spelledNumber(list[i:])
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

// timeOfDay parses times such as half past ten, thirteen minutes to 7, ten past four, noon. n is
// the number of words.
func timeOfDay(list []token) (m mention, n int) {
	if at, ok := noonOrMidnight(list[0].word); ok {
		return mention{clock: true, minute: at % halfDay, hour: "12"}, 1
	}
	minutes, n := minutesOf(list)
	if n == 0 || n+1 >= len(list) {
		return mention{}, 0
	}
	named := list[n-1].word == "minutes" || list[n-1].word == "minute"
	if list[0].word != "half" && list[0].word != "quarter" {
		m.minutes = strconv.Itoa(minutes)
	}
	at, ok := hourWord(list[n+1].word)
	if !ok {
		return mention{}, 0
	}
	switch list[n].word {
	case "past":
	case "after":
		m.vague = named
	case "to", "till":
		m.vague, minutes = m.minutes != "" && !named, halfDay-minutes
	case "before":
		if !named {
			return mention{}, 0
		}
		m.vague, minutes = true, halfDay-minutes
	default:
		return mention{}, 0
	}
	m.clock, m.minute, m.hour = true, (at*hour+minutes)%halfDay, strconv.Itoa(at)
	return m, n + 2
}

// minutesOf parses the minutes at the beginning of a time: half, quarter, thirteen minutes, 20.
func minutesOf(list []token) (minutes, n int) {
	switch list[0].word {
	case "half":
		return 30, 1
	case "quarter":
		return 15, 1
	}
	minutes, n = amount(list)
	if value, err := strconv.Atoi(list[0].word); err == nil {
		minutes, n = value, 1
	}
	if n == 0 || minutes < 1 || minutes >= hour {
		return 0, 0
	}
	if n < len(list) && (list[n].word == "minutes" || list[n].word == "minute") {
		n++
	}
	return minutes, n
}

// hourWord parses an hour as a word or in digits.
func hourWord(word string) (at int, ok bool) {
	if at, ok = noonOrMidnight(word); ok {
		return at / hour, true
	}
	if value, err := strconv.Atoi(word); err == nil {
		return value, value <= lastDay
	}
	at, ok = numbers[word]
	return at, ok && at <= lastDay
}

// noonOrMidnight returns the minute of noon or midnight.
func noonOrMidnight(word string) (minute int, ok bool) {
	return halfDay, word == "noon" || word == "midday" || word == "midnight"
}

// spelledNumber parses a number digit by digit: four one five, oh, triple five.
func spelledNumber(list []token) (m mention, n int) {
	for n < len(list) {
		times, at := 1, n
		switch list[n].word {
		case "double":
			times, at = 2, n+1
		case "triple", "treble":
			times, at = 3, n+1
		}
		if at == len(list) {
			break
		}
		value, ok := numbers[list[at].word]
		if list[at].word == "oh" {
			value, ok = 0, true
		}
		if !ok || value > 9 {
			break
		}
		m.digits += strings.Repeat(strconv.Itoa(value), times)
		n = at + 1
	}
	if len(m.digits) < digitRun {
		return mention{}, 0
	}
	m.value = -1
	return m, n
}

// hourAndMinutes parses ten thirty as a time, and otherwise a number in words.
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

// amount parses a number in words such as twenty five or six hundred and forty.
func amount(list []token) (value, n int) {
	for n < len(list) {
		next, ok := numbers[list[n].word]
		switch {
		case !ok:
			if list[n].word == "and" && n > 0 && value >= 100 && value%100 == 0 && n+1 < len(list) {
				if _, more := numbers[list[n+1].word]; more {
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

// durations returns the durations of a text in other units, e.g. 30 minutes for half an hour.
func durations(text string) []string {
	var list []string
	lower := strings.ToLower(text)
	for _, length := range []struct {
		unit   string
		said   *regexp.Regexp
		number string
	}{
		{"hour", halfHour, "30"}, {"hour", quarterHour, "15"}, {"hour", quarterHours, "45"}, {"hour", hourAndHalf, "90"}, {"hour", oneHour, "60"},
		{"day", oneDay, "24"}, {"week", twoWeeks, "14"}, {"fortnight", twoWeeks, "14"}, {"dozen", twelve, "12"},
	} {
		if strings.Contains(lower, length.unit) && length.said.MatchString(text) {
			list = append(list, length.number)
		}
	}
	return list
}

var (
	halfHour     = phrase("half_hour")
	quarterHour  = phrase("quarter_hour")
	quarterHours = phrase("quarter_hours")
	hourAndHalf  = phrase("hour_and_half")
	oneHour      = phrase("one_hour")
	oneDay       = phrase("one_day")
	twoWeeks     = phrase("two_weeks")
	twelve       = phrase("twelve")
)

var (
	// numeral matches digits as people write them: 415-555 0199, (020) 7946, 7:30, 1,000.
	numeral = regexp.MustCompile(`\+?\(?\d(?:[\d().,:/ -]*\d)?`)
	// numberSeparator separates numbers. A space, hyphen or dot separates groups of a phone number.
	numberSeparator = regexp.MustCompile(`[,;]\s+|\s+[-/]\s+|\s+`)
	// severalNumbers matches a numeral that consists of several numbers.
	severalNumbers = regexp.MustCompile(`[,;:/]|\s-\s`)
	// decimal matches a number with decimals without trailing zeros.
	decimal = regexp.MustCompile(`^(\d+)[.,](\d*?)0*$`)
	// ofDay follows the hour of a time.
	ofDay = phrase("of_day")
	// clockTime matches a time of day with minutes and optional seconds.
	clockTime = regexp.MustCompile(`^(\d{1,2})(?:[:.](\d{2})|:(\d{2}):(\d{2}))$`)
	// atHour and afterHour surround an hour without minutes.
	atHour    = regexp.MustCompile(`(?i)\bat\s+$`)
	afterHour = phrase("after_hour")
)

// clock parses a time of day into minutes of the half day, and its seconds if there are any. rest
// follows written.
func clock(written, rest string) (minute int, seconds string, ok bool) {
	hours, minutes := written, "0"
	if found := clockTime.FindStringSubmatch(written); found != nil {
		hours, minutes, seconds = found[1], found[2]+found[3], found[4]
	} else if !ofDay.MatchString(rest) {
		return 0, "", false
	}
	h, err := strconv.Atoi(hours)
	m, parseErr := strconv.Atoi(minutes)
	if err != nil || parseErr != nil || h > lastDay || m >= hour {
		return 0, "", false
	}
	return (h*hour + m) % halfDay, seconds, true
}

// fraction returns the canonical spelling of a number with decimals: 12.5 for 12.50 and 12,5, and
// 12 for 12.00.
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

// parts returns the numbers of a numeral without leading zeros.
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
