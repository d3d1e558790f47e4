package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// translator writes Starlark that has the same syntax tree as the source. Each literal is replaced by the text of a number,
// which the rewriter looks up: no text of the source is read as Starlark reads texts.
type translator struct {
	source   string
	out      strings.Builder
	row, col int32 // where the next character goes, from 1
	begun    bool  // the line has a token
	literals []literal
	places   []place
	identity map[position]bool // the comparisons that were "is"
	depth    int               // of powers, and of assignments of one value
}

// position is a place in the translation: row and column in code points, from 1.
type position struct{ row, col int32 }

// place says where a token of the translation stands in the source.
type place struct {
	position
	width int32
	at    int
	end   int
}

type literalKind uint8

const (
	literalValue     literalKind = iota // a constant
	literalName                         // a name that is a keyword in Starlark only
	literalFormat                       // an f-string: a call with the values of its fields
	literalModule                       // a call for a module that does not exist
	literalPower                        // in a subscript with the exponent
	literalGenerator                    // a call with the list of a generator
)

// literal is what a number in the translation stands for.
type literal struct {
	kind  literalKind
	value python.Value
	name  string
	parts []part
}

// part is a piece of an f-string: a text, or a field with its conversion and format specification.
type part struct {
	text       string
	field      bool
	conversion string
	spec       string
}

// offset returns the place in the source of a position in the translation; behind the last token of a line that is the end of
// the line.
func (t *translator) offset(pos syntax.Position) int {
	want := position{pos.Line, pos.Col}
	i, found := slices.BinarySearchFunc(t.places, want, func(p place, want position) int {
		if p.row != want.row {
			return int(p.row) - int(want.row)
		}
		return int(p.col) - int(want.col)
	})
	if found {
		return t.places[i].at
	}
	if i == 0 {
		return 0
	}
	p := t.places[i-1]
	if p.row == want.row && want.col <= p.col+p.width { // some errors point behind their token
		return p.at
	}
	if end := strings.IndexByte(t.source[p.end:], '\n'); end >= 0 {
		return p.end + end
	}
	return len(t.source)
}

func (t *translator) wrong(at int, format string, args ...any) error {
	return wrong(t.source, at, syntaxError, fmt.Sprintf(format, args...))
}

// put writes a token that stands for source from at to end.
func (t *translator) put(text string, at, end int) {
	if t.begun {
		t.out.WriteByte(' ')
		t.col++
	}
	t.begun = true
	t.out.WriteString(text)
	width := int32(utf8.RuneCountInString(text))
	t.places = append(t.places, place{position{t.row, t.col}, width, at, end})
	t.col += width
}

// putLiteral writes the number of a literal.
func (t *translator) putLiteral(l literal, at, end int) {
	t.literals = append(t.literals, l)
	t.put(`"`+strconv.Itoa(len(t.literals)-1)+`"`, at, end)
}

// lines translates all lines.
func (t *translator) lines(lines []line) error {
	t.identity = make(map[position]bool)
	for i, l := range lines {
		t.row, t.col, t.begun = int32(i)+1, 1+int32(l.indent), false
		t.out.WriteString(strings.Repeat(" ", l.indent))
		rest := l.tokens
		for first := true; len(rest) > 0; first = false {
			n := slices.IndexFunc(rest, func(k token) bool { return k.kind == kindMark && k.text == ";" })
			if n == 0 {
				return t.wrong(rest[0].at, invalidSyntax)
			}
			if !first {
				t.put(";", rest[0].at, rest[0].at)
			}
			statement := rest
			if rest = nil; n > 0 {
				statement, rest = statement[:n], statement[n+1:]
			}
			if err := t.statement(statement); err != nil {
				return err
			}
		}
		t.out.WriteString(" \n") // the end of the last token and the end of the line are two places
	}
	return nil
}

func (t *translator) statement(tokens []token) error {
	first := tokens[0]
	if first.kind != kindName {
		return t.tokens(tokens)
	}
	switch first.text {
	case "import":
		return t.imports(tokens)
	case "from":
		return t.importsFrom(tokens)
	case "def":
		return t.tokens(withoutAnnotations(tokens))
	case "print", "exec":
		if len(tokens) > 1 && tokens[1].kind != kindMark && !isWord(tokens[1].text) {
			last := tokens[len(tokens)-1]
			if first.text == "exec" {
				return t.wrong(tokens[1].at, "Missing parentheses in call to 'exec'")
			}
			return t.wrong(tokens[1].at, "Missing parentheses in call to 'print'. Did you mean print(%s)?", t.source[tokens[1].at:last.at+len(last.text)])
		}
	}
	if len(tokens) > 2 && tokens[1].text == ":" && tokens[1].kind == kindMark && !isWord(first.text) {
		n := slices.IndexFunc(tokens, func(k token) bool { return k.kind == kindMark && k.text == "=" })
		if n < 0 {
			t.put("pass", first.at, first.at+len(first.text))
			return nil
		}
		tokens = append([]token{first}, tokens[n:]...)
	}
	if n := lastAssignment(tokens); n > 2 && tokens[n-1].kind == kindName && tokens[n-2].text == "=" {
		if t.depth++; t.depth > maxBrackets {
			return t.wrong(tokens[n].at, "too many assignments of one value")
		}
		defer func() { t.depth-- }()
		if err := t.tokens(tokens[n-1:]); err != nil { // a = b = value: b = value; a = b
			return err
		}
		t.put(";", tokens[n-1].at, tokens[n-1].at)
		return t.statement(tokens[:n])
	}
	return t.tokens(tokens)
}

// lastAssignment returns the place of the last "=" outside of brackets in a statement that begins with a name, else -1.
func lastAssignment(tokens []token) int {
	last, depth := -1, 0
	for i, k := range tokens {
		if k.kind != kindMark {
			if k.kind == kindName && isWord(k.text) {
				return last
			}
			continue
		}
		switch k.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case "=":
			if depth == 0 {
				last = i
			}
		}
	}
	return last
}

// isWord says whether a name is a keyword that may follow a value or precede a colon.
func isWord(name string) bool {
	switch name {
	case "and", "or", "not", "in", "is", "if", "else", "for", "lambda", "try", "finally", "except":
		return true
	default:
		return false
	}
}

// withoutAnnotations leaves out the types in the head of a function.
func withoutAnnotations(tokens []token) []token {
	var kept []token
	depth, dropping := 0, false
	for _, k := range tokens {
		if k.kind == kindMark {
			switch k.text {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth--
				dropping = dropping && depth > 0
			case ",", "=":
				dropping = dropping && depth > 1
			case ":":
				if dropping = depth == 1 || dropping && depth > 0; dropping {
					continue
				}
			case "->":
				dropping = depth == 0
			}
		}
		if !dropping {
			kept = append(kept, k)
		}
	}
	return kept
}

// tokens translates the tokens of expressions.
func (t *translator) tokens(tokens []token) error {
	for i := 0; i < len(tokens); i++ {
		k := tokens[i]
		end := k.at + len(k.text)
		switch k.kind {
		case kindMark:
			if n := exponent(tokens, i); n > 0 {
				if err := t.power(tokens[i : i+1+n]); err != nil {
					return err
				}
				i += n
				continue
			}
			if k.text == "(" {
				if n := generated(tokens, i); n > 0 {
					if err := t.generate(tokens[i:n+1], follow(tokens, i)); err != nil {
						return err
					}
					i = n
					continue
				}
			}
			t.put(k.text, k.at, end)
		case kindNumber:
			value, err := python.ParseLiteral(k.text)
			if err != nil {
				return t.wrong(k.at, "invalid decimal literal")
			}
			t.putLiteral(literal{value: value}, k.at, end)
		case kindText, kindFormat:
			n := i
			for n < len(tokens) && (tokens[n].kind == kindText || tokens[n].kind == kindFormat) {
				n++
			}
			if err := t.texts(tokens[i:n]); err != nil {
				return err
			}
			i = n - 1
		case kindName:
			skip, err := t.name(k, tokens[i+1:])
			if err != nil {
				return err
			}
			i += skip
		}
	}
	return nil
}

// name translates a name or keyword; skip is how many of the following tokens belong to it.
func (t *translator) name(k token, following []token) (skip int, err error) {
	end := k.at + len(k.text)
	switch k.text {
	case "is":
		mark := "=="
		if len(following) > 0 && following[0].kind == kindName && following[0].text == "not" {
			mark, skip = "!=", 1
		}
		t.identity[position{t.row, t.col + 1}] = true
		t.put(mark, k.at, end)
	case "load":
		t.putLiteral(literal{kind: literalName, name: k.text}, k.at, end)
	case "as", "from", "import", "except", "finally":
		return 0, t.wrong(k.at, invalidSyntax)
	case "assert", "async", "await", "class", "del", "global", "nonlocal", "raise", "try", "with", "yield":
		return 0, t.wrong(k.at, "'%s' cannot be executed here", k.text)
	default:
		t.put(k.text, k.at, end)
	}
	return skip, nil
}

// texts translates adjacent string literals.
func (t *translator) texts(tokens []token) error {
	first, last := tokens[0], tokens[len(tokens)-1]
	end := last.at + len(last.text)
	var parts []part
	var fields [][]token
	for _, k := range tokens {
		if k.kind == kindText {
			value, err := python.ParseLiteral(k.text)
			text, ok := value.AsStr()
			if err != nil || !ok {
				return t.wrong(k.at, "(unicode error) 'unicodeescape' codec can't decode bytes")
			}
			parts = append(parts, part{text: text})
			continue
		}
		more, values, err := t.format(k)
		if err != nil {
			return err
		}
		parts, fields = append(parts, more...), append(fields, values...)
	}
	if len(fields) == 0 {
		var text strings.Builder
		for _, p := range parts {
			text.WriteString(p.text)
		}
		t.putLiteral(literal{value: python.Str(text.String())}, first.at, end)
		return nil
	}
	t.putLiteral(literal{kind: literalFormat, parts: parts}, first.at, end)
	t.put("(", first.at, end)
	for _, field := range fields {
		if err := t.tokens(field); err != nil {
			return err
		}
		t.put(",", first.at, end)
	}
	t.put(")", first.at, end)
	return nil
}
