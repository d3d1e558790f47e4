// Package numeral reads numbers and times of day in words, and the words of a text. It knows
// English.
package numeral

import (
	_ "embed"
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

//go:embed words.txt
var wordFile string

// wordValues are the values of number words. An invalid file panics, because it is part of the
// program.
var wordValues = readValues(wordFile)

func readValues(text string) map[string]int {
	found := make(map[string]int)
	for line := range strings.Lines(text) {
		list := strings.Fields(line)
		value, err := strconv.Atoi(list[0])
		if err != nil {
			panic("numeral: words.txt: " + err.Error())
		}
		for _, word := range list[1:] {
			found[word] = value
		}
	}
	return found
}

// Scale returns the value of a word that multiplies the number before it, such as thousand.
func Scale(word string) (value int, ok bool) {
	value = wordValues[word]
	return value, value >= 100
}

// Mention is a number or a time of day in words, or a time whose hour is in digits.
type Mention struct {
	Span
	// Digits are the digits of a number, empty for a time.
	Digits string
	Value  int
	// Minute is the minute of the half day of a time.
	Minute int
	Clock  bool
	// Hour is the text of the hour in a time, e.g. ten in half past ten. Minutes is the text of the
	// minutes if they are a number.
	Hour, Minutes string
	// Vague: the words may mean two numbers, e.g. two to four, or ten minutes before three.
	Vague bool
}

// Mentions returns the numbers and times in words. They do not overlap.
func Mentions(list []Token) []Mention {
	var found []Mention
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
		m.Start, m.End = list[i].Start, list[i+n-1].End
		found = append(found, m)
		i += n
	}
	return found
}

// timeOfDay parses times such as half past ten, thirteen minutes to 7, ten past four, noon. n is
// the number of words.
func timeOfDay(list []Token) (m Mention, n int) {
	if at, ok := noonOrMidnight(list[0].Word); ok {
		return Mention{Clock: true, Minute: at % halfDay, Hour: "12"}, 1
	}
	minutes, n := minutesOf(list)
	if n == 0 || n+1 >= len(list) {
		return Mention{}, 0
	}
	named := list[n-1].Word == "minutes" || list[n-1].Word == "minute"
	if list[0].Word != "half" && list[0].Word != "quarter" {
		m.Minutes = strconv.Itoa(minutes)
	}
	at, ok := hourWord(list[n+1].Word)
	if !ok {
		return Mention{}, 0
	}
	switch list[n].Word {
	case "past":
	case "after":
		m.Vague = named
	case "to", "till":
		m.Vague, minutes = m.Minutes != "" && !named, halfDay-minutes
	case "before":
		if !named {
			return Mention{}, 0
		}
		m.Vague, minutes = true, halfDay-minutes
	default:
		return Mention{}, 0
	}
	m.Clock, m.Minute, m.Hour = true, (at*hour+minutes)%halfDay, strconv.Itoa(at)
	return m, n + 2
}

// minutesOf parses the minutes at the beginning of a time: half, quarter, thirteen minutes, 20.
func minutesOf(list []Token) (minutes, n int) {
	switch list[0].Word {
	case "half":
		return 30, 1
	case "quarter":
		return 15, 1
	}
	minutes, n = amount(list)
	if value, err := strconv.Atoi(list[0].Word); err == nil {
		minutes, n = value, 1
	}
	if n == 0 || minutes < 1 || minutes >= hour {
		return 0, 0
	}
	if n < len(list) && (list[n].Word == "minutes" || list[n].Word == "minute") {
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
	at, ok = wordValues[word]
	return at, ok && at <= lastDay
}

// noonOrMidnight returns the minute of noon or midnight.
func noonOrMidnight(word string) (minute int, ok bool) {
	return halfDay, word == "noon" || word == "midday" || word == "midnight"
}

// spelledNumber parses a number digit by digit: four one five, oh, triple five.
func spelledNumber(list []Token) (m Mention, n int) {
	for n < len(list) {
		times, at := 1, n
		switch list[n].Word {
		case "double":
			times, at = 2, n+1
		case "triple", "treble":
			times, at = 3, n+1
		}
		if at == len(list) {
			break
		}
		value, ok := wordValues[list[at].Word]
		if list[at].Word == "oh" {
			value, ok = 0, true
		}
		if !ok || value > 9 {
			break
		}
		m.Digits += strings.Repeat(strconv.Itoa(value), times)
		n = at + 1
	}
	if len(m.Digits) < digitRun {
		return Mention{}, 0
	}
	m.Value = -1
	return m, n
}

// hourAndMinutes parses ten thirty as a time, and otherwise a number in words.
func hourAndMinutes(list []Token) (m Mention, n int) {
	value, n := amount(list)
	if n == 0 {
		return Mention{}, 0
	}
	if value <= lastDay && n < len(list) {
		if minutes, more := amount(list[n:]); more > 0 && minutes >= 10 && minutes < hour {
			return Mention{Clock: true, Minute: (value*hour + minutes) % halfDay, Hour: strconv.Itoa(value)}, n + more
		}
	}
	digits := strconv.Itoa(value)
	if n+1 < len(list) && list[n].Word == "point" {
		if decimals, more := digitWords(list[n+1:]); more > 0 {
			return Mention{Digits: digits + "." + decimals, Value: value}, n + 1 + more
		}
	}
	if rest := list[n:]; len(rest) > 2 && rest[0].Word == "and" && rest[1].Word == "a" && rest[2].Word == "half" {
		if scale, ok := Scale(list[n-1].Word); ok {
			value += scale / 2
			return Mention{Digits: strconv.Itoa(value), Value: value}, n + 3
		}
		return Mention{Digits: digits + ".5", Value: value}, n + 3
	}
	return Mention{Digits: digits, Value: value}, n
}

// digitWords parses the decimals after a point: three, or two five.
func digitWords(list []Token) (digits string, n int) {
	for ; n < len(list); n++ {
		value, ok := wordValues[list[n].Word]
		if !ok || value > 9 {
			break
		}
		digits += strconv.Itoa(value)
	}
	return digits, n
}

// amount parses a number in words such as twenty five or six hundred and forty.
func amount(list []Token) (value, n int) {
	for n < len(list) {
		next, ok := wordValues[list[n].Word]
		switch {
		case !ok:
			if list[n].Word == "and" && n > 0 && value >= 100 && value%100 == 0 && n+1 < len(list) {
				if _, more := wordValues[list[n+1].Word]; more {
					n++
					continue
				}
			}
			return value, n
		case n == 0:
			value = next
		case next >= 100 && value < next:
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
