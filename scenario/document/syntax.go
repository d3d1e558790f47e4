package document

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// syntaxError records a syntax error. It explains common mistakes and repeats the parser's text for
// others.
func (r *Reader) syntaxError(s Section, err error) {
	at := Top()
	at.Line += s.Before
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) {
		r.Fail(at, "%v", err)
		return
	}
	if syntax.Token != nil && syntax.Token.Position != nil {
		at.Line, at.Column = max(1, syntax.Token.Position.Line), max(1, syntax.Token.Position.Column)
	}
	reason := "not readable as YAML: " + syntax.Message
	if strings.Contains(syntax.Message, "value is not allowed in this context") {
		reason += "; indent the line like those beside it"
	}
	lines := strings.Split(s.Text, "\n")
	// The parser stops at a later line if the indentation of one is a tab.
	for i := range lines[:max(0, min(len(lines), at.Line-s.Before))] {
		if strings.HasPrefix(lines[i], "\t") {
			at.Line = i + 1 + s.Before
			break
		}
	}
	// The parser may report a mistake on the next line.
	for _, line := range []int{at.Line, at.Line - 1} {
		i := line - 1 - s.Before
		if i < 0 || i >= len(lines) {
			continue
		}
		if column, explanation := explainLine(lines[i]); explanation != "" {
			at.Line, at.Column, reason = line, column, explanation
			break
		}
	}
	r.Fail(at, "%s", reason)
}

// plainValue matches a line with a key or list item and an unquoted value.
var plainValue = regexp.MustCompile(`^( *(?:- +)*(?:[A-Za-z_][A-Za-z0-9_]*: +)?)([^\s"'\[{|>&*!#%@` + "`" + `].*)$`)

// explainLine explains two common mistakes in an unreadable line, with the column. reason is empty
// for other lines.
func explainLine(line string) (column int, reason string) {
	line = strings.TrimRight(line, " \t\r")
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
		return tab + 1, "not readable as YAML: the line is indented with a tab; write spaces, two for each level"
	}
	parts := plainValue.FindStringSubmatch(line)
	if parts == nil {
		return 0, ""
	}
	before, text := parts[1], parts[2]
	if comment := strings.Index(text, " #"); comment >= 0 {
		text = strings.TrimRight(text[:comment], " ")
	}
	colon := strings.Index(text, ": ")
	if colon < 0 && strings.HasSuffix(text, ":") {
		colon = len(text) - 1
	}
	if colon < 0 || strings.TrimSpace(before) == "" || !strings.Contains(before, ":") {
		return 0, ""
	}
	return len([]rune(before+text[:colon])) + 1, fmt.Sprintf(
		"not readable as YAML: a text with a colon before a space has to stand in quotes; write %s", strings.TrimLeft(before, " ")+Quote(text))
}
