package usercheck

import (
	"slices"
	"strings"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

const (
	// leakWords is how many words of what the user was told make a leak.
	leakWords = 10
	// runWords is the shortest run of words that counts towards one, unitWords how many of a unit
	// make it touched.
	runWords  = 4
	unitWords = 3
	// goalWords is how many words of the goal in a row are a leak, headWords how many if its
	// beginning is among them: nobody speaks of a wish of one's own as instructions do ("have",
	// "learn").
	goalWords = 16
	headWords = 12
	// itemWords is how many words of an item that speaks to the user are a leak.
	itemWords = 7
)

// told is a word of the instructions.
type told struct {
	word string // as it stands
	turn string // as both sides would say it
	// unit numbers the sentences. An item of what the user knows is one.
	unit int
	part part
	// first says that a sentence or an item begins with it, quoted that it stands in quotation
	// marks.
	first, quoted bool
	// free says that it may be told at any time: that the user does not know something.
	free bool
}

// part is a part of the instructions.
type part int

const (
	goalPart part = iota
	itemPart      // of what the user knows
)

// run is a run of words that stands in the instructions too.
type run struct {
	said []token
	told []told
}

// leak returns what of a text tells the instructions wholesale: words that are addressed to the
// user, the goal as it is worded, or enough words of several units of which at least one was not
// asked for.
func (c *check) leak(text string) string {
	if evidence := stage.FindString(text); evidence != "" {
		return evidence
	}
	runs := c.runs(tokens(text))
	var touched units
	for _, r := range runs {
		end := r.said[len(r.said)-1].end
		if r.wholesale() && !strings.HasPrefix(text[end:], "?") {
			return text[r.said[0].start:end]
		}
		for _, t := range r.told {
			if !t.free {
				touched.add(t.unit)
			}
		}
	}
	if !touched.several(c) {
		return ""
	}
	last := runs[len(runs)-1].said
	return text[runs[0].said[0].start:last[len(last)-1].end]
}

// units counts words of the instructions by their units.
type units struct {
	words map[int]int
	count int
}

func (u *units) add(unit int) {
	if u.words == nil {
		u.words = make(map[int]int)
	}
	u.words[unit]++
	u.count++
}

// several says whether enough words of several units were told of which one was not asked for.
func (u *units) several(c *check) bool {
	touched, unasked := 0, false
	for unit, n := range u.words {
		if n >= unitWords {
			touched++
			unasked = unasked || !c.asked(unit)
		}
	}
	return touched > 1 && unasked && u.count >= leakWords
}

// wholesale says whether a run is a leak by itself.
func (r run) wholesale() bool {
	inGoal, begins := 0, false
	for _, t := range r.told {
		if t.part == goalPart && !t.free {
			inGoal++
			begins = begins || t.first
		}
	}
	first := r.told[0]
	return len(r.said) >= leakWords && r.addressed() || inGoal >= goalWords || begins && inGoal >= headWords ||
		len(r.said) >= itemWords && first.first && first.part == itemPart && first.word == "you" && r.said[0].word == "you"
}

// runs returns the longest runs that stand in the instructions, outside of quotations, and were not
// said before.
func (c *check) runs(said []token) []run {
	var list []run
	for i := 0; i < len(said); {
		best := run{}
		for j := range c.instructions {
			n := 0
			for i+n < len(said) && j+n < len(c.instructions) && c.instructions[j+n].turn == turned(said[i+n].word) && !c.instructions[j+n].quoted {
				n++
			}
			if n > len(best.said) {
				best = run{said[i : i+n], c.instructions[j : j+n]}
			}
		}
		if len(best.said) >= runWords && !c.heard(best.said) {
			list = append(list, best)
		}
		i += max(1, len(best.said))
	}
	return list
}

// heard says whether a run of words was said before.
func (c *check) heard(said []token) bool {
	for i := 0; i+len(said) <= len(c.spoken); i++ {
		if same(c.spoken[i:], said) {
			return true
		}
	}
	return false
}

// same says whether a list that is at least as long begins with a run of words.
func same(spoken []string, said []token) bool {
	for i, t := range said {
		if spoken[i] != turned(t.word) {
			return false
		}
	}
	return true
}

// addressed says whether the run takes over a word that speaks to or of the simulated user or the
// assistant.
func (r run) addressed() bool {
	for i, t := range r.told {
		switch t.word {
		case "you", "your", "yours", "yourself", "user", "assistant":
			if r.said[i].word == t.word {
				return true
			}
		}
	}
	return false
}

// asked says whether the agent has just asked for an item of what the user knows.
func (c *check) asked(unit int) bool {
	if everything.MatchString(c.agent) {
		return true
	}
	question := stems(words(c.agent))
	for _, t := range c.instructions {
		if t.unit != unit || t.part != itemPart {
			continue
		}
		if list := stems([]string{t.word}); len(list) > 0 && slices.Contains(question, list[0]) {
			return true
		}
	}
	return false
}

var (
	// stage is what the one says who speaks of the play.
	stage = phrase("stage")
	// everything is a question for all that there is.
	everything = phrase("everything")
	// ignorance is what a unit of the instructions begins with that the user may tell at any time.
	ignorance = phrase("ignorance")
)

// reader reads what the user was told.
type reader struct {
	list  []told
	unit  int
	part  part
	first bool
}

// read returns the words of the goal, of which each sentence is a unit, and of what the user knows
// and does not know, of which each item is one.
func read(user *evaluationv1.User) []told {
	r := reader{part: goalPart}
	for line := range strings.SplitSeq(head(user.GetGoal()), "\n") {
		r.text(line)
	}
	r.part = itemPart
	for _, item := range user.GetKnowledge() {
		r.text(head(item))
	}
	r.release()
	before := len(r.list)
	for _, item := range user.GetUnknown() {
		r.text(head(item))
	}
	for i := range r.list[before:] {
		r.list[before+i].free = true
	}
	return r.list
}

// text reads a line of the goal or an item.
func (r *reader) text(text string) {
	r.begin()
	end := 0
	for _, at := range append(quotation.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		for i, sentence := range sentenceEnd.Split(text[end:at[0]], -1) {
			if i > 0 && r.part == goalPart {
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

// add adds words of the unit that is read.
func (r *reader) add(text string, quoted bool) {
	for _, word := range words(text) {
		r.list = append(r.list, told{word: word, turn: turned(word), unit: r.unit, part: r.part, first: r.first, quoted: quoted})
		r.first = false
	}
}

// release marks the words of each unit that may be told at any time.
func (r *reader) release() {
	for start := 0; start < len(r.list); {
		end := start
		var unit []string
		for end < len(r.list) && r.list[end].unit == r.list[start].unit {
			unit = append(unit, r.list[end].word)
			end++
		}
		free := ignorance.MatchString(strings.Join(unit[:min(3, len(unit))], " "))
		for ; start < end; start++ {
			r.list[start].free = free
		}
	}
}
