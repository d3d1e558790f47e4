package contract

import (
	"regexp"
	"slices"
	"strings"
)

const (
	// leakWords is how many words of the instructions make a leak.
	leakWords = 10
	// runWords is the shortest run of words that counts towards one, unitWords how many of a unit make it touched.
	runWords  = 4
	unitWords = 3
)

// told is a word of the instructions.
type told struct {
	word string // as it stands
	turn string // as both sides would say it
	// unit numbers the sentences. An item of what the user knows is one.
	unit int
	// knows says that it is of such an item, quoted that it stands in quotation marks.
	knows, quoted bool
}

// run is a run of words that stands in the instructions too.
type run struct {
	said []token
	told []told
}

// leak returns what of a text tells the instructions wholesale: words that are addressed to the user, or enough words of several
// units of which at least one was not asked for.
func (c *check) leak(text string) string {
	if evidence := stage.FindString(text); evidence != "" {
		return evidence
	}
	runs := c.runs(tokens(text))
	units, count := make(map[int]int), 0
	for _, r := range runs {
		if len(r.said) >= leakWords && r.addressed() {
			return text[r.said[0].start:r.said[len(r.said)-1].end]
		}
		for _, t := range r.told {
			units[t.unit]++
		}
		count += len(r.said)
	}
	touched, unasked := 0, false
	for unit, n := range units {
		if n >= unitWords {
			touched++
			unasked = unasked || !c.asked(unit)
		}
	}
	if touched < 2 || !unasked || count < leakWords {
		return ""
	}
	last := runs[len(runs)-1].said
	return text[runs[0].said[0].start:last[len(last)-1].end]
}

// runs returns the longest runs that stand in the instructions, outside of quotations, and were not said before.
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

// addressed says whether the run takes over a word that speaks to or of the simulated user or the assistant.
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
		if t.unit != unit || !t.knows {
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
	stage = regexp.MustCompile(`(?i)\b(my instructions? (say|tell|are)s?( me)?|(i was|i've been|as) instructed (to|not)|(i('m|’m| am) )?(simulating|role-?playing) (a|the|as)\b|` +
		`simulated user|i('m|’m| am) (playing|acting as) (a|the) (user|person|human)|my (goal|role|task) (here )?is to\b|(my|the) system prompt)`)
	// everything is a question for all that there is.
	everything = regexp.MustCompile(`(?i)\b(details|information|everything|what (else )?(do )?you know)\b`)
)

// read returns the words of instructions, without the titles of their parts.
func read(text string) []told {
	var list []told
	unit, knows := 0, false
	add := func(text string, quoted bool) {
		for _, word := range words(text) {
			list = append(list, told{word, turned(word), unit, knows, quoted})
		}
	}
	quote := func(line string, cut bool) {
		end := 0
		for _, at := range append(quotation.FindAllStringIndex(line, -1), []int{len(line), len(line)}) {
			for i, part := range sentenceEnd.Split(line[end:at[0]], -1) {
				if i > 0 && cut {
					unit++
				}
				add(part, false)
			}
			add(line[at[0]:at[1]], true)
			end = at[1]
		}
	}
	items := false
	for line := range strings.SplitSeq(text, "\n") {
		unit++
		if strings.HasPrefix(line, knowledgeTitle) {
			items = true
			line = strings.TrimPrefix(line, knowledgeTitle)
		}
		knows = items && strings.HasPrefix(line, "- ")
		quote(strings.TrimPrefix(line, goalTitle), !knows)
	}
	return list
}
