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

// durations returns the durations of a text in other units, e.g. 30 minutes for half an hour.
func durations(text string) []string {
	var list []string
	lower := strings.ToLower(text)
	for _, length := range []struct {
		unit   string
		said   func() *regexp.Regexp
		number string
	}{
		{"hour", halfHour, "30"}, {"hour", quarterHour, "15"}, {"hour", quarterHours, "45"}, {"hour", hourAndHalf, "90"}, {"hour", oneHour, "60"},
		{"day", oneDay, "24"}, {"week", twoWeeks, "14"}, {"fortnight", twoWeeks, "14"}, {"dozen", twelve, "12"},
	} {
		if strings.Contains(lower, length.unit) && length.said().MatchString(text) {
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
	// numeralForm matches digits as people write them: 415-555 0199, (020) 7946, 7:30, 1,000.
	numeralForm = regexp.MustCompile(`\+?\(?\d(?:[\d().,:/ -]*\d)?`)
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
	} else if !ofDay().MatchString(rest) {
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
