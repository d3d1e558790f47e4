package dialect

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// The markers of the plain form: for the end of the conversation, a call, and the two speakers.
const (
	plainEnd   = "[END]"
	plainCall  = "[CALL]"
	plainOther = "ASSISTANT:"
	plainSelf  = "YOU:"
)

// parsePlain parses a simulated user's text, up to the point where the model continues for the
// other side. A line that begins with plainCall is a call, and so is a line that ends with
// plainEnd. It drops text beside calls, as every other provider does.
func parsePlain(said string) *provider.Answer {
	r := reader{id: func(n int, _ string) string { return "call_" + strconv.Itoa(n+1) }}
	var text []string
	for rest := strings.TrimSpace(said); rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, plainOther) {
			if len(text) == 0 && len(r.answer.Calls) == 0 {
				r.answer.EmptyReason = "the model speaks for the other side only"
			}
			break
		}
		line = strings.TrimSpace(strings.TrimPrefix(line, plainSelf))
		callText, calls := strings.CutPrefix(line, plainCall)
		switch {
		case calls:
			_, from, _ := strings.Cut(rest, plainCall)
			if object, behind, ok := cutJSON(from); ok {
				callText, after = object, behind
			}
			r.hermes(strings.TrimSpace(callText))
		case strings.HasSuffix(line, plainEnd):
			r.add(world.EndTool, (&python.Dict{}).Value())
			return &r.answer // ignore text after the end
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

// cutJSON cuts a JSON value of several lines off a text. It fails if anything else follows on the
// value's last line.
func cutJSON(text string) (object, after string, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return "", "", false
	}
	rest, after, _ := strings.Cut(text[d.InputOffset():], "\n")
	return string(raw), after, strings.TrimSpace(rest) == ""
}
