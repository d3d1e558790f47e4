package syntax

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/python/limit"
)

// joined splits an f-string into its parts: Constants and Formatted fields. It sets the height to
// that of the highest field.
func (p *parser) joined(t token) []Expr {
	prefix := strings.IndexAny(t.text, `'"`)
	quote := t.text[prefix : prefix+1]
	if triple := strings.Repeat(quote, 3); len(t.text) >= prefix+6 && strings.HasPrefix(t.text[prefix:], triple) {
		quote = triple
	}
	f := formatter{parser: p, token: t, quote: quote}
	if strings.ContainsAny(t.text[:prefix], "rR") {
		f.raw = "r"
	}
	f.text = t.text[prefix+len(quote) : len(t.text)-len(quote)]
	parts := f.parts(0)
	p.height = f.height
	return parts
}

// formatter reads the body of an f-string.
type formatter struct {
	*parser
	token      token
	quote, raw string
	text       string // what is left
	height     int
}

func (f *formatter) wrong(message string) { f.fail(f.token.at, "f-string: %s", message) }

// parts reads text and fields; within the specification of a field up to its end.
func (f *formatter) parts(level int) []Expr {
	var parts []Expr
	for f.text != "" {
		n := strings.IndexAny(f.text, "{}")
		for n >= 0 && f.named(n) { // \N{…} is no field
			next := strings.IndexByte(f.text[n:], '}')
			if next < 0 {
				break
			}
			after := strings.IndexAny(f.text[n+next+1:], "{}")
			if after < 0 {
				n = -1
				break
			}
			n += next + 1 + after
		}
		if n < 0 {
			n = len(f.text)
		}
		piece := f.text[:n]
		doubled := level == 0 && n+1 < len(f.text) && f.text[n+1] == f.text[n]
		if doubled {
			piece = f.text[:n+1]
		}
		if piece != "" {
			parts = append(parts, &Constant{Pos(f.token.at), f.literal(f.raw+f.quote+piece+f.quote, f.token.at)})
		}
		f.text = f.text[n:]
		switch {
		case f.text == "":
		case doubled:
			f.text = f.text[2:]
		case f.text[0] == '{':
			f.text = f.text[1:]
			parts = append(parts, f.field(level))
		case level > 0:
			return parts
		default:
			f.wrong("single '}' is not allowed")
		}
	}
	return parts
}

// named reports whether the brace at n belongs to an escape \N{…}.
func (f *formatter) named(n int) bool {
	return f.raw == "" && f.text[n] == '{' && n >= 2 && f.text[n-2:n] == `\N` && (n < 3 || f.text[n-3] != '\\')
}

// field reads a replacement field behind its opening brace.
func (f *formatter) field(level int) Expr {
	if level > 1 {
		f.wrong("expressions nested too deeply")
	}
	n := endOfValue(f.text)
	value := f.text[:n]
	switch {
	case strings.TrimSpace(value) == "" && n < len(f.text):
		f.wrong("empty expression not allowed")
	case strings.ContainsRune(value, '\\'):
		f.wrong("expression part cannot include a backslash")
	case n < len(f.text) && f.text[n] == '#':
		f.wrong("expression part cannot include '#'")
	case n >= len(f.text):
		f.wrong("expecting '}'")
	}
	f.text = f.text[n:]
	field := &FormattedValue{Pos: Pos(f.token.at)}
	var shown string
	if f.text[0] == '=' {
		rest := strings.TrimLeft(f.text[1:], " \t\n\r")
		shown = value + f.text[:len(f.text)-len(rest)]
		f.text = rest
		field.Conversion = 'r'
	}
	if strings.HasPrefix(f.text, "!") {
		if len(f.text) < 2 || strings.IndexByte("rsa", f.text[1]) < 0 {
			f.wrong("invalid conversion character: expected 's', 'r', or 'a'")
		}
		field.Conversion = f.text[1]
		f.text = f.text[2:]
	}
	if strings.HasPrefix(f.text, ":") {
		f.text = f.text[1:]
		if shown != "" && field.Conversion == 'r' {
			field.Conversion = 0
		}
		field.Spec = &JoinedStr{Pos(f.token.at), f.parts(level + 1)}
	}
	if !strings.HasPrefix(f.text, "}") {
		f.wrong("expecting '}'")
	}
	f.text = f.text[1:]
	field.Value = f.value(value)
	f.height = max(f.height, f.parser.height+1)
	if shown == "" {
		return field
	}
	return &JoinedStr{Pos(f.token.at), []Expr{&Constant{Pos(f.token.at), shown}, field}}
}

// value parses the value of a field.
func (f *formatter) value(source string) (x Expr) {
	inner := &parser{
		lexer: lexer{s: "(" + source + ")", brackets: limit.BracketDepth}, scope: f.scope, depth: f.depth + 1, function: f.function, loop: f.loop, lateError: f.lateError,
	}
	defer func() {
		if failure := recover(); failure != nil {
			if _, ok := failure.(*Error); !ok {
				panic(failure)
			}
			f.wrong(invalidSyntax)
		}
	}()
	inner.advance()
	x = inner.atom()
	if inner.tok.kind != kindNewline {
		inner.unexpected()
	}
	f.lateError, f.parser.height = inner.lateError, inner.height
	return x
}

// endOfValue returns where the value of a field ends: at its equals sign, conversion, format
// specification or closing brace.
func endOfValue(text string) int {
	depth := 0
	quote := ""
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != "":
			if strings.HasPrefix(text[i:], quote) {
				i += len(quote) - 1
				quote = ""
			}
		case c == '\'' || c == '"':
			if quote = text[i : i+1]; strings.HasPrefix(text[i:], strings.Repeat(quote, 3)) {
				quote = strings.Repeat(quote, 3)
			}
			i += len(quote) - 1
		case c == '#':
			return i
		case c == '(' || c == '[' || c == '{':
			depth++
		case depth > 0 && (c == ')' || c == ']' || c == '}'):
			depth--
		case depth > 0:
		case strings.IndexByte("!=<>", c) >= 0 && i+1 < len(text) && text[i+1] == '=':
			i++
		case c == '<' || c == '>':
		case c == '}' || c == ':' || c == '!' || c == '=':
			return i
		}
	}
	return len(text)
}
