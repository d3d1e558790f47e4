package dialect

import (
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// The marks of the plain form: what ends the conversation, what begins a call, and what begins a speaker's lines.
const (
	plainEnd   = "[END]"
	plainCall  = "[CALL]"
	plainOther = "ASSISTANT:"
	plainSelf  = "YOU:"

	endTool = "end_conversation"
)

// parsePlain reads what a person says up to where the model goes on for the other side. A line that ends with the mark of the end
// is a call, and so is one that begins with that of a call; text beside calls is dropped, as by every other provider.
func parsePlain(said string) *provider.Answer {
	r := reader{id: func(n int, _ string) string { return "call_" + strconv.Itoa(n+1) }}
	var text []string
	for i, line := range strings.Split(strings.TrimSpace(said), "\n") {
		line = strings.TrimSpace(line)
		if i > 0 && strings.HasPrefix(line, plainOther) {
			break
		}
		line = strings.TrimSpace(strings.TrimPrefix(line, plainSelf))
		rest, calls := strings.CutPrefix(line, plainCall)
		switch {
		case calls:
			r.hermes(strings.TrimSpace(rest))
		case strings.HasSuffix(line, plainEnd):
			r.add(endTool, (&python.Dict{}).Value())
			return &r.answer // nothing comes after the end
		default:
			text = append(text, line)
		}
	}
	if len(r.answer.Calls) == 0 {
		r.answer.Text = strings.TrimSpace(strings.Join(text, "\n"))
	}
	return &r.answer
}
