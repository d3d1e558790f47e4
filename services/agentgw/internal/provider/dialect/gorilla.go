package dialect

import (
	"errors"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect/expression"
)

// gorillaMarker stands before each call.
const gorillaMarker = "<<function>>"

// parseGorilla reads calls as expressions in Python. If any piece is none, the whole answer is
// text; an argument that JSON cannot write leaves nothing of the answer, as in the original.
func parseGorilla(said string) *provider.Answer {
	r := reader{id: func(n int, _ string) string { return "call_" + strconv.Itoa(n) }}
	names := map[string]string{"FN_CALL_DELIMITER": gorillaMarker}
	lost := false
	for piece := range strings.SplitSeq(said, gorillaMarker) {
		if piece = strings.TrimFunc(piece, blank); piece == "" {
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

// blank says whether Python takes a character off the ends of a text.
func blank(r rune) bool { return unicode.IsSpace(r) || r >= '\x1c' && r <= '\x1f' }
