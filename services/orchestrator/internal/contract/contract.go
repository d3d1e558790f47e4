// Package contract watches a simulated user while it speaks: rules with evidence, and no model, tell where it leaves its role.
// A flag is a suspicion that a person looks at; it never changes a score.
package contract

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/python"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// The rules.
const (
	// Leak: a long run of words from the instructions that only the user reads.
	Leak = "leak"
	// Assistant: the user speaks as the assistant, or writes a call as text.
	Assistant = "assistant"
	// EarlyEnd: the user ends the conversation before the agent answered, or when the agent has just asked something.
	EarlyEnd = "early_end"
	// Invented: a number, an address or a name that stands neither in the instructions nor in what was said.
	Invented = "invented"
)

// Rules returns all rules, sorted.
func Rules() []string { return []string{Assistant, EarlyEnd, Invented, Leak} }

const (
	// leakWords is the shortest run of words that counts as a leak.
	leakWords = 10
	// maxEvidence bounds an evidence in bytes.
	maxEvidence = 200
	endTool     = "end_conversation"
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

// check is what the user may know.
type check struct {
	instructions []string // words of the instructions
	spoken       string   // the words of the conversation, joined by blanks
	known        map[string]bool
	digits       string // all digits that are known, number by number
	agent        string // what the agent said last; empty before it spoke
}

func newCheck(view []*worldv1.Message) *check {
	const system, user, agent = worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT
	c := &check{known: make(map[string]bool)}
	var spoken []string
	for _, m := range view {
		demonstration := len(m.GetVisibleTo()) == 1
		switch {
		case m.GetSender() == system:
			c.instructions = append(c.instructions, words(m.GetContent())...)
		case demonstration:
			continue
		case m.GetSender() == agent && m.GetRecipient() == user:
			c.agent = m.GetContent()
			spoken = append(spoken, words(m.GetContent())...)
		case m.GetSender() == user && m.GetRecipient() == agent:
			spoken = append(spoken, words(m.GetContent())...)
		}
		c.learn(m.GetContent())
	}
	c.spoken = " " + strings.Join(spoken, " ") + " "
	return c
}

// learn adds the facts of a text.
func (c *check) learn(text string) {
	for _, word := range words(text) {
		c.known[word] = true
	}
	for _, number := range numbers(text) {
		c.digits += number + " "
	}
}

func (c *check) message(m *worldv1.Message) []finding {
	if m.GetRecipient() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
		return c.call(m.GetContent())
	}
	text := m.GetContent()
	var found []finding
	if evidence := assistantWords.FindString(text); evidence != "" {
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

// call looks at a call of the user: ending is the only one that a rule knows.
func (c *check) call(source string) []finding {
	if _, name, _, ok := python.ParseCall(source); ok && name != endTool || !ok && !strings.Contains(source, endTool) {
		return nil
	}
	switch {
	case c.agent == "":
		return []finding{{EarlyEnd, "the agent has not answered"}}
	case strings.HasSuffix(strings.TrimSpace(c.agent), "?") && !closing.MatchString(c.agent):
		return []finding{{EarlyEnd, c.agent}}
	}
	return nil
}

// closing is a question after which a user may well end.
var closing = regexp.MustCompile(`(?i)\b(anything else|something else|any other|else (can|may) i|more (can|may) i|help you with)\b`)

// assistantWords are what assistants say, and calls written as text.
var assistantWords = regexp.MustCompile(`(?i)\b(how (can|may) i (help|assist)( you)?|i('m| am) (here|happy|glad) to (help|assist)|` +
	`(is there )?anything else i can (do|help)|as an ai\b|let me know if you need|` +
	`i('ve| have) (updated|added|removed|deleted|sent|set|turned|switched|scheduled|created|changed) (your|the) (contact|reminder|message|wifi|settings?|phone)|` +
	`i('ll| will) (look that up|check that) for you|your (request|reminder|message|contact) has been)|` +
	`end_conversation\s*\(|<tool_call>|\{\s*"name"\s*:`)

// leak returns the first run of leakWords words that stands in the instructions and has not been said.
func (c *check) leak(text string) string {
	said := words(text)
	for start := 0; start+leakWords <= len(said); start++ {
		run := said[start : start+leakWords]
		if contains(c.instructions, run) && !strings.Contains(c.spoken, " "+strings.Join(run, " ")+" ") {
			end := start + leakWords
			for end < len(said) && contains(c.instructions, said[start:end+1]) {
				end++
			}
			return strings.Join(said[start:end], " ")
		}
	}
	return ""
}

func contains(list, run []string) bool {
	for i := 0; i+len(run) <= len(list); i++ {
		if slices.Equal(list[i:i+len(run)], run) {
			return true
		}
	}
	return false
}

// invented returns the first fact of a text that is not known.
func (c *check) invented(text string) string {
	for _, number := range numbers(text) {
		if len(number) > 1 && !strings.Contains(c.digits, number) {
			return number
		}
	}
	for _, address := range mail.FindAllString(text, -1) {
		for _, part := range words(address) {
			if !c.known[part] {
				return address
			}
		}
	}
	for _, name := range names(text) {
		if !c.known[strings.ToLower(name)] {
			return name
		}
	}
	return ""
}

var (
	mail = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+`)
	// numeral is digits as people write them: 415-555 0199, (020) 7946, 7:30, 1,000.
	numeral = regexp.MustCompile(`\d(?:[\d().,:/ -]*\d)?`)
	// word is letters and digits; what follows an apostrophe belongs to it.
	word = regexp.MustCompile(`[\p{L}\p{N}]+(?:['’][\p{L}]+)?`)
)

// numbers returns the digits of each number in a text.
func numbers(text string) []string {
	var list []string
	for _, found := range numeral.FindAllString(text, -1) {
		digits := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, found)
		list = append(list, digits)
	}
	return list
}

// names returns the words that are capital though no sentence begins with them.
func names(text string) []string {
	const shortest = 3
	var list []string
	for _, span := range word.FindAllStringIndex(text, -1) {
		found := []rune(text[span[0]:span[1]])
		if len(found) >= shortest && unicode.IsUpper(found[0]) && unicode.IsLower(found[1]) && !beginsSentence(text[:span[0]]) {
			list = append(list, strings.TrimSuffix(strings.TrimSuffix(string(found), "'s"), "’s"))
		}
	}
	return list
}

// beginsSentence says whether a sentence begins after a text: its first word is capital whatever it is.
func beginsSentence(before string) bool {
	before = strings.TrimRightFunc(before, func(r rune) bool { return unicode.IsSpace(r) && r != '\n' })
	return before == "" || strings.ContainsAny(before[len(before)-1:], ".!?:\n\"(") || strings.HasSuffix(before, "…") || strings.HasSuffix(before, "“")
}

// words returns the words of a text in lower case, possessives cut.
func words(text string) []string {
	list := word.FindAllString(strings.ToLower(text), -1)
	for i := range list {
		list[i] = strings.TrimSuffix(strings.TrimSuffix(list[i], "'s"), "’s")
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
