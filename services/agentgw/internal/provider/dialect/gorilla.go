package dialect

import (
	"errors"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect/expression"
)

// gorillaMarker precedes each call.
const gorillaMarker = "<<function>>"

// parseGorilla parses calls as Python expressions. If any piece is no call, the whole answer is
// text. An argument that JSON cannot represent empties the answer, as in the original.
func parseGorilla(text string) *provider.Answer {
	r := reader{id: func(n int, _ string) string { return "call_" + strconv.Itoa(n) }}
	names := map[string]string{"FN_CALL_DELIMITER": gorillaMarker}
	unencodable := false
	for piece := range strings.SplitSeq(text, gorillaMarker) {
		if piece = python.Strip(piece); piece == "" {
			continue
		}
		call, err := expression.Parse(piece, names)
		switch {
		case errors.Is(err, expression.ErrNoJSON):
			unencodable = true
		case err != nil:
			return &provider.Answer{Text: text}
		default:
			r.add(call.Tool, call.Arguments)
		}
	}
	switch {
	case unencodable:
		return &provider.Answer{EmptyReason: expression.ErrNoJSON.Error()}
	case len(r.answer.Calls) == 0:
		return &provider.Answer{Text: text}
	default:
		return &r.answer
	}
}
