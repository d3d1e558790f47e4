package usercheck

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/numeral"
)

// knowledge is the set of facts that a user may state: those of its instructions, and those that it
// has read.
type knowledge struct {
	words  map[string]bool
	values map[string]bool // numbers without leading zeros
	digits []byte          // all digits, with a space around each number
	clocks map[int]bool    // times of day, in minutes of the half day
	exact  []float64       // numbers that may be rounded
}

const (
	// localDigits is the number of final digits by which two spellings of a phone number match.
	localDigits = 7
	// partDigits is the number of digits that match anywhere in a number. Fewer must begin or end it.
	partDigits = 3
	// shortestName is the length of the shortest name.
	shortestName = 3
	// maxExact bounds the numbers that may be rounded.
	maxExact = 256
	// maxSmall is the largest number in words that people say without meaning a fact.
	maxSmall = 12
)

func newKnowledge() knowledge {
	return knowledge{words: make(map[string]bool), values: make(map[string]bool), clocks: make(map[int]bool), digits: []byte{' '}}
}

// learn adds the facts of a text.
func (k *knowledge) learn(text string) {
	list := numeral.Tokens(text)
	for _, t := range list {
		plain := numeral.FoldMarks(t.Word)
		if k.words[plain] = true; plain != t.Word {
			k.words[numeral.FoldUmlauts(t.Word)] = true
		}
		if month := slices.Index(months, t.Word); month >= 0 {
			k.values[strconv.Itoa(month+1)] = true
		}
	}
	for _, m := range numeral.Mentions(list) {
		if m.Clock {
			k.clocks[m.Minute] = true
			k.values[m.Hour], k.values[m.Minutes] = true, true
			if m.Vague {
				k.number(m.Hour)
				k.number(m.Minutes)
			}
			continue
		}
		if strings.Contains(m.Digits, ".") {
			k.values[m.Digits], k.values[strconv.Itoa(m.Value)] = true, true
			continue
		}
		k.number(m.Digits)
	}
	for _, number := range durations(text) {
		k.number(number)
	}
	for _, found := range numeralForm.FindAllStringIndex(text, -1) {
		written := text[found[0]:found[1]]
		k.number(numeral.Digits(written))
		for _, part := range parts(written) {
			k.values[part] = true
		}
		for _, piece := range pieces(text, found) {
			if canonical, ok := fraction(text[piece.Start:piece.End]); ok {
				k.values[canonical] = true
			}
			if minute, _, ok := clock(text[piece.Start:piece.End], text[piece.End:]); ok {
				k.clocks[minute] = true
			}
		}
	}
}

// learnAmounts adds the numbers of a text that may be rounded.
func (k *knowledge) learnAmounts(text string) {
	for _, written := range amountForm.FindAllString(text, maxExact-len(k.exact)) {
		if value, err := strconv.ParseFloat(strings.ReplaceAll(written, ",", ""), 64); err == nil {
			k.exact = append(k.exact, value)
		}
	}
}

// isRounded reports whether a number is a known one with fewer decimals or, with about, an
// approximation.
func (k *knowledge) isRounded(digits string, about bool) bool {
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil || value == 0 {
		return false
	}
	step := 1.0
	if _, decimals, ok := strings.Cut(digits, "."); ok {
		step = math.Pow10(-len(decimals))
	}
	for quotient := value; about && math.Mod(quotient, 10) == 0; quotient /= 10 {
		step *= 10
	}
	return slices.ContainsFunc(k.exact, func(exact float64) bool {
		difference := math.Abs(exact - value)
		return (about || exact != math.Trunc(exact)) && difference < step && difference <= exact/10
	})
}

// number adds a number, and also an hour if it can be one.
func (k *knowledge) number(digits string) {
	k.digits = append(append(k.digits, digits...), ' ')
	k.values[trimZeros(digits)] = true
	if value, err := strconv.Atoi(digits); err == nil && value <= lastDay {
		k.clocks[value*hour%halfDay] = true
	}
}

// pieces returns the parts of a numeral that are numbers by themselves.
func pieces(text string, at []int) []numeral.Span {
	var list []numeral.Span
	written, start := text[at[0]:at[1]], 0
	for _, gap := range append(numberSeparator.FindAllStringIndex(written, -1), []int{len(written), len(written)}) {
		piece := strings.Trim(written[start:gap[0]], ".,;:")
		from := at[0] + start + strings.Index(written[start:gap[0]], piece)
		if piece != "" {
			list = append(list, numeral.Span{Start: from, End: from + len(piece)})
		}
		start = gap[1]
	}
	return list
}

// findInvented returns the first unknown fact of a text. isAnswer means that the other side wants a
// name.
func (k *knowledge) findInvented(text string, isAnswer bool) string {
	first, found := numeral.Span{}, false
	keep := func(at numeral.Span, ok bool) {
		if ok && (!found || at.Start < first.Start) {
			first, found = at, true
		}
	}
	keep(k.findInventedNumber(text))
	for _, at := range mail.FindAllStringIndex(text, -1) {
		isKnown := !slices.ContainsFunc(words(text[at[0]:at[1]]), func(part string) bool { return !k.words[numeral.FoldMarks(part)] })
		keep(numeral.Span{Start: at[0], End: at[1]}, !isKnown)
	}
	for _, at := range names(text, isAnswer) {
		if !k.knowsName(numeral.FoldMarks(strings.ToLower(text[at.Start:at.End]))) {
			keep(at, true)
			break
		}
	}
	return text[first.Start:first.End]
}

// findInventedNumber returns the first unknown number or time.
func (k *knowledge) findInventedNumber(text string) (first numeral.Span, found bool) {
	numbers := numeral.Mentions(numeral.Tokens(text))
	for _, m := range numbers {
		if !k.knowsMention(text, m) {
			first, found = m.Span, true
			break
		}
	}
	for _, at := range numeralForm.FindAllStringIndex(text, -1) {
		if slices.ContainsFunc(numbers, func(m numeral.Mention) bool { return m.Start <= at[0] && at[1] <= m.End }) {
			continue // the hour of a time in words
		}
		if unknown, ok := k.unknown(text, at); ok && (!found || unknown.Start < first.Start) {
			return unknown, true
		}
	}
	return first, found
}

// knowsMention reports whether a number in words is known. Small numbers are known unless they are
// an hour.
func (k *knowledge) knowsMention(text string, m numeral.Mention) bool {
	earlier, rest := contextBefore(text, m.Start), text[m.End:]
	at := atHour.MatchString(earlier)
	hours := at && afterHour().MatchString(rest) || ofDay().MatchString(rest)
	switch {
	case m.Clock && m.Vague && !at && !k.clocks[m.Minute]:
		return k.knowsSmall(m.Minutes) && k.knowsSmall(m.Hour)
	case m.Clock:
		return k.clocks[m.Minute]
	case m.Value < 0 || m.Value > maxSmall:
		return k.knowsNumber(m.Digits, "") || k.isRounded(m.Digits, roughly().MatchString(earlier))
	case hours && m.Value > 1:
		return k.clocks[m.Value*hour%halfDay]
	}
	return true
}

// knowsSmall reports whether a number is known, or so small that people say it without meaning a
// fact.
func (k *knowledge) knowsSmall(digits string) bool {
	value, err := strconv.Atoi(digits)
	return err == nil && value <= maxSmall || k.values[digits]
}

// unknown returns the unknown part of a numeral, in any spelling.
func (k *knowledge) unknown(text string, at []int) (numeral.Span, bool) {
	match, list := numeral.Span{Start: at[0], End: at[1]}, pieces(text, at)
	if len(list) > 1 && k.knowsNumber(text[at[0]:at[1]], text[at[1]:]) {
		return numeral.Span{}, false
	}
	var missing numeral.Span
	short := 0
	for _, piece := range list {
		written := text[piece.Start:piece.End]
		if len(numeral.Digits(written)) == 1 {
			short++
		}
		earlier, rest := contextBefore(text, piece.Start), text[piece.End:]
		hours := atHour.MatchString(earlier) && afterHour().MatchString(rest)
		about := roughly().MatchString(earlier)
		isKnown := k.knowsNumber(written, rest) || k.isRounded(written, about)
		if amount, ok := fraction(written); ok && measure().MatchString(rest) {
			isKnown = k.values[amount] || k.isRounded(amount, about)
		} else if len(written) == 1 && money.MatchString(earlier) {
			isKnown = k.values[written]
		}
		if value, err := strconv.Atoi(written); isKnown && hours && err == nil && value > 1 && value <= maxSmall {
			isKnown = k.clocks[value*hour%halfDay]
		}
		if !isKnown && missing.End == 0 {
			missing = piece
		}
	}
	switch {
	case short > digitRun: // spelled out
		return match, true
	case missing.End == 0:
		return numeral.Span{}, false
	case severalNumbers.MatchString(text[at[0]:at[1]]):
		return missing, true
	}
	return match, true
}

// knowsNumber reports whether a number is known in any spelling. A single digit is known unless it
// is an hour.
func (k *knowledge) knowsNumber(written, rest string) bool {
	digits := numeral.Digits(written)
	minute, seconds, isClock := clock(written, rest)
	switch {
	case isClock && k.clocks[minute]:
		return seconds == "" || trimZeros(seconds) == "0" || k.values[trimZeros(seconds)]
	case isClock && !strings.ContainsAny(written, ":."):
		return false
	case len(digits) <= 1 || k.values[trimZeros(digits)]:
		return true
	case len(digits) >= partDigits && bytes.Contains(k.digits, []byte(digits)):
		return true
	case bytes.Contains(k.digits, []byte(" "+digits)) || bytes.Contains(k.digits, []byte(digits+" ")):
		return true
	case len(digits) >= localDigits && bytes.Contains(k.digits, []byte(digits[len(digits)-localDigits:]+" ")):
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

var (
	mail = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+`)
	// amountForm is a counted number. roughly precedes a rounded one.
	amountForm = regexp.MustCompile(`\d[\d,]*(?:\.\d+)?`)
	roughly    = phrase("roughly")
	// money precedes an amount, measure follows one.
	money   = regexp.MustCompile(`[$€£¥]\s*$`)
	measure = phrase("measure")
)
