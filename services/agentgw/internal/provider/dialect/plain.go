package dialect

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// The marks of the plain form: what ends the conversation, what begins a call, and what begins a
// speaker's lines.
const (
	plainEnd   = "[END]"
	plainCall  = "[CALL]"
	plainOther = "ASSISTANT:"
	plainSelf  = "YOU:"

	endTool = "end_conversation"
)

// parsePlain reads what a person says up to where the model goes on for the other side. A line that
// ends with the mark of the end is a call, and so is one that begins with that of a call; text
// beside calls is dropped, as by every other provider.
func parsePlain(said string) *provider.Answer {
	r := reader{id: func(n int, _ string) string { return "call_" + strconv.Itoa(n+1) }}
	var text []string
	for rest := strings.TrimSpace(said); rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, plainOther) {
			if len(text) == 0 && len(r.answer.Calls) == 0 {
				r.answer.Nothing = "the model speaks for the other side only"
			}
			break
		}
		line = strings.TrimSpace(strings.TrimPrefix(line, plainSelf))
		made, calls := strings.CutPrefix(line, plainCall)
		switch {
		case calls:
			_, from, _ := strings.Cut(rest, plainCall)
			if object, behind, ok := spread(from); ok {
				made, after = object, behind
			}
			r.hermes(strings.TrimSpace(made))
		case strings.HasSuffix(line, plainEnd):
			r.add(endTool, (&python.Dict{}).Value())
			return &r.answer // nothing comes after the end
		default:
			text = append(text, line)
		}
		rest = after
	}
	if len(r.answer.Calls) == 0 {
		r.answer.Text = strings.TrimSpace(strings.Join(text, "\n"))
	}
	return &r.answer
}

// spread cuts JSON off that goes over several lines, with nothing else on the last of them.
func spread(text string) (object, after string, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return "", "", false
	}
	rest, after, _ := strings.Cut(text[d.InputOffset():], "\n")
	return string(raw), after, strings.TrimSpace(rest) == ""
}
