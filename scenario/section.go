package scenario

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// topLevelLine matches a line at the top level of a document, except comments.
	topLevelLine = regexp.MustCompile(`(?m)^[^\s#].*`)
	// scenarioKey matches such a line with the name of a scenario.
	scenarioKey = regexp.MustCompile(`^("[^"\\]*"|[A-Za-z0-9][A-Za-z0-9._-]*):(\s|$)`)
)

// scenarioSections splits a file of scenarios into one section per scenario if each starts on a
// top-level line. Other files are one section.
func (r *reader) scenarioSections(data []byte) []section {
	var out []section
	seen := false
	for _, s := range r.sections(data) {
		keys := topLevelLine.FindAllStringIndex(s.text, -1)
		if len(keys) > 0 && strings.HasPrefix(s.text[keys[0][0]:], "---") {
			keys = keys[1:]
		}
		if slices.ContainsFunc(keys, func(at []int) bool { return !scenarioKey.MatchString(s.text[at[0]:at[1]]) }) ||
			strings.ContainsAny(s.text, "\r") {
			keys = nil
		} else if seen && len(keys) > 0 {
			r.fail(&value{line: s.before + 1, column: 1}, errSeveralDocuments)
		}
		seen = seen || len(keys) > 0
		begin, line := 0, s.before
		for i := 1; i < len(keys); i++ {
			next := keys[i][0]
			out = append(out, section{s.file, line, s.text[begin:next]})
			line += strings.Count(s.text[begin:next], "\n")
			begin = next
		}
		out = append(out, section{s.file, line, s.text[begin:]})
	}
	return out
}

// errSeveralDocuments is the error for a file with several documents.
const errSeveralDocuments = "a file of scenarios is one mapping from names to scenarios; leave --- out"

// scenarios returns the scenarios of a section by name.
func (r *reader) scenarios(s section) []field {
	var found []field
	for i, doc := range r.parse(s) {
		switch {
		case i > 0:
			r.fail(doc, errSeveralDocuments)
		case r.checkShape(doc, shapeMapping):
			found = append(found, doc.fields...)
		}
	}
	return found
}
