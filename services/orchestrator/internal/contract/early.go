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
	if evidence := c.open(); evidence != "" {
		return evidence
	}
	if refusal.MatchString(c.agent) {
		return ""
	}
	return c.unsaid()
}

// open returns the last sentence of what the agent said last if it wants an answer or promises one. An offer to do more does neither, nor does
// an offer or a question whether all is well after a report of what is done or cannot be done.
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
	// request is a question without its mark, need one that is put as a need, negated a need that stayed unmet.
	request = regexp.MustCompile(`(?i)\b(please (tell|give|provide|confirm|specify|share|choose|clarify|pick|select|say|enter|reply|answer|check|try|turn|switch|let me know)|` +
		`(so|and|just|then) (tell|give) me|let me know (which|what|who|when|where|whether)|(reply|answer|respond) (with|by))\b|` +
		`^\W*(tell me|choose|pick|select|specify|confirm)\b|\b(once|when|if|as soon as) you (tell|confirm|give|let me know)\b`)
	need    = regexp.MustCompile(`(?i)\bi(['’]ll| will|['’]d| would)? (first |still |also )?need (to know|his|her|their|your|the (name|number|date|day|time|exact|last|first|full)|more (details|information)|permission)\b`)
	negated = regexp.MustCompile(`(?i)\bnot\b|n['’]t\b|\bunable\b`)
	// elsewhere is a request to look after it without the agent, later one to come back.
	elsewhere = regexp.MustCompile(`(?i)\bplease (check|try|turn|switch)\b`)
	later     = regexp.MustCompile(`(?i)\b(later|another (time|day)|if you (ever|change))\b[^?]*$`)
	// conditional is a promise for another case.
	conditional = regexp.MustCompile(`(?i)\b(if|when|once|whenever|in case)\b`)
	// promise is what one says who has not done it yet.
	promise = regexp.MustCompile(`(?i)\b((one|just a|just one|give me a|a) (moment|second|sec|minute)\b|hold on|please wait|bear with me|working on it|` +
		`let me (just |first |now |quickly )?(check|look|see|find|search|try|do (that|it|this)|` + doing + `)\b|` +
		`i(['’]m| am) (now |just |currently )?(on it|checking|looking|searching|` + gerund + `)\b|i(['’]m| am) (going|about) to\b|` +
		`i(['’]ll| will) (now |just |also |first |quickly |go ahead and )?(check|look|search|find out|try|get back|do (that|it|this)|take care|handle|` + doing + `)\b)|` +
		`^\W*(on it|(checking|looking|searching|` + gerund + `)\b[^?]*(\.\.\.|…|\bnow\W*$))`)
	// acknowledged is all that one says who has only understood.
	acknowledged = regexp.MustCompile(`(?i)^\W*(ok|okay|understood|got it|sure|sure thing|alright|all right|certainly|of course|will do)\W*$`)
	// closing is a question after which a user may well end, content one after a report.
	closing = regexp.MustCompile(`(?i)\b((anything|something|what|how|who|where) else|any (other|further|more)|(anything|something) (more|further)|else (can|may|could) i|more (can|may|could) i|` +
		`(help|assist) (you )?(with|further)|further (help|assistance|questions)|(is|was|will|would) that (be )?(all|everything)|(does|did) that (help|answer)|feel free|` +
		`if you (need|want|have|would like) (anything|something|any|help|further|more|other|to know)|let me know if there|have a (great|nice|good))\b`)
	content = regexp.MustCompile(`(?i)\b((is|was) (that|this|it) (ok|okay|fine|right|good|correct|the right|what you)|are you (happy|satisfied|okay|fine)|(does|do) (that|everything|this|it|all) (look|work|suit|sound|settle|seem)|all (good|right|set))\b`)
	offer   = regexp.MustCompile(`(?i)\b((would you like|do you want)( me)?( to)?|want me to|should i|shall i|need a hand)\b`)
	// yourself asks the user to do it.
	yourself = regexp.MustCompile(`(?i)\b(yourself|by hand|on your own|manually)\b`)
	done     = regexp.MustCompile(`(?i)\b((i(['’]ve| have)?|(has|have|had) been|is|are|was|were) (now |also |just |successfully |already )*` +
		`(updated|added|removed|deleted|sent|set|saved|turned|switched|created|changed|scheduled|cancelled|canceled|moved|renamed|texted|told|put)|(is|are) now (on|off)|no longer in|done)\b|` +
		`^\W*(updated|added|removed|deleted|sent|saved|created|changed|scheduled|cancelled|moved|renamed)\b|\b(added|removed|deleted|saved|updated|sent|changed)[.!]|\b(saved|is gone|successfully)[.!]`)
	// refusal says that it cannot be done.
	refusal = regexp.MustCompile(`(?i)\b(can('|’)?t|cannot|can not|could(n('|’)t| not)|unable|(not|\w+n('|’)t) (able|possible|something i can)|impossible|` +
		`no (tool|way|access)|none of my tools|do(n('|’)t| not) have ((a|any|the) )?(\w+ )?(tool|way|access|permission)|out of my reach|failed|nothing)\b`)
	// resigned is what a user says who has no answer, or wants none any more.
	resigned = regexp.MustCompile(`(?i)\b(do(n't|n’t| not) (know|remember)|no idea|not sure|never ?mind|forget (it|about it)|leave it|that's (all|it|fine)|can't (say|tell))\b`)
	// next begins a part of the goal that comes after something else.
	next = regexp.MustCompile(`(?i)(?:^|[,.;] |\band )(then\b|after that\b|if not\b|as (?:that|it|this) is\b)`)
)

// What one does with a phone, and is at.
const (
	doing = `(remove|delete|add|save|send|text|set|turn|switch|update|change|move|create|schedule|cancel|rename|fetch|get)`

	gerund = `(removing|deleting|adding|saving|sending|texting|setting|turning|switching|updating|changing|moving|creating|scheduling|cancell?ing|renaming|fetching|getting|working)`
)
