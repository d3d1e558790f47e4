package expression

import "strings"

// format reads a formatted text as Python 3.11 does: the whole text first, then the expressions in it.
type format struct {
	*parser
	body string
	raw  bool
	pos  int // in the body
}

// read reads texts and values in turn. The level is 0 for the text itself, and counts up for how its values are formatted.
func (f *format) read(to *pieces, level int) {
	for !f.failed {
		if f.plain(to, level) {
			continue
		}
		if f.pos == len(f.body) || f.body[f.pos] == '}' {
			break
		}
		f.field(to, level)
	}
}

// plain reads text up to a brace, and says whether that is one of two, which stand for one.
func (f *format) plain(to *pieces, level int) (doubled bool) {
	start := f.pos
	for ; f.pos < len(f.body); f.pos++ {
		c := f.body[f.pos]
		if c == '\\' && !f.raw && f.pos+1 < len(f.body) {
			if f.pos++; strings.HasPrefix(f.body[f.pos:], "N{") {
				name, _, _ := strings.Cut(f.body[f.pos:], "}")
				f.pos = min(f.pos+len(name), len(f.body)-1)
				continue
			}
			c = f.body[f.pos]
		}
		if c != '{' && c != '}' {
			continue
		}
		if doubled = level == 0 && f.pos+1 < len(f.body) && f.body[f.pos+1] == c; doubled {
			f.pos++
		}
		break
	}
	f.literal(to, f.body[start:f.pos], f.raw, false)
	if doubled {
		f.pos++
	}
	return doubled
}

// field reads a value in braces, with how it is formatted.
func (f *format) field(to *pieces, level int) {
	f.pos++
	if level > 1 {
		f.fail() // Python nests them no deeper
	}
	start := f.pos
	if f.skip(); f.failed {
		return
	}
	n := (&node{kind: nodeFormatted}).add(f.inner(f.body[start:f.pos]))
	shown := f.sign("=")
	if shown {
		for f.pos < len(f.body) && strings.IndexByte(" \t\n\v\f\r", f.body[f.pos]) >= 0 {
			f.pos++
		}
		to.text.WriteString(f.body[start:f.pos])
	}
	to.flush()
	if f.sign("!") {
		if f.pos == len(f.body) || strings.IndexByte("sra", f.body[f.pos]) < 0 {
			f.fail()
			return
		}
		n.text = f.body[f.pos : f.pos+1]
		f.pos++
	}
	if f.sign(":") {
		how := pieces{node: &node{kind: nodeJoined}}
		f.read(&how, level+1)
		how.flush()
		n.add(how.node)
	}
	if !f.sign("}") {
		f.fail()
	}
	if shown && n.text == "" && len(n.items) == 1 {
		n.text = "r"
	}
	to.node.add(n)
}

// sign passes a character.
func (f *format) sign(c string) bool {
	if f.failed || !strings.HasPrefix(f.body[f.pos:], c) {
		return false
	}
	f.pos++
	return true
}

// skip passes the source of an expression: up to a mark that ends it outside of brackets and texts.
func (f *format) skip() {
	var open []byte
	for ; f.pos < len(f.body); f.pos++ {
		switch c := f.body[f.pos]; c {
		case '\'', '"':
			quote := f.body[f.pos : f.pos+1]
			if triple := strings.Repeat(quote, 3); strings.HasPrefix(f.body[f.pos:], triple) {
				quote = triple
			}
			text, _, ended := strings.Cut(f.body[f.pos+len(quote):], quote)
			if !ended {
				f.fail()
				return
			}
			f.pos += len(text) + 2*len(quote) - 1
		case '(', '[', '{':
			open = append(open, c)
		case ')', ']', '}':
			if len(open) == 0 {
				return
			}
			open = open[:len(open)-1] // whether they fit shows later
		case '!', ':', '=', '<', '>':
			if len(open) > 0 {
				continue
			}
			if c != ':' && strings.HasPrefix(f.body[f.pos+1:], "=") {
				f.pos++
			} else if c != '<' && c != '>' {
				return
			}
		}
	}
}

// inner reads the source of an expression.
func (f *format) inner(source string) *node {
	if strings.ContainsAny(source, `\#`) || strings.Trim(source, " \t\n\f\r") == "" {
		return f.fail()
	}
	tokens, ok := scan("(" + source + ")")
	p := parser{tokens: tokens, depth: f.depth}
	n := p.several()
	if !ok || p.failed || p.pos != len(tokens)-1 {
		return f.fail()
	}
	return n
}
