package expression

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// allQuotes are the quotes that a text may stand in, those that Python prefers first.
var allQuotes = []string{"'", `"`, `"""`, "'''"}

// joined writes a formatted text, in quotes that no part of it has.
func (w *writer) joined(n *node) {
	w.WriteString("f")
	parts := make([]string, len(n.items))
	for i, item := range n.items {
		parts[i] = w.part(item.value)
	}
	if w.inside {
		escaped, quotes := quoted(strings.Join(parts, ""), allQuotes, false)
		w.WriteString(quotes[0] + escaped + quotes[0])
		return
	}
	var b strings.Builder
	quotes := allQuotes
	for i, item := range n.items {
		escaped, possible := quoted(parts[i], quotes, item.value.kind == nodeConstant)
		if !slices.ContainsFunc(possible, func(quote string) bool { return slices.Contains(quotes, quote) }) {
			// No quotes do for all parts.
			b.Reset()
			quotes = []string{"'''"}
			for _, part := range parts {
				text := python.Repr(python.Str(`"` + part))
				b.WriteString(text[len(`'"`) : len(text)-1])
			}
			break
		}
		b.WriteString(escaped)
		quotes = possible
	}
	w.WriteString(quotes[0] + b.String() + quotes[0])
}

// part returns a part of a formatted text, without escapes.
func (w *writer) part(n *node) string {
	if n.kind == nodeConstant {
		return strings.NewReplacer("{", "{{", "}", "}}").Replace(n.value.text)
	}
	inner := writer{inside: true}
	inner.node(n.child(0), bindTest+1)
	text := inner.String()
	w.failed = w.failed || inner.failed || strings.Contains(text, `\`)
	var b strings.Builder
	b.WriteString("{")
	if strings.HasPrefix(text, "{") {
		b.WriteString(" ") // two braces would be one
	}
	b.WriteString(text)
	if n.text != "" {
		b.WriteString("!" + n.text)
	}
	if len(n.items) > 1 {
		b.WriteString(":")
		for _, item := range n.child(1).items {
			b.WriteString(w.part(item.value))
		}
	}
	b.WriteString("}")
	return b.String()
}

// quoted escapes a text and returns in which of these quotes it can stand. Line breaks and tabs are escaped where blanks says so.
func quoted(text string, quotes []string, blanks bool) (escaped string, possible []string) {
	var b strings.Builder
	for _, c := range characters(text) {
		if c == "'" || c == `"` || !blanks && (c == "\n" || c == "\t") {
			b.WriteString(c)
		} else {
			repr := python.Repr(python.Str(c))
			b.WriteString(repr[1 : len(repr)-1])
		}
	}
	escaped = b.String()
	for _, quote := range quotes {
		if !strings.Contains(escaped, quote) && (len(quote) == 3 || !strings.Contains(escaped, "\n")) {
			possible = append(possible, quote)
		}
	}
	if len(possible) == 0 {
		repr := python.Repr(python.Str(text))
		quote := repr[:1]
		if i := slices.IndexFunc(quotes, func(q string) bool { return q[0] == quote[0] }); i >= 0 {
			quote = quotes[i]
		}
		return repr[1 : len(repr)-1], []string{quote}
	}
	if escaped != "" {
		last := escaped[len(escaped)-1]
		slices.SortStableFunc(possible, func(a, b string) int { return compareBool(a[0] == last, b[0] == last) })
		if possible[0][0] == last {
			escaped = escaped[:len(escaped)-1] + `\` + escaped[len(escaped)-1:]
		}
	}
	return escaped, possible
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}
