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

// scenarioSections splits a file of scenarios into one section per scenario if each starts on a
// top-level line. Other files are one section.
func scenarioSections(r *document.Reader, data []byte) []document.Section {
	var out []document.Section
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
		begin, line := 0, s.Before
		for i := 1; i < len(keys); i++ {
			next := keys[i][0]
			out = append(out, document.Section{File: s.File, Before: line, Text: s.Text[begin:next]})
			line += strings.Count(s.Text[begin:next], "\n")
			begin = next
		}
		out = append(out, document.Section{File: s.File, Before: line, Text: s.Text[begin:]})
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
