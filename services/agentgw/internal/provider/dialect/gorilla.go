package dialect

import (
	"errors"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect/expression"
)

// gorillaMarker stands before each call.
const gorillaMarker = "<<function>>"

// parseGorilla reads calls as expressions in Python. If any piece is none, the whole answer is text; an argument that JSON cannot
// write leaves nothing of the answer, as in the original.
func parseGorilla(said string) *provider.Answer {
	r := reader{id: func(n int, _ string) string { return "call_" + strconv.Itoa(n) }}
	names := map[string]python.Value{"FN_CALL_DELIMITER": python.Str(gorillaMarker)}
	lost := false
	for piece := range strings.SplitSeq(said, gorillaMarker) {
		if piece = strings.TrimSpace(piece); piece == "" {
			continue
		}
		call, err := expression.Parse(piece, names)
		switch {
		case errors.Is(err, expression.ErrNoJSON):
			lost = true
		case err != nil:
			return &provider.Answer{Text: said}
		default:
			r.add(call.Tool, call.Arguments)
		}
	}
	switch {
	case lost:
		return &provider.Answer{Nothing: expression.ErrNoJSON.Error()}
	case len(r.answer.Calls) == 0:
		return &provider.Answer{Text: said}
	default:
		return &r.answer
	}
}
