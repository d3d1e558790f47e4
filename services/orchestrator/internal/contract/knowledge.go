package contract

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// knowledge is the facts that a user may state: those of its instructions, and those that were said or answered to it.
type knowledge struct {
	words  map[string]bool
	values map[string]bool // numbers without leading zeros
	digits string          // all digits, number by number, each followed by a blank
	clocks map[int]bool    // times of day, in minutes of the half day
}

const (
	hour    = 60
	halfDay = 12 * hour
	// localDigits are the digits by which two ways to write a phone number are known as one.
	localDigits = 7
	// shortestName is the shortest word that counts as a name.
	shortestName = 3
)

func newKnowledge() knowledge {
	return knowledge{words: make(map[string]bool), values: make(map[string]bool), clocks: make(map[int]bool)}
}

// learn adds the facts of a text.
func (k *knowledge) learn(text string) {
	list := words(text)
	for i, word := range list {
		k.words[word] = true
		if value, ok := numberWord(word); ok {
			k.number(strconv.Itoa(value))
			if i+1 < len(list) {
				k.pair(value, list[i+1])
			}
			if i > 1 {
				k.past(list[i-2], list[i-1], value)
			}
		}
		if value, err := strconv.Atoi(word); err == nil && i > 1 {
			k.past(list[i-2], list[i-1], value)
		}
		if month := slices.Index(months(), word); month >= 0 {
			k.values[strconv.Itoa(month+1)] = true
		}
		if word == "noon" || word == "midday" || word == "midnight" {
			k.clocks[0] = true
		}
	}
	for _, found := range numeral.FindAllStringIndex(text, -1) {
		written := text[found[0]:found[1]]
		k.number(digitsOf(written))
		for _, part := range parts(written) {
			k.values[part] = true
		}
		if minute, ok := clock(written, text[found[1]:]); ok {
			k.clocks[minute] = true
		}
	}
}

// number adds a number. One that can be an hour is one.
func (k *knowledge) number(digits string) {
	k.digits += digits + " "
	k.values[trimZeros(digits)] = true
	if value, err := strconv.Atoi(digits); err == nil && value <= 24 {
		k.clocks[value*hour%halfDay] = true
	}
}

// pair adds what two words for numbers mean together: twenty five, ten thirty.
func (k *knowledge) pair(first int, word string) {
	second, ok := numberWord(word)
	switch {
	case !ok:
	case first >= 20 && first%10 == 0 && second < 10:
		k.number(strconv.Itoa(first + second))
	case first <= 24 && second < hour:
		k.clocks[(first*hour+second)%halfDay] = true
	}
}

// past adds half past ten and its like.
func (k *knowledge) past(amount, relation string, at int) {
	minutes, ok := map[string]int{"half": 30, "quarter": 15}[amount]
	if !ok || at > 24 {
		return
	}
	if relation == "to" {
		minutes = halfDay - minutes
	}
	k.clocks[(at*hour+minutes)%halfDay] = true
}

// invented returns the first fact of a text that is not known.
func (k *knowledge) invented(text string) string {
	for _, found := range numeral.FindAllStringIndex(text, -1) {
		written := text[found[0]:found[1]]
		if !k.knowsNumber(written, text[found[1]:]) {
			return digitsOf(written)
		}
	}
	for _, address := range mail.FindAllString(text, -1) {
		for _, part := range words(address) {
			if !k.words[part] {
				return address
			}
		}
	}
	for _, name := range names(text) {
		if !k.knowsName(strings.ToLower(name)) {
			return name
		}
	}
	return ""
}

// knowsNumber says whether a number is known, however it is written. A single digit always is: people count.
func (k *knowledge) knowsNumber(written, rest string) bool {
	digits := digitsOf(written)
	if len(digits) <= 1 || strings.Contains(k.digits, digits) {
		return true
	}
	if whole, _, found := strings.Cut(zeros.ReplaceAllString(written, "|"), "|"); found && strings.Contains(k.digits, digitsOf(whole)) {
		return true
	}
	if len(digits) >= localDigits && strings.Contains(k.digits, digits[len(digits)-localDigits:]+" ") {
		return true
	}
	if minute, ok := clock(written, rest); ok && k.clocks[minute] {
		return true
	}
	split := parts(written)
	return len(split) > 1 && !slices.ContainsFunc(split, func(part string) bool { return len(part) > 1 && !k.values[part] })
}

// knowsName says whether a name is known, as it stands, shortened or with an ending.
func (k *knowledge) knowsName(name string) bool {
	if k.words[name] || slices.Contains(ordinary(), name) {
		return true
	}
	if month := slices.Index(months(), name); month >= 0 && k.values[strconv.Itoa(month+1)] {
		return true
	}
	const stem, ending = 4, 2
	for word := range k.words {
		long := len(word) >= stem && len(name)-len(word) <= ending
		if utf8.RuneCountInString(name) >= shortestName && strings.HasPrefix(word, name) || long && strings.HasPrefix(name, word) {
			return true
		}
	}
	return false
}

var (
	mail = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+`)
	// numeral is digits as people write them: 415-555 0199, (020) 7946, 7:30, 1,000.
	numeral = regexp.MustCompile(`\d(?:[\d().,:/ -]*\d)?`)
	// zeros are decimals that say nothing.
	zeros = regexp.MustCompile(`[.,]0+$`)
	// word is letters and digits; what follows an apostrophe belongs to it.
	word = regexp.MustCompile(`[\p{L}\p{N}]+(?:['’][\p{L}]+)?`)
	// ofDay is what follows the hour of a time.
	ofDay = regexp.MustCompile(`(?i)^\s*([ap]\.?m\b|o['’]clock|uhr\b|h\b)`)
	// clockTime is a time of day with minutes.
	clockTime = regexp.MustCompile(`^(\d{1,2})[:.](\d{2})$`)
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
	if err != nil || wrong != nil || h > 24 || m >= hour {
		return 0, false
	}
	return (h*hour + m) % halfDay, true
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

func months() []string {
	return []string{
		"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
	}
}

// ordinary returns words that are written with a capital and name nobody.
func ordinary() []string {
	return []string{
		"bluetooth", "celsius", "dad", "fahrenheit", "god", "grandma", "grandpa", "hello", "hey", "hmm", "internet", "mama", "miss", "mom", "mrs",
		"mum", "okay", "papa", "please", "sorry", "thank", "thanks", "wifi", "yeah", "yes",
	}
}

// names returns the words that are capital though no sentence begins with them.
func names(text string) []string {
	var list []string
	for _, span := range word.FindAllStringIndex(text, -1) {
		found := []rune(text[span[0]:span[1]])
		if len(found) >= shortestName && unicode.IsUpper(found[0]) && unicode.IsLower(found[1]) && !beginsSentence(text[:span[0]]) {
			list = append(list, strings.TrimSuffix(strings.TrimSuffix(string(found), "'s"), "’s"))
		}
	}
	return list
}

// beginsSentence says whether a sentence, a quotation or an item begins after a text: its first word is capital whatever it is.
func beginsSentence(before string) bool {
	trimmed := strings.TrimRightFunc(before, func(r rune) bool { return unicode.IsSpace(r) && r != '\n' })
	last, _ := utf8.DecodeLastRuneInString(trimmed)
	switch {
	case trimmed == "" || last == '\n':
		return true
	case unicode.IsLetter(last) || unicode.IsDigit(last) || strings.ContainsRune(",;'’/&%)@+_", last):
		return false
	case last == '-':
		return trimmed != before // a dash, not a hyphen
	}
	return true
}

// words returns the words of a text in lower case, possessives cut.
func words(text string) []string {
	list := word.FindAllString(strings.ToLower(text), -1)
	for i := range list {
		list[i] = strings.TrimSuffix(strings.TrimSuffix(list[i], "'s"), "’s")
	}
	return list
}
