package usercheck

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/numeral"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

const (
	// leakWords is the number of words of the instructions that make a leak.
	leakWords = 10
	// runWords is the shortest run of words that counts towards a leak. unitWords is the number of
	// words of a unit that count as touching it.
	runWords  = 4
	unitWords = 3
	// goalWords is the number of consecutive words of the goal that are a leak, headWords the number
	// if its beginning is among them. Nobody words a wish as instructions do ("have", "learn").
	goalWords = 16
	headWords = 12
	// itemWords is the number of words of an item addressed to the user that are a leak.
	itemWords = 7
)

// instructionWord is a word of the instructions.
type instructionWord struct {
	word    string // verbatim
	swapped string // in the same grammatical person for both sides
	// unit numbers the sentences of the goal and the items of the user's knowledge.
	unit    int
	section section
	// first: the word begins a sentence or an item. quoted: it is in quotation marks.
	first, quoted bool
	// tellable: the user may say it at any time, e.g. that it does not know something.
	tellable bool
}

// section is a part of the instructions.
type section int

const (
	goalSection section = iota
	itemSection         // an item of the user's knowledge
)

// run is a run of words that also occurs in the instructions.
type run struct {
	words        []numeral.Token
	instructions []instructionWord
}

// findLeak returns the part of a text that reveals the instructions wholesale: words addressed to
// the user, the wording of the goal, or enough words of several units of which at least one was not
// asked for.
func (c *check) findLeak(text string) string {
	if evidence := stagePhrase().FindString(text); evidence != "" {
		return evidence
	}
	runs := c.runs(numeral.Tokens(text))
	touched := make(map[int]int) // words by unit of the instructions
	for _, r := range runs {
		end := r.words[len(r.words)-1].End
		if r.isLeak() && !strings.HasPrefix(text[end:], "?") {
			return text[r.words[0].Start:end]
		}
		for _, t := range r.instructions {
			if !t.tellable {
				touched[t.unit]++
			}
		}
	}
	if !c.coversSeveralUnits(touched) {
		return ""
	}
	last := runs[len(runs)-1].words
	return text[runs[0].words[0].Start:last[len(last)-1].End]
}

// coversSeveralUnits reports whether there are enough words of several units, of which one was not
// asked for.
func (c *check) coversSeveralUnits(words map[int]int) bool {
	touched, total, unasked := 0, 0, false
	for unit, n := range words {
		total += n
		if n >= unitWords {
			touched++
			unasked = unasked || !c.askedFor(unit)
		}
	}
	return touched > 1 && unasked && total >= leakWords
}

// isLeak reports whether a run is a leak by itself.
func (r run) isLeak() bool {
	inGoal, begins := 0, false
	for _, t := range r.instructions {
		if t.section == goalSection && !t.tellable {
			inGoal++
			begins = begins || t.first
		}
	}
	first := r.instructions[0]
	return len(r.words) >= leakWords && r.addressesUser() || inGoal >= goalWords || begins && inGoal >= headWords ||
		len(r.words) >= itemWords && first.first && first.section == itemSection && first.word == "you" && r.words[0].Word == "you"
}

// runs returns the longest runs that occur in the instructions, outside of quotations, and were not
// said before.
func (c *check) runs(words []numeral.Token) []run {
	var list []run
	for i := 0; i < len(words); {
		best := run{}
		for j := range c.instructions {
			n := 0
			for i+n < len(words) && j+n < len(c.instructions) && c.instructions[j+n].swapped == swapPerson(words[i+n].Word) && !c.instructions[j+n].quoted {
				n++
			}
			if n > len(best.words) {
				best = run{words[i : i+n], c.instructions[j : j+n]}
			}
		}
		if len(best.words) >= runWords && !c.occurredBefore(best.words) {
			list = append(list, best)
		}
		i += max(1, len(best.words))
	}
	return list
}

// occurredBefore reports whether a run of words was said before.
func (c *check) occurredBefore(run []numeral.Token) bool {
	for i := 0; i+len(run) <= len(c.spoken); i++ {
		if slices.EqualFunc(c.spoken[i:i+len(run)], run, func(spoken string, t numeral.Token) bool { return spoken == swapPerson(t.Word) }) {
			return true
		}
	}
	return false
}

// addressesUser reports whether the run contains a word that addresses or mentions the simulated
// user or the assistant.
func (r run) addressesUser() bool {
	for i, t := range r.instructions {
		switch t.word {
		case "you", "your", "yours", "yourself", "user", "assistant":
			if r.words[i].Word == t.word {
				return true
			}
		}
	}
	return false
}

// askedFor reports whether the agent has just asked for an item of the user's knowledge.
func (c *check) askedFor(unit int) bool {
	if everything().MatchString(c.agent) {
		return true
	}
	question := stems(words(c.agent))
	for _, t := range c.instructions {
		if t.unit != unit || t.section != itemSection {
			continue
		}
		if list := stems([]string{t.word}); len(list) > 0 && slices.Contains(question, list[0]) {
			return true
		}
	}
	return false
}

var (
	// stagePhrase matches phrases about the role play itself.
	stagePhrase = phrase("stage")
	// everything is a question for all information.
	everything = phrase("everything")
	// ignorance begins a unit that the user may say at any time.
	ignorance = phrase("ignorance")
)

// reader collects the words of the instructions.
type reader struct {
	list    []instructionWord
	unit    int
	section section
	first   bool
}

// instructionWords returns the words of the goal, with one unit per sentence, and of what the user
// knows and does not know, with one unit per item.
func instructionWords(user *evaluationv1.User) []instructionWord {
	r := reader{section: goalSection}
	for line := range strings.SplitSeq(truncate(user.GetGoal()), "\n") {
		r.text(line)
	}
	r.section = itemSection
	for _, item := range user.GetKnowledge() {
		r.text(truncate(item))
	}
	r.markFreeToSay()
	before := len(r.list)
	for _, item := range user.GetUnknown() {
		r.text(truncate(item))
	}
	for i := range r.list[before:] {
		r.list[before+i].tellable = true
	}
	return r.list
}

// text adds a line of the goal or an item.
func (r *reader) text(text string) {
	r.begin()
	end := 0
	for _, at := range append(quotation.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		for i, sentence := range sentenceEnd.Split(text[end:at[0]], -1) {
			if i > 0 && r.section == goalSection {
				r.begin()
			}
			r.add(sentence, false)
		}
		r.add(text[at[0]:at[1]], true)
		end = at[1]
	}
}

// begin begins a unit.
func (r *reader) begin() {
	r.unit++
	r.first = true
}

// add adds words of the current unit.
func (r *reader) add(text string, quoted bool) {
	for _, word := range words(text) {
		r.list = append(r.list, instructionWord{word: word, swapped: swapPerson(word), unit: r.unit, section: r.section, first: r.first, quoted: quoted})
		r.first = false
	}
}

// markFreeToSay marks the words that may be said at any time.
func (r *reader) markFreeToSay() {
	for start := 0; start < len(r.list); {
		end := start
		var unit []string
		for end < len(r.list) && r.list[end].unit == r.list[start].unit {
			unit = append(unit, r.list[end].word)
			end++
		}
		free := ignorance().MatchString(strings.Join(unit[:min(3, len(unit))], " "))
		for ; start < end; start++ {
			r.list[start].tellable = free
		}
	}
}
