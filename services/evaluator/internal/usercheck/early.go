package usercheck

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/world"
)

const (
	// patienceTurns is the number of agent messages after which the user may end for lack of progress,
	// as its instructions say.
	patienceTurns = 5
	// minStemWord is the length of the shortest word that identifies a wish.
	minStemWord = 4
	// stemLength is the number of compared letters of a word.
	stemLength = 5
)

// findEarlyEnd returns a reason against ending now: the agent's last question or promise, an
// unmentioned wish, or an unanswered text of the user.
func (c *check) findEarlyEnd() string {
	switch {
	case c.agent == "" && c.lastText == "":
		return world.EndTool
	case c.agent == "":
		return c.lastText
	case c.answers >= patienceTurns || resigned().MatchString(c.lastText):
		return ""
	}
	if evidence := c.openRequest(); evidence != "" {
		return evidence
	}
	if refusal().MatchString(c.agent) {
		return ""
	}
	return c.unmentionedGoal()
}

// openRequest returns the last sentence of the agent's last message if it asks for an answer or
// promises one. An offer to do more does neither. Neither does an offer, or a question whether all
// is well, after a report of success or failure.
func (c *check) openRequest() string {
	text := c.agent
	list := sentences(strings.TrimRightFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.So, r) || strings.ContainsRune("*_)\uFE0F", r)
	}))
	if len(list) == 0 {
		return ""
	}
	at := list[len(list)-1]
	last, before := text[at.Start:at.End], text[:at.Start]
	settled, declined := done().MatchString(before), refusal().MatchString(before)
	switch {
	case closing().MatchString(last) || settled && content().MatchString(last):
		return ""
	case (settled || declined) && (offer().MatchString(last) || !c.hasTools && yourself().MatchString(last)):
		return ""
	case strings.HasSuffix(last, "?") || request().MatchString(last) || need().MatchString(last) && !negated().MatchString(last):
		if declined && !c.hasTools && elsewhere().MatchString(last) || later().MatchString(last) || settled && conditional().MatchString(last) && !strings.HasSuffix(last, "?") {
			return ""
		}
		return last
	case promise().MatchString(last) && !refusal().MatchString(last) && !conditional().MatchString(last) && !done().MatchString(text),
		c.answers == 1 && acknowledged().MatchString(text):
		return last
	}
	return ""
}

// unmentionedGoal returns a later part of the goal without any mentioned word.
func (c *check) unmentionedGoal() string {
	for _, at := range nextPart().FindAllStringSubmatchIndex(c.goal, -1) {
		start := at[2]
		end := start + len(c.goal[start:])
		if stop := sentenceEnd.FindStringIndex(c.goal[start:]); stop != nil {
			end = start + stop[0]
		}
		mentioned := append(stems(words(c.goal[:start])), stems(c.spoken)...)
		part := stems(words(c.goal[start:end]))
		news := slices.DeleteFunc(slices.Clone(part), func(word string) bool { return slices.Contains(stems(words(c.goal[:start])), word) })
		if len(news) > 0 && !slices.ContainsFunc(news, func(word string) bool { return slices.Contains(mentioned, word) }) {
			return strings.TrimRight(c.goal[start:end], ".")
		}
	}
	return ""
}

// stems returns the words that identify a wish, shortened so that endings do not matter.
func stems(list []string) []string {
	var found []string
	for _, word := range list {
		if utf8.RuneCountInString(word) < minStemWord || slices.Contains(fillerWords, word) {
			continue
		}
		found = append(found, string([]rune(word)[:min(stemLength, utf8.RuneCountInString(word))]))
	}
	return found
}

var (
	// request is a question without its mark, need a request in the form of a need, negated a need
	// that remained unmet.
	request = phrase("request")
	need    = phrase("need")
	negated = phrase("negated")
	// elsewhere is a request to look into it without the agent, later one to come back.
	elsewhere = phrase("elsewhere")
	later     = phrase("later")
	// conditional is a promise for another case.
	conditional = phrase("conditional")
	// promise is a phrase of a speaker who has not done it yet.
	promise = phrase("promise")
	// acknowledged is a whole message that only acknowledges.
	acknowledged = phrase("acknowledged")
	// closing is a question after which a user may end, content one after a report.
	closing = phrase("closing")
	content = phrase("content")
	offer   = phrase("offer")
	// yourself asks the user to do it.
	yourself = phrase("yourself")
	done     = phrase("done")
	// refusal matches a text that rejects a request.
	refusal = phrase("refusal")
	// resigned is a phrase of a user who has no answer, or wants none any more.
	resigned = phrase("resigned")
	// nextPart begins a later part of the goal.
	nextPart = phrase("next")
	// fillerWords are words that occur in every wish.
	fillerWords = wordList("idle")
)
