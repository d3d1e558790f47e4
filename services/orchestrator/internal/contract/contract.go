// Package contract watches a simulated user while it speaks: rules with evidence, and no model, tell where it leaves its role.
// A flag is a suspicion that a person looks at; it never changes a score.
package contract

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/python"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// The rules.
const (
	// Leak: a long run of words from the instructions that only the user reads, over more than a sentence or with words that are
	// addressed to it. One item of what it knows may be told as it stands, and so may a quotation.
	Leak = "leak"
	// Assistant: the user speaks as the assistant, or writes a call as text.
	Assistant = "assistant"
	// EarlyEnd: the user ends the conversation before the agent answered, or when the agent has just asked something.
	EarlyEnd = "early_end"
	// Invented: a number, an address or a name that stands neither in the instructions nor in what was said or answered.
	Invented = "invented"
)

const (
	// leakWords is the shortest run of words that counts as a leak.
	leakWords = 10
	// maxEvidence bounds an evidence in bytes.
	maxEvidence = 200
	// patience is how often the agent may have spoken before the user may end for want of progress, as it is told.
	patience = 5
	endTool  = "end_conversation"
)

// Check looks at what the user said in one turn. view is what it could see before, in order. The flags are ordered by message,
// then by rule.
func Check(view, said []*worldv1.Message) []*busv1.Flag {
	c := newCheck(view)
	var flags []*busv1.Flag
	for _, m := range said {
		for _, found := range c.message(m) {
			flags = append(flags, &busv1.Flag{Rule: found.rule, Index: m.GetIndex(), Evidence: clip(found.evidence)})
		}
	}
	return flags
}

// finding is a broken rule.
type finding struct{ rule, evidence string }

// check is what the user was told and what has happened.
type check struct {
	knowledge
	instructions []told
	spoken       string // the words of the conversation, joined by blanks
	agent        string // what the agent said last; empty before it spoke
	answers      int    // how often the agent has spoken
	own          string // what the user said last
	acted        bool   // the user has called a tool other than the one that ends
}

func newCheck(view []*worldv1.Message) *check {
	const system, user, agent = worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT
	c := &check{knowledge: newKnowledge()}
	var spoken []string
	for _, m := range view {
		switch {
		case m.GetSender() == system:
			c.instructions = append(c.instructions, read(m.GetContent())...)
		case len(m.GetVisibleTo()) == 1: // a demonstration: nothing of it is true here
			continue
		case m.GetSender() == agent && m.GetRecipient() == user:
			c.agent = m.GetContent()
			c.answers++
			spoken = append(spoken, words(m.GetContent())...)
		case m.GetSender() == user && m.GetRecipient() == agent:
			c.own = m.GetContent()
			spoken = append(spoken, words(m.GetContent())...)
		case m.GetSender() == user && !ends(m.GetContent()):
			c.acted = true
		}
		c.learn(m.GetContent())
	}
	c.spoken = " " + strings.Join(spoken, " ") + " "
	return c
}

func (c *check) message(m *worldv1.Message) []finding {
	if m.GetRecipient() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
		return c.call(m.GetContent())
	}
	text := m.GetContent()
	var found []finding
	if evidence := c.assistant(text); evidence != "" {
		found = append(found, finding{Assistant, evidence})
	}
	if evidence := c.invented(text); evidence != "" {
		found = append(found, finding{Invented, evidence})
	}
	if evidence := c.leak(text); evidence != "" {
		found = append(found, finding{Leak, evidence})
	}
	return found
}

// call looks at a call of the user: the one that ends, or what it writes into one of its own tools.
func (c *check) call(source string) []finding {
	if !ends(source) {
		_, _, arguments, _ := python.ParseCall(source)
		dict, _ := arguments.AsDict()
		for _, item := range dict.Items() {
			text, _ := item.Value.AsStr()
			if evidence := c.invented(text); evidence != "" {
				return []finding{{Invented, evidence}}
			}
		}
		return nil
	}
	switch {
	case c.agent == "":
		return []finding{{EarlyEnd, "the agent has not answered"}}
	case c.answers < patience && asks(c.agent) && !resigned.MatchString(c.own):
		return []finding{{EarlyEnd, c.agent}}
	}
	return nil
}

// ends says whether source ends the conversation.
func ends(source string) bool {
	_, name, _, ok := python.ParseCall(source)
	return ok && name == endTool || !ok && strings.Contains(source, endTool)
}

// asks says whether a text ends by wanting an answer. An offer to do more wants none, and after a report of what is done neither
// does a question whether to go on.
func asks(text string) bool {
	text = strings.TrimRightFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.So, r) || strings.ContainsRune("*_)\uFE0F", r)
	})
	start := 0
	for _, stop := range sentenceEnd.FindAllStringIndex(text, -1) {
		start = stop[1]
	}
	last := text[start:]
	if !strings.HasSuffix(last, "?") && !request.MatchString(last) {
		return false
	}
	return !closing.MatchString(last) && !(offer.MatchString(last) && done.MatchString(text[:start]))
}

var (
	sentenceEnd = regexp.MustCompile(`[.!?]\s|\n`)
	// request is a question without its mark.
	request = regexp.MustCompile(`(?i)\bplease (tell|give|provide|confirm|specify|share|choose|clarify|let me know)\b`)
	// closing is a question after which a user may well end.
	closing = regexp.MustCompile(`(?i)\b(anything else|something else|any other|else (can|may|could) i|more (can|may|could) i|help you with|further (help|assistance))\b`)
	offer   = regexp.MustCompile(`(?i)\b(would you like( me)? to|do you want( me)? to|want me to|should i|shall i)\b`)
	done    = regexp.MustCompile(`(?i)\b((i've|i have|has been|have been|was|were|is now|are now) (now |also |just )?` +
		`(updated|added|removed|deleted|sent|set|saved|turned|switched|created|changed|scheduled|cancelled|canceled|moved|renamed|texted|on|off)|done)\b`)
	// resigned is what a user says who has no answer, or wants none any more.
	resigned = regexp.MustCompile(`(?i)\b(do(n't|n’t| not) (know|remember)|no idea|not sure|never ?mind|forget (it|about it)|leave it|that's (all|it|fine)|can't (say|tell))\b`)
)

// assistant returns what only an assistant says.
func (c *check) assistant(text string) string {
	if evidence := markup.FindString(text); evidence != "" {
		return evidence
	}
	text = quotation.ReplaceAllString(text, `""`) // what others are to read is not the user's own speech
	patterns := []*regexp.Regexp{assistantWords, report}
	if c.acted { // a user with tools of its own has something to report
		patterns = patterns[:1]
	}
	for _, pattern := range patterns {
		if evidence := pattern.FindString(text); evidence != "" && !c.dictated(evidence) {
			return evidence
		}
	}
	return ""
}

// dictated says whether the instructions hold the words of a text: the user may have to have them written.
func (c *check) dictated(text string) bool {
	run := words(text)
	for i := 0; i+len(run) <= len(c.instructions); i++ {
		if matches(c.instructions[i:], run) {
			return true
		}
	}
	return false
}

var (
	// markup is a call written as text.
	markup = regexp.MustCompile(`(?i)end_conversation\s*\(|<tool_call>|\[TOOL_CALLS\]|<<function>>|\{\s*"name"\s*:`)
	// assistantWords are what assistants say.
	assistantWords = regexp.MustCompile(`(?i)\b(how (can|may) i (help|assist)( you)?|i('m| am) (here|happy|glad) to (help|assist)|` +
		`i('d| would) be (happy|glad) to (help|assist)|i can help you with that|what would you like me to|` +
		`anything else i can (do|help)|as an ai (language )?(model|assistant)|i('m| am) (an ai|a virtual|your virtual|an? assistant)\b|` +
		`i apologi[sz]e for (any|the) (inconvenience|confusion)|` +
		`let me know if (you need (any )?(further |more |additional )?(help|assistance)|there('s| is) anything else i can)|` +
		`i('ll| will) (look that up|check that) for you|your (request|reminder|message|contact) has been)`)
	// report is what the one says who has done it.
	report = regexp.MustCompile(`(?i)\bi('ve| have) (updated|added|removed|deleted|sent|set|turned|switched|scheduled|created|changed) ` +
		`(your|the) (contact|reminder|message|wifi|settings?|phone)`)
)

// leak returns the first run of leakWords words that stands in the instructions, may not be told as it stands and has not been
// said.
func (c *check) leak(text string) string {
	said := words(text)
	for start := 0; start+leakWords <= len(said); start++ {
		run := said[start : start+leakWords]
		if !c.secret(run) || strings.Contains(c.spoken, " "+strings.Join(run, " ")+" ") {
			continue
		}
		end := start + leakWords
		for end < len(said) && c.secret(said[start:end+1]) {
			end++
		}
		return strings.Join(said[start:end], " ")
	}
	return ""
}

// secret says whether a run of words stands in the instructions, and nowhere in a way in which a person would say it too.
func (c *check) secret(run []string) bool {
	found := false
	for i := 0; i+len(run) <= len(c.instructions); i++ {
		if !matches(c.instructions[i:], run) {
			continue
		}
		if natural(c.instructions[i : i+len(run)]) {
			return false
		}
		found = true
	}
	return found
}

// natural says whether a person would say the words as they stand: they are of one sentence, and no word speaks to or of the
// simulated user, unless it may be told.
func natural(run []told) bool {
	for _, t := range run {
		if t.sentence != run[0].sentence || !t.free && addressed(t.word) {
			return false
		}
	}
	return true
}

// addressed says whether a word speaks to or of the simulated user or the assistant.
func addressed(word string) bool {
	switch word {
	case "you", "your", "yours", "yourself", "user", "assistant":
		return true
	}
	return false
}

// matches says whether a list that is at least as long begins with a run of words.
func matches(list []told, run []string) bool {
	for i, word := range run {
		if list[i].word != word {
			return false
		}
	}
	return true
}

// told is a word of the instructions.
type told struct {
	word string
	// sentence numbers the sentences. An item of what the user knows is one.
	sentence int
	// free words may be told as they stand: those of such an item and of a quotation.
	free bool
}

// knowledgeTitle begins the lines that list what a user knows, as scenarios have it.
const knowledgeTitle = "What you know:"

var quotation = regexp.MustCompile(`"[^"\n]*"|“[^”\n]*”|«[^»\n]*»`)

// read returns the words of instructions.
func read(text string) []told {
	var list []told
	sentence, knows := 0, false
	add := func(text string, free bool) {
		for _, word := range words(text) {
			list = append(list, told{word, sentence, free})
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		sentence++
		if item := strings.HasPrefix(line, "- "); knows && item {
			add(line, true)
			continue
		}
		knows = strings.HasPrefix(line, knowledgeTitle)
		spans, end := quotation.FindAllStringIndex(line, -1), 0
		for _, span := range append(spans, []int{len(line), len(line)}) {
			for i, part := range sentenceEnd.Split(line[end:span[0]], -1) {
				if i > 0 {
					sentence++
				}
				add(part, false)
			}
			add(line[span[0]:span[1]], true)
			end = span[1]
		}
	}
	return list
}

// clip shortens an evidence to whole runes.
func clip(text string) string {
	if len(text) <= maxEvidence {
		return text
	}
	return strings.ToValidUTF8(text[:maxEvidence], "") + "…"
}
