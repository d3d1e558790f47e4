package tool

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// docstring is the docstring of a function in Google's style.
type docstring struct {
	at          int // offset in the source
	description string
	args        []docArg
}

// docArg is an entry under Args.
type docArg struct {
	at         int
	name, text string
}

// arg returns the entry of a parameter, nil if it is missing.
func (d docstring) arg(name string) *docArg {
	if i := slices.IndexFunc(d.args, func(a docArg) bool { return a.name == name }); i >= 0 {
		return &d.args[i]
	}
	return nil
}

// sectionHeadings are the headings that end a description.
func sectionHeadings() []string {
	return []string{"Args:", "Returns:", "Raises:", "Example:", "Examples:", "Note:", "Notes:"}
}

// entryPattern matches the first line of an entry under Args: "name: text" or "name (type): text".
var entryPattern = regexp.MustCompile(`^(\w+)\s*(?:\([^)]*\))?:\s*(.*)$`)

// docstring parses the docstring of a tool.
func (m *module) docstring(def *syntax.Def) docstring {
	d := docstring{at: def.Offset()}
	if def.Function.Doc == "" {
		m.fail(d.at, def.Name.ID, `there is no docstring; write """What it does.""" below the first line, and Args: with an entry for each parameter`)
		return d
	}
	d.at = def.Function.Body[0].Offset()
	var paragraphs []string
	section, margin, start := "", -1, d.at
	for i, raw := range strings.Split(def.Function.Doc, "\n") {
		if i > 0 { // lines of the text are lines of the source, except for escapes
			if next := strings.IndexByte(m.source[start:], '\n'); next >= 0 {
				start += next + 1
			}
		}
		line := strings.TrimSpace(raw)
		indent := len(raw) - len(strings.TrimLeft(raw, " \t"))
		switch {
		case slices.Contains(sectionHeadings(), line):
			section, margin = line, -1
		case section == "":
			paragraphs = describe(paragraphs, line)
		case section == "Args:" && line != "":
			if margin < 0 {
				margin = indent
			}
			m.argument(def, &d, start+indent, line, indent <= margin)
		}
	}
	if d.description = strings.Join(slices.DeleteFunc(paragraphs, func(p string) bool { return p == "" }), "\n\n"); d.description == "" {
		m.fail(d.at, def.Name.ID, "the docstring does not begin with what the tool does; write that first")
	}
	return d
}

// describe appends a line to paragraphs, which blank lines separate.
func describe(paragraphs []string, line string) []string {
	last := len(paragraphs) - 1
	switch {
	case line == "":
		return append(paragraphs, "")
	case last < 0 || paragraphs[last] == "":
		return append(paragraphs, line)
	default:
		paragraphs[last] += " " + line
		return paragraphs
	}
}

// argument parses a line under Args, which starts or continues an entry.
func (m *module) argument(def *syntax.Def, d *docstring, at int, line string, startsSection bool) {
	if !startsSection {
		d.args[len(d.args)-1].text += " " + line
		return
	}
	parts := entryPattern.FindStringSubmatch(line)
	if parts == nil {
		m.fail(at, def.Name.ID, "Args: %q is no entry; write name: what it is, and indent lines that go on with one", line)
		parts = []string{"", "", ""}
	}
	if parts[1] != "" && d.arg(parts[1]) != nil {
		m.fail(at, def.Name.ID, "Args: there are two entries %s; take one out", parts[1])
	}
	d.args = append(d.args, docArg{at: at, name: parts[1], text: parts[2]})
}
