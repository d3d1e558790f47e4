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
	digits string          // all digits, number by number, each between blanks
	clocks map[int]bool    // times of day, in minutes of the half day
}

const (
	// localDigits are the digits by which two ways to write a phone number are known as one.
	localDigits = 7
	// partDigits are as many digits as are known if they stand anywhere in a number; fewer have to begin or end it.
	partDigits = 3
	// shortestName is the shortest word that counts as a name.
	shortestName = 3
	// dozen is the largest number in words that people say without meaning a fact.
	dozen = 12
)

func newKnowledge() knowledge {
	return knowledge{words: make(map[string]bool), values: make(map[string]bool), clocks: make(map[int]bool), digits: " "}
}

// learn adds the facts of a text.
func (k *knowledge) learn(text string) {
	list := tokens(text)
	for _, t := range list {
		k.words[t.word] = true
		if month := slices.Index(months(), t.word); month >= 0 {
			k.values[strconv.Itoa(month+1)] = true
		}
	}
	for _, m := range mentions(list) {
		if m.clock {
			k.clocks[m.minute] = true
			k.values[m.hour] = true
			continue
		}
		if strings.Contains(m.digits, ".") {
			k.values[m.digits], k.values[strconv.Itoa(m.value)] = true, true
			continue
		}
		k.number(m.digits)
	}
	for _, number := range lengths(text) {
		k.number(number)
	}
	for _, found := range numeral.FindAllStringIndex(text, -1) {
		written := text[found[0]:found[1]]
		k.number(digitsOf(written))
		for _, part := range parts(written) {
			k.values[part] = true
		}
		for _, piece := range pieces(text, found) {
			if canonical, ok := fraction(text[piece.start:piece.end]); ok {
				k.values[canonical] = true
			}
			if minute, ok := clock(text[piece.start:piece.end], text[piece.end:]); ok {
				k.clocks[minute] = true
			}
		}
	}
}

// number adds a number. One that can be an hour is one.
func (k *knowledge) number(digits string) {
	k.digits += digits + " "
	k.values[trimZeros(digits)] = true
	if value, err := strconv.Atoi(digits); err == nil && value <= lastDay {
		k.clocks[value*hour%halfDay] = true
	}
}

// pieces returns what of a numeral at a place in a text stands for itself.
func pieces(text string, at []int) []span {
	var list []span
	written, start := text[at[0]:at[1]], 0
	for _, gap := range append(apart.FindAllStringIndex(written, -1), []int{len(written), len(written)}) {
		piece := strings.Trim(written[start:gap[0]], ".,;:")
		from := at[0] + start + strings.Index(written[start:gap[0]], piece)
		if piece != "" {
			list = append(list, span{from, from + len(piece)})
		}
		start = gap[1]
	}
	return list
}

// invented returns the first fact of a text that is not known. asked says that the other side wants a name.
func (k *knowledge) invented(text string, asked bool) string {
	first, found := span{}, false
	keep := func(at span, ok bool) {
		if ok && (!found || at.start < first.start) {
			first, found = at, true
		}
	}
	keep(k.inventedNumber(text))
	for _, at := range mail.FindAllStringIndex(text, -1) {
		known := !slices.ContainsFunc(words(text[at[0]:at[1]]), func(part string) bool { return !k.words[part] })
		keep(span{at[0], at[1]}, !known)
	}
	for _, at := range names(text, asked) {
		keep(at, !k.knowsName(strings.ToLower(text[at.start:at.end])))
	}
	return text[first.start:first.end]
}

// inventedNumber returns the first number or time that is not known.
func (k *knowledge) inventedNumber(text string) (first span, found bool) {
	said := mentions(tokens(text))
	for _, m := range said {
		if !k.knowsMention(text, m) {
			first, found = m.span, true
			break
		}
	}
	for _, at := range numeral.FindAllStringIndex(text, -1) {
		if slices.ContainsFunc(said, func(m mention) bool { return m.start <= at[0] && at[1] <= m.end }) {
			continue // the hour of a time in words
		}
		if unknown, ok := k.unknown(text, at); ok && (!found || unknown.start < first.start) {
			return unknown, true
		}
	}
	return first, found
}

// knowsMention says whether a number in words is known. A small one is, unless it is an hour.
func (k *knowledge) knowsMention(text string, m mention) bool {
	hours := atHour.MatchString(before(text, m.start)) && afterHour.MatchString(text[m.end:]) || ofDay.MatchString(text[m.end:])
	switch {
	case m.clock:
		return k.clocks[m.minute]
	case m.value < 0 || m.value > dozen:
		return k.knowsNumber(m.digits, "")
	case hours && m.value > 1:
		return k.clocks[m.value*hour%halfDay]
	}
	return true
}

// unknown returns what of a numeral at a place in a text is not known, however it is written.
func (k *knowledge) unknown(text string, at []int) (span, bool) {
	whole, list := span{at[0], at[1]}, pieces(text, at)
	if len(list) > 1 && k.knowsNumber(text[at[0]:at[1]], text[at[1]:]) {
		return span{}, false
	}
	var missing span
	short := 0
	for _, piece := range list {
		written := text[piece.start:piece.end]
		if len(digitsOf(written)) == 1 {
			short++
		}
		hours := atHour.MatchString(before(text, piece.start)) && afterHour.MatchString(text[piece.end:])
		known := k.knowsNumber(written, text[piece.end:])
		if value, err := strconv.Atoi(written); known && hours && err == nil && value > 1 && value <= dozen {
			known = k.clocks[value*hour%halfDay]
		}
		if !known && missing.end == 0 {
			missing = piece
		}
	}
	switch {
	case short > digitRun: // spelled out
		return whole, true
	case missing.end == 0:
		return span{}, false
	case listed.MatchString(text[at[0]:at[1]]):
		return missing, true
	}
	return whole, true
}

// knowsNumber says whether a number is known, however it is written. A single digit always is unless it is an hour: people count.
func (k *knowledge) knowsNumber(written, rest string) bool {
	digits := digitsOf(written)
	minute, isClock := clock(written, rest)
	switch {
	case isClock && k.clocks[minute]:
		return true
	case isClock && !strings.ContainsAny(written, ":."):
		return false
	case len(digits) <= 1 || k.values[trimZeros(digits)]:
		return true
	case len(digits) >= partDigits && strings.Contains(k.digits, digits):
		return true
	case strings.Contains(k.digits, " "+digits) || strings.Contains(k.digits, digits+" "):
		return true
	case len(digits) >= localDigits && strings.Contains(k.digits, digits[len(digits)-localDigits:]+" "):
		return true
	}
	if canonical, ok := fraction(written); ok && k.values[canonical] {
		return true
	}
	split := parts(written)
	if len(split) > digitRun && len(digits) == len(split) { // spelled out
		return false
	}
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
	// label stands before a name that is written after a colon.
	label = regexp.MustCompile(`(?i)\b(name|contact|person|sender|recipient|place|street|city|address):\s*$`)
)

func months() []string {
	return []string{
		"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
	}
}

func weekdays() []string {
	return []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
}

// ordinary returns words that are written with a capital and name nobody.
func ordinary() []string {
	return []string{
		"alexa", "assistant", "bluetooth", "celsius", "cheers", "dad", "fahrenheit", "god", "grandma", "grandpa", "hello", "hey", "hmm", "internet",
		"mama", "miss", "mom", "mrs", "mum", "okay", "papa", "please", "siri", "sorry", "thank", "thanks", "wifi", "yeah", "yes", "you",
	}
}

// openers returns words with which an answer begins that is no name.
func openers() []string {
	return []string{
		"about", "actually", "ah", "all", "and", "any", "anybody", "anyone", "both", "but", "can", "check", "could", "don't", "either", "exactly",
		"forget", "from", "good", "great", "her", "here", "his", "how", "i'm", "isn't", "it's", "its", "just", "let", "look", "maybe", "mine", "neither",
		"never", "nobody", "none", "nope", "not", "nothing", "only", "really", "same", "she", "she's", "he's", "some", "somebody", "someone", "sure",
		"that", "that's", "the", "their", "them", "then", "there", "they", "this", "those", "true", "unknown", "wait", "well", "what", "whatever",
		"which", "whichever", "who", "whoever", "why", "with", "wrong", "yep",
	}
}

// names returns the words that name somebody or something: those that are capital though no sentence begins with them, weekdays
// and months, and a short answer to one who asked for a name.
func names(text string, asked bool) []span {
	var list []span
	for i, t := range tokens(text) {
		found := []rune(text[t.start:t.end])
		capital := len(found) >= shortestName && unicode.IsUpper(found[0]) && unicode.IsLower(found[1])
		begins := beginsSentence(text[:t.start])
		day := slices.Contains(weekdays(), strings.TrimSuffix(t.word, "s"))
		month := capital && slices.Contains(months(), t.word) && t.word != "may" && t.word != "march"
		answer := asked && i == 0 && shortAnswer(text[t.end:]) && !slices.Contains(openers(), t.word)
		if day || month || capital && (!begins || answer || label.MatchString(before(text, t.start))) {
			list = append(list, span{t.start, t.start + len(bare(text[t.start:t.end]))})
		}
	}
	return list
}

// shortAnswer says whether little or a pause follows the first word.
func shortAnswer(rest string) bool {
	return rest == "" || strings.ContainsAny(rest[:1], ".,!") || len(words(rest)) < 2
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
