package measure

import (
	"errors"
	"slices"
	"strings"
)

// Template is a text with {name} placeholders for extracted values: Literals[0], the value of
// Names[0], Literals[1] and so on.
type Template struct {
	// Literals are the texts around the placeholders, one more than there are placeholders.
	Literals []string
	// Names are the names in the placeholders.
	Names []string
}

// These are mistakes of a template.
var (
	errUnpaired = errors.New("has an unpaired brace; write {{ or }} for a brace itself")
	errNoName   = errors.New("has a place without a name: {}")
)

// ParseTemplate parses a text. A doubled brace is a literal brace.
func ParseTemplate(text string) (Template, error) {
	var t Template
	var literal strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '{' && c != '}' {
			literal.WriteByte(c)
			continue
		}
		if i+1 < len(text) && text[i+1] == c {
			literal.WriteByte(c)
			i++
			continue
		}
		end := strings.IndexByte(text[i:], '}')
		if c == '}' || end < 0 {
			return Template{}, errUnpaired
		}
		if end == 1 {
			return Template{}, errNoName
		}
		t.Literals, t.Names = append(t.Literals, literal.String()), append(t.Names, text[i+1:i+end])
		literal.Reset()
		i += end
	}
	t.Literals = append(t.Literals, literal.String())
	return t, nil
}

// FirstUnknown returns the first name of the template that is not in known. ok is false without
// one.
func (t Template) FirstUnknown(known []string) (name string, ok bool) {
	for _, name := range t.Names {
		if !slices.Contains(known, name) {
			return name, true
		}
	}
	return "", false
}
