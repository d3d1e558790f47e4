package prove

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// needed returns the different necessary calls of the oracle: without them the score is lower, or a
// later necessary step uses their answers.
func (s *candidate) needed() []string {
	matters := make([]bool, len(s.oracle.steps))
	for i, st := range slices.Backward(s.oracle.steps) {
		if st.call == nil {
			matters[i] = len(st.milestones) > 0
			continue
		}
		if st.failed {
			continue
		}
		matters[i] = s.isRequired(st)
		for j := i + 1; j < len(matters) && !matters[i]; j++ {
			matters[i] = matters[j] && s.providesFactTo(st, s.oracle.steps[j])
		}
	}
	seen := make(map[string]bool)
	var names []string
	for i, st := range s.oracle.steps {
		if key := st.call.GetTool() + st.call.GetArgumentsJson(); st.call != nil && matters[i] && !seen[key] {
			seen[key] = true
			names = append(names, st.call.GetTool())
		}
	}
	return names
}

// isRequired returns whether the oracle scores lower without a call.
func (s *candidate) isRequired(st *step) bool {
	for _, e := range s.experiments {
		if e.dropped == st.call.GetId() {
			return e.result.GetSimilarity() < perfectScore
		}
	}
	// Every successful call has such an experiment, its own or that of a milestone.
	return true
}

// providesFactTo returns whether a later step uses a fact that only a call's answer contains.
func (s *candidate) providesFactTo(st, later *step) bool {
	if later.index <= st.index {
		return false
	}
	texts := s.oracle.userTextsBefore(later.index)
	return slices.ContainsFunc(later.facts(), func(fact string) bool { return contains(st.answer, fact) && !contains(texts, fact) })
}

// facts returns the facts of a step: the values of its arguments, or the numbers and names of its
// text.
func (st *step) facts() []string {
	if st.call == nil {
		return regexp.MustCompile(`[+]?[0-9][0-9.:]*[0-9]|[A-Z][\p{L}'-]{2,}`).FindAllString(st.say, -1)
	}
	arguments, err := decodeArguments(st.call.GetArgumentsJson())
	if err != nil {
		return nil
	}
	var out []string
	for _, a := range arguments {
		if text, ok := a.unquote(); ok && len(text) > 2 {
			out = append(out, text)
		} else if _, ok := a.number(); ok {
			out = append(out, a.value)
		}
	}
	return out
}

// contains returns whether a text contains a fact; numbers compare by value.
func contains(text, fact string) bool {
	if number, err := strconv.ParseFloat(fact, 64); err == nil && !strings.HasPrefix(fact, "+") {
		for _, found := range regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?`).FindAllString(text, -1) {
			if value, err := strconv.ParseFloat(found, 64); err == nil && math.Abs(value-number) < 1e-9 {
				return true
			}
		}
		return false
	}
	return strings.Contains(text, fact)
}
