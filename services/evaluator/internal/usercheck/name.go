package usercheck

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/numeral"
)

// knowsName reports whether a name is known: verbatim, shortened or with an ending.
func (k *knowledge) knowsName(name string) bool {
	if k.words[name] || slices.Contains(ordinary, name) {
		return true
	}
	if month := slices.Index(months, name); month >= 0 && k.values[strconv.Itoa(month+1)] {
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
	// wantsName asks for the name of a person, wantsPlace for that of a place.
	wantsName  = phrase("wants_name")
	wantsPlace = phrase("wants_place")
	// label precedes a name after a colon.
	label = phrase("label")
	// title precedes a name; its dot ends no sentence. hedge follows an answer.
	title = phrase("title")
	hedge = phrase("hedge")

	months   = wordList("months")
	weekdays = wordList("weekdays")
	// ordinary are capitalized words that are no names.
	ordinary = wordList("ordinary")
	// answerOpeners begin an answer and are no names. placeWords are words for places that are no
	// names.
	answerOpeners = wordList("openers")
	placeWords    = wordList("places")
)

// names returns the words that are names: capitalized words that begin no sentence, weekdays and
// months, and a short answer to a question for a name.
func names(text string, isAnswer bool) []numeral.Span {
	var list []numeral.Span
	for i, t := range numeral.Tokens(text) {
		found := []rune(text[t.Start:t.End])
		capital := len(found) >= shortestName && unicode.IsUpper(found[0]) && unicode.IsLower(found[1])
		startsSentence := beginsSentence(text[:t.Start])
		day := slices.Contains(weekdays, strings.TrimSuffix(t.Word, "s"))
		month := capital && slices.Contains(months, t.Word) && t.Word != "may" && t.Word != "march"
		answer := isAnswer && i == 0 && shortAnswer(text[t.End:]) && !slices.Contains(answerOpeners, t.Word) && !slices.Contains(placeWords, t.Word)
		if day || month || capital && (!startsSentence || answer || label().MatchString(contextBefore(text, t.Start))) {
			list = append(list, numeral.Span{Start: t.Start, End: t.Start + len(numeral.TrimPossessive(text[t.Start:t.End]))})
		}
	}
	return list
}

// shortAnswer reports whether little, a pause or a hedge follows the first word.
func shortAnswer(rest string) bool {
	return rest == "" || strings.ContainsAny(rest[:1], ".,!") || len(words(rest)) < 2 || hedge().MatchString(rest)
}

// beginsSentence reports whether a sentence, a quotation or an item begins after a text, so that
// its first word is capitalized anyway.
func beginsSentence(before string) bool {
	trimmed := strings.TrimRightFunc(before, func(r rune) bool { return unicode.IsSpace(r) && r != '\n' })
	last, _ := utf8.DecodeLastRuneInString(trimmed)
	switch {
	case trimmed == "" || last == '\n':
		return true
	case last == '.' && title().MatchString(endOf(trimmed)):
		return false
	case unicode.IsLetter(last) || unicode.IsDigit(last) || strings.ContainsRune(",;'’/&%)@+_", last):
		return false
	case last == '-':
		return trimmed != before // a dash, not a hyphen
	}
	return true
}
