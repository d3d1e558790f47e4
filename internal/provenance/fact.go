package provenance

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/numeral"
	"github.com/toolsandbox/toolsandbox/python"
)

const (
	// summands is the number of the last told numbers that sums use.
	summands = 128
	// maxNumbers, maxSpoken and maxMoments bound the told numbers, those in texts, and times. A
	// conversation with more is full: what it told later is unknown.
	maxNumbers, maxSpoken, maxMoments = 4096, 512, 128
	// small is the largest whole number that is not judged without the tools' descriptions.
	small = 12
	// firstStamp and lastStamp bound the numbers that are POSIX seconds.
	firstStamp, lastStamp = 1e8, 1e11
)

// facts are the facts that were told.
type facts struct {
	full        bool // more was told than is kept
	strict      bool // whole numbers up to small are judged
	words       map[string]bool
	text        strings.Builder // all texts, in lower case without marks
	numbers     []float64       // without sign
	spoken      []float64       // those in texts
	phones      []string        // digits of the numbers in texts
	returned    map[string]bool // texts that tools returned, and their digits
	clocks      map[int]bool    // times of day, in minutes of the half day
	exactClocks bool            // a time of day was told to the second
	stamps      []float64       // POSIX seconds
	days        []time.Time     // dates, at midnight in UTC
	weekdays    map[time.Weekday]bool
	months      map[time.Month]bool
}

func newFacts() facts {
	return facts{words: make(map[string]bool), returned: make(map[string]bool), clocks: make(map[int]bool), weekdays: make(map[time.Weekday]bool), months: make(map[time.Month]bool)}
}

var (
	// numberForm matches a number as people write it, with its sign left out.
	numberForm = regexp.MustCompile(`\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?`)
	// groupForm matches digits in groups, such as (415) 555-0177.
	groupForm = regexp.MustCompile(`\(?\d(?:[\d() ./-]*\d)?`)
	// clockForm matches a time of day with minutes or half of the day.
	clockForm = regexp.MustCompile(`(?i)\b(\d{1,2})(?:[:.h](\d{2}))?(:\d{2})?\s*([ap]\.?m\b)?`)
	// arcForm matches an angle in degrees, minutes and seconds.
	arcForm = regexp.MustCompile(`(\d+)\s*°\s*(\d+)\s*['′]\s*(?:(\d+(?:\.\d+)?)\s*["″])?`)
	// dateForm matches a date in digits, the year first.
	dateForm = regexp.MustCompile(`\b(\d{4})-(\d{2})-(\d{2})\b`)
)

// learnText adds the facts of a text.
func (f *facts) learnText(text string) {
	f.text.WriteString(fold(text) + "\n")
	tokens := numeral.Tokens(text)
	for i, token := range tokens {
		f.learnWord(token.Word)
		scale, ok := numeral.Scale(token.Word)
		if !ok || i == 0 {
			continue
		}
		if at := numberForm.FindAllStringIndex(text[:token.Start], -1); len(at) > 0 && strings.TrimSpace(text[at[len(at)-1][1]:token.Start]) == "" {
			f.learnAmount(parseNumber(text[at[len(at)-1][0]:at[len(at)-1][1]]) * float64(scale))
		}
	}
	for _, m := range numeral.Mentions(tokens) {
		f.learnMention(m)
	}
	for _, written := range numberForm.FindAllString(text, -1) {
		f.learnAmount(parseNumber(written))
	}
	for _, group := range groupForm.FindAllString(text, -1) {
		f.phones = append(f.phones, numeral.Digits(group))
	}
	for _, found := range clockForm.FindAllStringSubmatch(text, -1) {
		if found[2]+found[4] != "" {
			f.exactClocks = f.exactClocks || found[3] != ""
			f.learnClock(atoi(found[1]), atoi(found[2]))
		}
	}
	for _, found := range arcForm.FindAllStringSubmatch(text, -1) {
		f.learnAmount(parseNumber(found[1]) + parseNumber(found[2])/60 + parseNumber(found[3])/3600)
	}
	for _, found := range dateForm.FindAllStringSubmatch(text, -1) {
		f.learnDay(atoi(found[1]), time.Month(atoi(found[2])), atoi(found[3]))
	}
}

// parts are the numbers that words mean beside those of numeral.
var parts = map[string][]float64{
	"half": {0.5, 30}, "quarter": {0.25, 15, 3}, "quarters": {0.75, 45, 9}, "dozen": {12}, "couple": {2}, "pair": {2}, "both": {2}, "twice": {2},
	"double": {2}, "fortnight": {2, 14}, "midnight": {0, 12}, "noon": {12}, "midday": {12}, "leap": {29, 2},
}

// learnWord adds a word, and the number, weekday or month that it is.
func (f *facts) learnWord(word string) {
	f.words[numeral.FoldMarks(word)], f.words[numeral.FoldUmlauts(word)] = true, true
	for _, number := range parts[word] {
		f.learnAmount(number)
	}
	for day := time.Sunday; day <= time.Saturday; day++ {
		if isShort(word, strings.ToLower(day.String())) {
			f.weekdays[day] = true
		}
	}
	for month := time.January; month <= time.December; month++ {
		if isShort(word, strings.ToLower(month.String())) {
			f.months[month] = true
		}
	}
}

// isShort reports whether a word is a name, its plural, or its first three letters.
func isShort(word, name string) bool {
	return strings.TrimSuffix(word, "s") == strings.TrimSuffix(name, "s") || word == name[:3]
}

// learnMention adds a number or a time in words.
func (f *facts) learnMention(m numeral.Mention) {
	if m.Clock {
		f.clocks[m.Minute] = true
		f.learnAmount(parseNumber(m.Hour))
		f.learnAmount(parseNumber(m.Minutes))
		return
	}
	f.phones = append(f.phones, m.Digits)
	f.learnAmount(parseNumber(m.Digits))
}

// learnNumber adds a number of a tool's answer.
func (f *facts) learnNumber(number float64, zone *time.Location) {
	f.addNumber(&f.numbers, number, maxNumbers)
	if number < firstStamp || number > lastStamp {
		return
	}
	if len(f.stamps) == maxMoments {
		f.full = true
		return
	}
	f.stamps = append(f.stamps, number)
	at := time.Unix(int64(number), 0).In(zone)
	f.learnDay(at.Year(), at.Month(), at.Day())
	f.learnClock(at.Hour(), at.Minute())
}

// learnAmount adds a number of a text.
func (f *facts) learnAmount(number float64) {
	f.addNumber(&f.spoken, number, maxSpoken)
	f.addNumber(&f.numbers, number, maxNumbers)
}

// addNumber adds a number without its sign to a list with a bound.
func (f *facts) addNumber(list *[]float64, number float64, bound int) {
	switch number = math.Abs(number); {
	case f.full || slices.Contains(*list, number):
	case len(*list) == bound:
		f.full = true
	default:
		*list = append(*list, number)
	}
}

func (f *facts) learnClock(hour, minute int) {
	if hour <= 24 && minute < 60 {
		f.clocks[(hour*60+minute)%halfDay] = true
	}
}

func (f *facts) learnDay(year int, month time.Month, day int) {
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if len(f.days) < maxMoments && !slices.Contains(f.days, date) {
		f.days = append(f.days, date)
	}
	f.weekdays[date.Weekday()] = true
}

// learnMoment adds the date and the time of day of an object with such fields.
func (f *facts) learnMoment(dict *python.Dict) {
	field := func(name string) (int, bool) {
		value, ok := dict.Get(name)
		if !ok {
			return 0, false
		}
		number, ok := numberOf(value)
		return int(number), ok
	}
	year, isDate := field("year")
	month, hasMonth := field("month")
	day, hasDay := field("day")
	if isDate && hasMonth && hasDay {
		f.learnDay(year, time.Month(month), day)
	}
	second, _ := field("second")
	f.exactClocks = f.exactClocks || second != 0
	hour, hasHour := field("hour")
	if minute, ok := field("minute"); ok && hasHour {
		f.learnClock(hour, minute)
	}
}

// fold returns a text in lower case without marks on its letters.
func fold(text string) string { return numeral.FoldMarks(strings.ToLower(text)) }

// parseNumber returns the value of a written number, 0 for none.
func parseNumber(written string) float64 {
	value, err := strconv.ParseFloat(strings.ReplaceAll(written, ",", ""), 64)
	if err != nil {
		return 0
	}
	return value
}

func atoi(written string) int { return int(parseNumber(written)) }
