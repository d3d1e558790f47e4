package pack

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/scenario/document"
)

var (
	// topLevelLine matches a line at the top level of a document, except comments.
	topLevelLine = regexp.MustCompile(`(?m)^[^\s#].*`)
	// scenarioKey matches such a line with the name of a scenario.
	scenarioKey = regexp.MustCompile(`^("[^"\\]*"|[A-Za-z0-9][A-Za-z0-9._-]*):(\s|$)`)
)

// section is a part of a file of scenarios. name is that of its only scenario, empty if that is
// unknown before the section is parsed.
type section struct {
	document.Section
	name string
}

// scenarioSections splits a file of scenarios into one section per scenario if each starts on a
// top-level line. Other files are one section.
func scenarioSections(r *document.Reader, data []byte) []section {
	var out []section
	seen := false
	for _, s := range r.Sections(data) {
		keys := topLevelLine.FindAllStringIndex(s.Text, -1)
		if len(keys) > 0 && strings.HasPrefix(s.Text[keys[0][0]:], "---") {
			keys = keys[1:]
		}
		if slices.ContainsFunc(keys, func(at []int) bool { return !scenarioKey.MatchString(s.Text[at[0]:at[1]]) }) ||
			strings.ContainsAny(s.Text, "\r") {
			keys = nil
		} else if seen && len(keys) > 0 {
			r.Fail(&document.Value{Line: s.Before + 1, Column: 1}, errSeveralDocuments)
		}
		seen = seen || len(keys) > 0
		if len(keys) == 0 {
			out = append(out, section{Section: s})
			continue
		}
		begin, line := 0, s.Before
		for i, key := range keys {
			next := len(s.Text)
			if i+1 < len(keys) {
				next = keys[i+1][0]
			}
			name := scenarioKey.FindStringSubmatch(s.Text[key[0]:key[1]])[1]
			out = append(out, section{document.Section{File: s.File, Before: line, Text: s.Text[begin:next]}, strings.Trim(name, `"`)})
			line += strings.Count(s.Text[begin:next], "\n")
			begin = next
		}
	}
	return out
}

// errSeveralDocuments is the error for a file with several documents.
const errSeveralDocuments = "a file of scenarios is one mapping from names to scenarios; leave --- out"

// scenarioFields returns the scenarios of a section by name.
func scenarioFields(r *document.Reader, s document.Section) []document.Field {
	var found []document.Field
	for i, doc := range r.Parse(s) {
		switch {
		case i > 0:
			r.Fail(doc, errSeveralDocuments)
		case r.CheckShape(doc, document.ShapeMapping):
			found = append(found, doc.Fields...)
		}
	}
	return found
}
