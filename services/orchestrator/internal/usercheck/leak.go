package usercheck

import (
	"slices"
	"strings"
)

const (
	// leakWords is how many words of the instructions make a leak.
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
	// free says that it may be told at any time: that the user does not know something, or what it
	// is to say.
	free bool
}

// part is a part of the instructions.
type part int

const (
	generalPart part = iota // what every user is told
	goalPart
	itemPart // of what the user knows
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
	var own, common units
	for _, r := range runs {
		end := r.said[len(r.said)-1].end
		if r.wholesale() && !strings.HasPrefix(text[end:], "?") {
			return text[r.said[0].start:end]
		}
		for _, t := range r.told {
			switch {
			case t.free:
			case t.part == generalPart && c.titled: // an honest user may happen on words that every user is told
				common.add(t.unit)
			default:
				own.add(t.unit)
			}
		}
	}
	if !own.several(c) && !common.several(c) {
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

// reader reads instructions.
type reader struct {
	list  []told
	unit  int
	part  part
	first bool
}

// read returns the words of instructions, without the titles of their parts.
func read(text string) []told {
	var r reader
	for line := range strings.SplitSeq(text, "\n") {
		r.unit++
		r.first = true
		if rest, ok := strings.CutPrefix(line, goalTitle); ok {
			line, r.part = rest, goalPart
		}
		if rest, ok := strings.CutPrefix(line, knowledgeTitle); ok {
			line, r.part = rest, itemPart
		}
		r.line(line)
	}
	for start := 0; start < len(r.list); {
		end := start
		for end < len(r.list) && r.list[end].unit == r.list[start].unit {
			end++
		}
		r.release(r.list[start:end])
		start = end
	}
	return r.list
}

// line reads a line, of which each sentence is a unit unless it is an item of what the user knows.
func (r *reader) line(line string) {
	isItem, end := r.part == itemPart && strings.HasPrefix(line, "- "), 0
	for _, at := range append(quotation.FindAllStringIndex(line, -1), []int{len(line), len(line)}) {
		for i, sentence := range sentenceEnd.Split(line[end:at[0]], -1) {
			if i > 0 && !isItem {
				r.unit++
				r.first = true
			}
			r.add(sentence, false)
		}
		r.add(line[at[0]:at[1]], true)
		end = at[1]
	}
}

// add adds words of the unit that is read.
func (r *reader) add(text string, quoted bool) {
	saying := false
	for i, word := range words(text) {
		r.list = append(r.list, told{word: word, turn: turned(word), unit: r.unit, part: r.part, first: r.first, quoted: quoted, free: saying})
		r.first = false
		saying = saying || r.part == generalPart && i > 0 && word == "that" && r.list[len(r.list)-2].word == "say"
	}
}

// release marks the words of a unit that may be told at any time.
func (r *reader) release(unit []told) {
	begin := make([]string, 0, 3)
	for _, t := range unit[:min(3, len(unit))] {
		begin = append(begin, t.word)
	}
	if ignorance.MatchString(strings.Join(begin, " ")) {
		for i := range unit {
			unit[i].free = true
		}
	}
}
