package usercheck

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// patience is how often the agent may have spoken before the user may end for want of progress,
	// as it is told.
	patience = 5
	// telling is the length of the shortest word by which a wish is known.
	telling = 4
	// stem is how much of a word is compared.
	stem = 5
)

// earlyEnd returns what stands against ending now: what the agent has asked or promised last, a
// wish that was not mentioned, or the user's own text that nobody has answered.
func (c *check) earlyEnd() string {
	switch {
	case c.agent == "" && c.own == "":
		return endTool
	case c.agent == "":
		return c.own
	case c.answers >= patience || resigned.MatchString(c.own):
		return ""
	}
	if evidence := c.open(); evidence != "" {
		return evidence
	}
	if refusal.MatchString(c.agent) {
		return ""
	}
	return c.unsaid()
}

// open returns the last sentence of what the agent said last if it wants an answer or promises one.
// An offer to do more does neither, nor does an offer or a question whether all is well after a
// report of what is done or cannot be done.
func (c *check) open() string {
	text := c.agent
	list := sentences(strings.TrimRightFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.So, r) || strings.ContainsRune("*_)\uFE0F", r)
	}))
	if len(list) == 0 {
		return ""
	}
	at := list[len(list)-1]
	last, before := text[at.start:at.end], text[:at.start]
	settled, declined := done.MatchString(before), refusal.MatchString(before)
	switch {
	case closing.MatchString(last) || settled && content.MatchString(last):
		return ""
	case (settled || declined) && (offer.MatchString(last) || !c.hands && yourself.MatchString(last)):
		return ""
	case strings.HasSuffix(last, "?") || request.MatchString(last) || need.MatchString(last) && !negated.MatchString(last):
		if declined && !c.hands && elsewhere.MatchString(last) || later.MatchString(last) || settled && conditional.MatchString(last) && !strings.HasSuffix(last, "?") {
			return ""
		}
		return last
	case promise.MatchString(last) && !refusal.MatchString(last) && !conditional.MatchString(last) && !done.MatchString(text),
		c.answers == 1 && acknowledged.MatchString(text):
		return last
	}
	return ""
}

// unsaid returns a later part of the goal of which nobody has said a word.
func (c *check) unsaid() string {
	for _, at := range next.FindAllStringSubmatchIndex(c.goal, -1) {
		start := at[2]
		end := start + len(c.goal[start:])
		if stop := sentenceEnd.FindStringIndex(c.goal[start:]); stop != nil {
			end = start + stop[0]
		}
		known := append(stems(words(c.goal[:start])), stems(c.spoken)...)
		part := stems(words(c.goal[start:end]))
		news := slices.DeleteFunc(slices.Clone(part), func(word string) bool { return slices.Contains(stems(words(c.goal[:start])), word) })
		if len(news) > 0 && !slices.ContainsFunc(news, func(word string) bool { return slices.Contains(known, word) }) {
			return strings.TrimRight(c.goal[start:end], ".")
		}
	}
	return ""
}

// stems returns the words by which a wish is known, shortened so that endings do not matter.
func stems(list []string) []string {
	var found []string
	for _, word := range list {
		if utf8.RuneCountInString(word) < telling || slices.Contains(idle, word) {
			continue
		}
		found = append(found, string([]rune(word)[:min(stem, utf8.RuneCountInString(word))]))
	}
	return found
}

var (
	// request is a question without its mark, need one that is put as a need, negated a need that
	// stayed unmet.
	request = phrase("request")
	need    = phrase("need")
	negated = phrase("negated")
	// elsewhere is a request to look after it without the agent, later one to come back.
	elsewhere = phrase("elsewhere")
	later     = phrase("later")
	// conditional is a promise for another case.
	conditional = phrase("conditional")
	// promise is what one says who has not done it yet.
	promise = phrase("promise")
	// acknowledged is all that one says who has only understood.
	acknowledged = phrase("acknowledged")
	// closing is a question after which a user may well end, content one after a report.
	closing = phrase("closing")
	content = phrase("content")
	offer   = phrase("offer")
	// yourself asks the user to do it.
	yourself = phrase("yourself")
	done     = phrase("done")
	// refusal says that it cannot be done.
	refusal = phrase("refusal")
	// resigned is what a user says who has no answer, or wants none any more.
	resigned = phrase("resigned")
	// next begins a part of the goal that comes after something else.
	next = phrase("next")
	// idle are words that stand in every wish.
	idle = wordList("idle")
)
