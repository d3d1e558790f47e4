package syntax

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/python"
)

// allQuotes are Python's quotes, in the order in which Python prefers them.
var allQuotes = []string{"'", `"`, `"""`, "'''"}

// joined writes a formatted text, in quotes that no part of it has.
func (w *writer) joined(x *JoinedStr) {
	w.WriteString("f")
	fields := flatten(x.Parts)
	parts := make([]string, len(fields))
	for i, field := range fields {
		parts[i] = w.part(field)
	}
	if w.inside {
		escaped, quotes := quoted(strings.Join(parts, ""), allQuotes, false)
		w.WriteString(quotes[0] + escaped + quotes[0])
		return
	}
	var b strings.Builder
	quotes := allQuotes
	for i, field := range fields {
		_, isText := field.(*Constant)
		escaped, possible := quoted(parts[i], quotes, isText)
		if !slices.ContainsFunc(possible, func(quote string) bool { return slices.Contains(quotes, quote) }) {
			// No quotes fit all parts.
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

// flatten returns the parts of an f-string, with those of {x=} inlined. It joins neighbouring
// texts.
func flatten(parts []Expr) []Expr {
	var all []Expr
	for _, part := range parts {
		inner := []Expr{part}
		if joined, ok := part.(*JoinedStr); ok {
			inner = joined.Parts
		}
		for _, x := range inner {
			text, ok := x.(*Constant)
			if n := len(all); ok && n > 0 {
				if before, ok := all[n-1].(*Constant); ok {
					all[n-1] = &Constant{before.Pos, constantText(before) + constantText(text)}
					continue
				}
			}
			all = append(all, x)
		}
	}
	return all
}

func constantText(x *Constant) string {
	text, _ := x.Value.(string)
	return text
}

// part returns a part of an f-string, without escapes.
func (w *writer) part(x Expr) string {
	if text, ok := x.(*Constant); ok {
		return strings.NewReplacer("{", "{{", "}", "}}").Replace(constantText(text))
	}
	field, ok := x.(*FormattedValue)
	if !ok {
		w.failed = true
		return ""
	}
	inner := writer{inside: true}
	inner.expr(field.Value, bindTest+1)
	text := inner.String()
	w.failed = w.failed || inner.failed || strings.Contains(text, `\`)
	var b strings.Builder
	b.WriteString("{")
	if strings.HasPrefix(text, "{") {
		b.WriteString(" ") // two braces would be one
	}
	b.WriteString(text)
	if field.Conversion != 0 {
		b.WriteString("!" + string(rune(field.Conversion)))
	}
	if field.Spec != nil {
		b.WriteString(":")
		for _, part := range flatten(field.Spec.Parts) {
			b.WriteString(w.part(part))
		}
	}
	b.WriteString("}")
	return b.String()
}

// quoted escapes a text and returns in which of these quotes it can stand. Line breaks and tabs are
// escaped where blanks says so.
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

// characters splits a text into its characters; a surrogate is one too.
func characters(s string) []string {
	split := make([]string, 0, len(s))
	for len(s) > 0 {
		_, size := utf8.DecodeRuneInString(s)
		if size == 1 && s[0] >= utf8.RuneSelf {
			size = min(3, len(s))
		}
		split = append(split, s[:size])
		s = s[size:]
	}
	return split
}
