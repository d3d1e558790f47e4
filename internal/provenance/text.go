package provenance

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/numeral"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

var (
	phoneForm = regexp.MustCompile(`^\+?[\d ().-]{7,}$`)
	// countForm is a number with a short ending, such as 7am, 3rd or 250g.
	countForm = regexp.MustCompile(`^[#$€£¥(]*(\d[\d,]*(?:\.\d+)?)(?:[a-zA-Z°%]{0,2}|nd|rd|th)$`)
	// dayForm is a date in digits with the year last, or without one.
	dayForm = regexp.MustCompile(`^(\d{1,2})[-./](\d{1,2})\.?(?:[-./]?(\d{4}))?$`)
	// timeForm is a time of day in digits.
	timeForm = regexp.MustCompile(`^(\d{1,2})[:.](\d{2})(?::(\d{2}))?(?:[ap]m)?Z?$`)
)

// toldText reports whether the facts of a text were told: its numbers, ids and names.
func (j *judge) toldText(name, text string, writes bool) bool {
	folded := fold(strings.TrimSpace(text))
	switch {
	case folded == "" || j.returned[text]:
		return true
	case isKey(name) && !strings.ContainsAny(text, "0123456789"):
		return false
	case strings.Contains(j.text.String(), folded):
		return true
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(layout, text, j.zone); err == nil {
			return j.isTold(float64(at.Unix())) || j.toldStamp(float64(at.Unix()))
		}
	}
	if phoneForm.MatchString(text) && !dateForm.MatchString(text) {
		return j.toldPhone(numeral.Digits(text))
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`,;!?"“”()[]{}`, r) })
	for _, word := range words {
		for part := range strings.SplitSeq(word, "T") {
			if dateForm.MatchString(word) && !j.toldDigits(part) {
				return false
			}
		}
		if !dateForm.MatchString(word) && strings.ContainsAny(word, "0123456789@") && !j.toldDigits(word) {
			return false
		}
	}
	return j.toldNames(name, text, writes)
}

// isKey reports whether an argument is for ids or phone numbers, so that a word is none.
func isKey(argument string) bool {
	return strings.HasSuffix(argument, "_id") || strings.HasSuffix(argument, "phone_number")
}

// toldDigits reports whether a word with digits was told: a date, a time, a number or an id.
func (j *judge) toldDigits(word string) bool {
	word = strings.Trim(word, `.:'’-`)
	if found := dateForm.FindStringSubmatch(word); found != nil {
		return j.toldDay(time.Date(atoi(found[1]), time.Month(atoi(found[2])), atoi(found[3]), 0, 0, 0, 0, time.UTC))
	}
	if found := timeForm.FindStringSubmatch(strings.ToLower(word)); found != nil && atoi(found[2]) < 60 && j.toldClock(atoi(found[1]), atoi(found[2])) {
		return true
	}
	if found := dayForm.FindStringSubmatch(word); found != nil && (j.toldDate(found[3], found[1], found[2]) || j.toldDate(found[3], found[2], found[1])) {
		return true
	}
	if strings.Contains(j.text.String(), fold(word)) {
		return true
	}
	if found := countForm.FindStringSubmatch(word); found != nil {
		number := parseNumber(found[1])
		return j.isTold(number) || significant(number) > 2 && j.isComputed(number) || strings.HasSuffix(fold(word), "m") && j.toldClock(int(number), 0)
	}
	digits := numeral.Digits(word)
	return strings.IndexFunc(word, unicode.IsLetter) < 0 && (j.toldPhone(digits) || j.isDigits(digits))
}

// toldDate reports whether a month and a day were told, with the year if there is one.
func (j *judge) toldDate(year, month, day string) bool {
	number := atoi(month)
	if number < 1 || number > 12 || atoi(day) > 31 {
		return false
	}
	if year != "" {
		return j.toldDay(time.Date(atoi(year), time.Month(number), atoi(day), 0, 0, 0, 0, time.UTC))
	}
	return j.isTold(float64(atoi(day))) && (j.months[time.Month(number)] || j.isTold(float64(number))) ||
		slices.ContainsFunc(j.days, func(base time.Time) bool { return int(base.Month()) == number && base.Day() == atoi(day) })
}

// toldNames reports whether the names of a text were told. In an argument for a name each word
// counts; elsewhere each word with a capital letter inside a sentence, and a text of several such
// words of which none was told. Without the tools' descriptions, a name is a claim only if the call
// writes it or the world has it.
func (j *judge) toldNames(argument, text string, writes bool) bool {
	isName := argument == "name" || strings.HasSuffix(argument, "_name")
	tokens := numeral.Tokens(text)
	lower := slices.ContainsFunc(tokens, func(t numeral.Token) bool { return startsLower(text[t.Start:]) })
	isTold := slices.ContainsFunc(tokens, func(t numeral.Token) bool { return j.knows(numeral.FoldMarks(t.Word)) })
	title := j.strict && !lower && len(tokens) > 1 && !isTold
	for i, token := range tokens {
		word := numeral.FoldMarks(token.Word)
		isCapital := startsUpper(text[token.Start:])
		inside := isCapital && (title || i > 0 && lower && !beginsSentence(text[:token.Start]))
		counts := inside || isName || isCapital && j.public[word]
		if utf8.RuneCountInString(word) < 3 || !counts || j.vocabulary[word] || j.knows(word) {
			continue
		}
		if j.strict || writes && (isName || inside) || j.public[word] {
			return false
		}
	}
	return true
}

// knows reports whether a word was told: verbatim, shortened, with an ending, or by its initial.
func (f *facts) knows(word string) bool {
	if f.words[word] {
		return true
	}
	const stem = 4
	for told := range f.words {
		if len(told) >= stem && strings.HasPrefix(word, told) || len(word) >= stem && strings.HasPrefix(told, word) {
			return true
		}
	}
	return false
}

func startsUpper(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return unicode.IsUpper(first)
}

func startsLower(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLower(first)
}

// beginsSentence reports whether a sentence or a quotation begins after a text.
func beginsSentence(before string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(before, unicode.IsSpace))
	return strings.ContainsRune(`.!?:"“„'‘`, last)
}

// Names are words in lower case.
type Names map[string]bool

// NamesIn returns the words of texts that begin with a capital letter.
func NamesIn(texts []string) Names {
	names := make(Names)
	for _, text := range texts {
		for _, token := range numeral.Tokens(text) {
			if startsUpper(text[token.Start:]) {
				names[numeral.FoldMarks(token.Word)] = true
			}
		}
	}
	return names
}

// NamesOf returns the names in the texts of tables: words with a capital letter that do not begin a
// sentence, and the words of a text in which each begins so.
func NamesOf(tables []*worldv1.Table) Names {
	names := make(Names)
	for _, table := range tables {
		for _, row := range table.GetRows() {
			for _, cell := range row.GetCells() {
				text := cell.GetText()
				tokens := numeral.Tokens(text)
				isName := !slices.ContainsFunc(tokens, func(t numeral.Token) bool { return !startsUpper(text[t.Start:]) })
				for i, token := range tokens {
					if isName || i > 0 && startsUpper(text[token.Start:]) && !beginsSentence(text[:token.Start]) {
						names[numeral.FoldMarks(token.Word)] = true
					}
				}
			}
		}
	}
	return names
}
