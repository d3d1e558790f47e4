package source

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// format splits an f-string into its parts; fields are the tokens of the values, in brackets.
func (t *translator) format(k token) (parts []part, fields [][]token, err error) {
	prefix := strings.IndexAny(k.text, `'"`)
	quote := k.text[prefix : prefix+1]
	if triple := strings.Repeat(quote, 3); len(k.text) >= prefix+6 && strings.HasPrefix(k.text[prefix:], triple) {
		quote = triple
	}
	raw := ""
	if strings.ContainsAny(k.text[:prefix], "rR") {
		raw = "r"
	}
	body := k.text[prefix+len(quote) : len(k.text)-len(quote)]
	at := k.at + prefix + len(quote) // of body
	for i, start := 0, 0; ; {
		n := strings.IndexAny(body[i:], "{}")
		if n < 0 {
			n = len(body) - i
		}
		i += n
		doubled := i+1 < len(body) && body[i+1] == body[i]
		upTo := i
		if doubled {
			upTo++
		}
		value, err := python.ParseLiteral(raw + quote + body[start:upTo] + quote)
		text, ok := value.AsStr()
		if err != nil || !ok {
			return nil, nil, t.wrong(k.at, "(unicode error) 'unicodeescape' codec can't decode bytes")
		}
		parts = append(parts, part{text: text})
		switch {
		case i == len(body):
			return parts, fields, nil
		case doubled:
			i += 2
		case body[i] == '}':
			return nil, nil, t.wrong(k.at, "f-string: single '}' is not allowed")
		default:
			p, field, length, err := t.field(body[i+1:], at+i+1, k)
			if err != nil {
				return nil, nil, err
			}
			parts, fields = append(parts, p), append(fields, field)
			i += 1 + length
		}
		start = i
	}
}

// field reads a replacement field: text is what follows the opening brace, at its offset; length is what was read with
// the closing brace.
func (t *translator) field(text string, at int, k token) (p part, tokens []token, length int, err error) {
	fail := func(message string) (part, []token, int, error) {
		return part{}, nil, 0, t.wrong(k.at, "f-string: %s", message)
	}
	n := endOfValue(text)
	if n >= len(text) {
		return fail("expecting '}'")
	}
	value := text[:n]
	switch {
	case strings.TrimSpace(value) == "":
		return fail("empty expression not allowed")
	case strings.ContainsRune(value, '\\'):
		return fail("expression part cannot include a backslash")
	case strings.ContainsRune(value, '#'):
		return fail("expression part cannot include '#'")
	}
	p.field = true
	if text[n] == '!' {
		if n+2 >= len(text) || strings.IndexByte("rsa", text[n+1]) < 0 {
			return fail("invalid conversion character: expected 's', 'r', or 'a'")
		}
		p.conversion = text[n+1 : n+2]
		n += 2
	}
	if text[n] == ':' {
		end := strings.IndexAny(text[n:], "{}")
		if end < 0 {
			return fail("expecting '}'")
		}
		p.spec = text[n+1 : n+end]
		n += end
	}
	if text[n] == '{' {
		return fail("nested fields cannot be executed here")
	}
	if text[n] != '}' {
		return fail("expecting '}'")
	}
	lines, err := lex("(" + value + ")")
	if err != nil || len(lines) != 1 {
		return fail(invalidSyntax)
	}
	tokens = lines[0].tokens
	for i := range tokens {
		tokens[i].at = max(at, min(at+tokens[i].at-1, at+len(value)))
	}
	return p, tokens, n + 1, nil
}

// endOfValue returns where the value of a field ends: at its conversion, format specification or closing brace.
func endOfValue(text string) int {
	depth, quote := 0, byte(0)
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case depth > 0 && (c == ')' || c == ']' || c == '}'):
			depth--
		case depth == 0 && (c == '}' || c == ':' || c == '!' && !strings.HasPrefix(text[i:], "!=")):
			return i
		}
	}
	return len(text)
}
