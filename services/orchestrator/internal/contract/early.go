package contract

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// patience is how often the agent may have spoken before the user may end for want of progress, as it is told.
	patience = 5
	// telling is the length of the shortest word by which a wish is known.
	telling = 4
	// stem is how much of a word is compared.
	stem = 5
)

// earlyEnd returns what stands against ending now: what the agent has asked or promised last, a wish that was not mentioned, or
// the user's own text that nobody has answered.
func (c *check) earlyEnd() string {
	switch {
	case c.agent == "" && c.own == "":
		return endTool
	case c.agent == "":
		return c.own
	case c.answers >= patience || resigned.MatchString(c.own):
		return ""
	}
	if evidence := open(c.agent); evidence != "" {
		return evidence
	}
	if refusal.MatchString(c.agent) {
		return ""
	}
	return c.unsaid()
}

// open returns the last sentence of a text if it wants an answer or promises one. An offer to do more does neither, nor does a
// question whether to go on after a report of what is done.
func open(text string) string {
	list := sentences(strings.TrimRightFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.So, r) || strings.ContainsRune("*_)\uFE0F", r)
	}))
	if len(list) == 0 {
		return ""
	}
	at := list[len(list)-1]
	last, before := text[at.start:at.end], text[:at.start]
	asks := strings.HasSuffix(last, "?") || request.MatchString(last)
	waits := promise.MatchString(last) && !done.MatchString(text)
	if !asks && !waits || closing.MatchString(last) || offer.MatchString(last) && done.MatchString(before) {
		return ""
	}
	return last
}

// unsaid returns a later part of the goal of which nobody has said a word.
func (c *check) unsaid() string {
	for _, at := range later.FindAllStringSubmatchIndex(c.goal, -1) {
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
		if utf8.RuneCountInString(word) < telling || slices.Contains(idle(), word) {
			continue
		}
		found = append(found, string([]rune(word)[:min(stem, utf8.RuneCountInString(word))]))
	}
	return found
}

// idle returns words that stand in every wish.
func idle() []string {
	return []string{
		"after", "also", "from", "have", "here", "into", "many", "much", "that", "their", "them", "then", "there", "they", "this", "what", "when", "where",
		"which", "will", "with", "would", "your",
	}
}

var (
	// request is a question without its mark.
	request = regexp.MustCompile(`(?i)\bplease (tell|give|provide|confirm|specify|share|choose|clarify|let me know)\b`)
	// promise is what one says who has not done it yet.
	promise = regexp.MustCompile(`(?i)\b((one|just a|just one|a) (moment|second|sec|minute)\b|hold on|please wait|bear with me|working on it|` +
		`let me (just )?(check|look|see|find|search|try)|i('m|’m| am) (checking|looking|searching)|i('ll|’ll| will) (check|look|search|find out|try|get back))`)
	// closing is a question after which a user may well end.
	closing = regexp.MustCompile(`(?i)\b(anything else|something else|any other|else (can|may|could) i|more (can|may|could) i|help you with|further (help|assistance))\b`)
	offer   = regexp.MustCompile(`(?i)\b(would you like( me)? to|do you want( me)? to|want me to|should i|shall i)\b`)
	done    = regexp.MustCompile(`(?i)\b((i've|i have|has been|have been|was|were|is now|are now) (now |also |just )?` +
		`(updated|added|removed|deleted|sent|set|saved|turned|switched|created|changed|scheduled|cancelled|canceled|moved|renamed|texted|on|off)|done)\b`)
	// refusal says that it cannot be done.
	refusal = regexp.MustCompile(`(?i)\b(can('|’)?t|cannot|can not|could(n('|’)t| not)|unable|impossible|not possible|no (tool|way)|failed|nothing)\b`)
	// resigned is what a user says who has no answer, or wants none any more.
	resigned = regexp.MustCompile(`(?i)\b(do(n't|n’t| not) (know|remember)|no idea|not sure|never ?mind|forget (it|about it)|leave it|that's (all|it|fine)|can't (say|tell))\b`)
	// later begins a part of the goal that comes after something else.
	later = regexp.MustCompile(`(?i)(?:^|[,.;] |\band )(then\b|after that\b|if not\b|as (?:that|it|this) is\b)`)
)
