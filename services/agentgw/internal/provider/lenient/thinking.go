package lenient

import (
	"regexp"
	"strings"
)

// thinkingTag matches the beginning or the end of reasoning within a text.
var thinkingTag = regexp.MustCompile(`(?i)<(/?)(?:think|thinking|thought)>|\[(/?)THINK\]`)

// SplitThinking splits a text into the reasoning that servers without a parser for it leave in the
// text, and what the model says. Reasoning stands between tags. The first tag may be missing, if
// the prompt ends with it, and the last one, if the answer was cut off. A text without tags is
// returned as it is.
func SplitThinking(text string) (reasoning, said string) {
	var thought, spoken []string
	rest, within := text, false
	for {
		tag := thinkingTag.FindStringSubmatchIndex(rest)
		if tag == nil {
			break
		}
		piece, closes := rest[:tag[0]], rest[tag[0]+1] == '/'
		if within || closes && len(spoken)+len(thought) == 0 {
			thought = append(thought, piece)
		} else {
			spoken = append(spoken, piece)
		}
		rest, within = rest[tag[1]:], !closes
	}
	switch {
	case len(rest) == len(text):
		return "", text
	case within:
		thought = append(thought, rest)
	default:
		spoken = append(spoken, rest)
	}
	return strings.TrimSpace(strings.Join(thought, "\n")), strings.TrimSpace(strings.Join(spoken, ""))
}
