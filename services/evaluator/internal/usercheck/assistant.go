package usercheck

import (
	"regexp"
	"slices"
	"strings"
)

// findAssistant returns a phrase that only an assistant says.
func (c *check) findAssistant(text string) string {
	if evidence := markup().FindString(text); evidence != "" {
		return strings.Trim(evidence, " \n")
	}
	blanked := quotation.ReplaceAllStringFunc(text, func(quote string) string { // quotations are not the user's own speech
		return string(make([]byte, len(quote)))
	})
	patterns := []func() *regexp.Regexp{assistantWords, servesOther}
	if !thanks().MatchString(c.agent) {
		patterns = append(patterns, welcome)
	}
	if !c.hasTools { // a user with its own tools may announce and report
		patterns = append(patterns, report)
	}
	for _, pattern := range patterns {
		if at := pattern().FindStringIndex(blanked); at != nil && !c.isDictated(text[at[0]:at[1]]) {
			return strings.TrimRight(text[at[0]:at[1]], " \n.!,")
		}
	}
	if c.hasTools {
		return ""
	}
	for _, sentence := range sentences(blanked) {
		sentenceText := blanked[sentence.Start:sentence.End]
		if at := announcement().FindStringIndex(sentenceText); at != nil && !questionMark.MatchString(sentenceText) && !ownWords().MatchString(sentenceText) {
			if evidence := text[sentence.Start+at[0] : sentence.Start+at[1]]; !c.isDictated(evidence) {
				return strings.Trim(evidence, " \n.!,")
			}
		}
	}
	return ""
}

// isDictated reports whether the instructions contain the words of a text, which the user may have
// to dictate.
func (c *check) isDictated(text string) bool {
	run := words(text)
	for i := 0; i+len(run) <= len(c.instructions); i++ {
		if slices.EqualFunc(c.instructions[i:i+len(run)], run, func(known instructionWord, word string) bool { return known.word == word }) {
			return true
		}
	}
	return false
}

var (
	quotation = regexp.MustCompile(`"[^"\n]*"|“[^”\n]*”|«[^»\n]*»`)
	// markup matches a call as text, a speaker's name, or a bracketed end of the conversation.
	markup = phrase("markup")
	// writtenCall matches a call as text.
	writtenCall = phrase("written")
	// assistantWords matches phrases of assistants.
	assistantWords = phrase("assistant_words")
	// servesOther matches phrases like "Shall I delete it?".
	servesOther = phrase("serves")
	// report matches phrases like "I have updated your contact".
	report = phrase("report")
	// announcement is report in a statement, with a word that only fits an assistant.
	announcement = phrase("announcement")
	// questionMark ends a question. ownWords are words of a user, such as "my" and "me".
	questionMark = regexp.MustCompile(`\?\s*$`)
	ownWords     = phrase("own")
	welcome      = phrase("welcome")
	thanks       = phrase("thanks")
)
