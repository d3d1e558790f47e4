package usercheck

import (
	"regexp"
	"strings"
)

// assistant returns what only an assistant says.
func (c *check) assistant(text string) string {
	if evidence := markup.FindString(text); evidence != "" {
		return strings.Trim(evidence, " \n")
	}
	blanked := quotation.ReplaceAllStringFunc(text, func(quote string) string { // what others are to read is not the user's own speech
		return string(make([]byte, len(quote)))
	})
	patterns := []*regexp.Regexp{assistantWords, serves}
	if !thanks.MatchString(c.agent) {
		patterns = append(patterns, welcome)
	}
	if !c.hands { // a user with tools of its own has something to announce and to report
		patterns = append(patterns, report)
	}
	for _, pattern := range patterns {
		if at := pattern.FindStringIndex(blanked); at != nil && !c.dictated(text[at[0]:at[1]]) {
			return strings.TrimRight(text[at[0]:at[1]], " \n.!,")
		}
	}
	if c.hands {
		return ""
	}
	for _, sentence := range sentences(blanked) {
		said := blanked[sentence.start:sentence.end]
		if at := announcement.FindStringIndex(said); at != nil && !asking.MatchString(said) && !own.MatchString(said) {
			if evidence := text[sentence.start+at[0] : sentence.start+at[1]]; !c.dictated(evidence) {
				return strings.Trim(evidence, " \n.!,")
			}
		}
	}
	return ""
}

// dictated says whether the instructions hold the words of a text: the user may have to have them
// written.
func (c *check) dictated(text string) bool {
	run := words(text)
	for i := 0; i+len(run) <= len(c.instructions); i++ {
		if matches(c.instructions[i:], run) {
			return true
		}
	}
	return false
}

// matches says whether a list that is at least as long begins with words as they stand.
func matches(list []told, run []string) bool {
	for i, word := range run {
		if list[i].word != word {
			return false
		}
	}
	return true
}

var (
	quotation = regexp.MustCompile(`"[^"\n]*"|“[^”\n]*”|«[^»\n]*»`)
	// markup is a call written as text, a speaker's name, or the end of the conversation in
	// brackets.
	markup = phrase("markup")
	// written is a call as text.
	written = phrase("written")
	// assistantWords are what assistants say.
	assistantWords = phrase("assistant_words")
	// serves is what the one says whose tools wait for the other side.
	serves = phrase("serves")
	// report is what the one says who does it, or has done it.
	report = phrase("report")
	// announcement is the same in a statement, with a word that only fits who serves.
	announcement = phrase("announcement")
	// asking ends or begins a question, own are words of one who has to do with it otherwise.
	asking  = regexp.MustCompile(`\?\s*$`)
	own     = phrase("own")
	welcome = phrase("welcome")
	thanks  = phrase("thanks")
)
