package document

import (
	"fmt"
	"strings"
	"testing"
)

// TestSyntaxErrors checks position and explanation of common mistakes in YAML.
func TestSyntaxErrors(t *testing.T) {
	const colon, tab = "not readable as YAML: a text with a colon before a space has to stand in quotes; write ",
		"not readable as YAML: the line is indented with a tab; write spaces, two for each level"
	for _, c := range []struct{ name, text, want string }{
		{"colon", "name: a\nuser:\n  goal: Remind me: call\n", `a.yaml:3:18: document: ` + colon + `goal: "Remind me: call"`},
		{"colon at the end", "user:\n  goal: Remind me:\n  says: b\n", `a.yaml:2:18: document: ` + colon + `goal: "Remind me:"`},
		{"colon in an item", "milestones:\n- name: x\n  says: The time: 5 # why\n", `a.yaml:3:17: document: ` + colon + `says: "The time: 5"`},
		{"colon behind an umlaut", "name: a\nnotes: Über alles: ja\n", `a.yaml:2:18: document: ` + colon + `notes: "Über alles: ja"`},
		{"colon in a later document", "name: a\n---\nname: b\n---\nnotes: c: d\n", `a.yaml:5:9: document: ` + colon + `notes: "c: d"`},
		{"tab", "user:\n\tgoal: a\n", "a.yaml:2:1: document: " + tab},
		{"tab behind spaces", "user:\n  goal: a\n \tsays: b\n", "a.yaml:3:2: document: " + tab},
		{"others", "name: [a\n", "a.yaml:1:7: document: not readable as YAML: sequence end token ']' not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Reader{File: "a.yaml"}
			r.Documents([]byte(c.text))
			if got := r.Errors.Error(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestWideMappings rejects a mapping with more keys than the parser reads in a moment, before it
// parses it. Mappings beside and inside others have keys of their own.
func TestWideMappings(t *testing.T) {
	t.Parallel()
	keys := func(n int, line string) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, line, i)
		}
		return text.String()
	}
	const reason = ": document: not readable as YAML: a mapping with more than 20000 keys; divide it among files"
	for _, c := range []struct{ name, text, want string }{
		{"at the top", keys(49000, "k%d: v\n"), "a.yaml:20001:1" + reason},
		{"inside", "a:\n  b: c\n  d:\n" + keys(maxKeys+1, "    \"k%d\": {e: f, g: h}\n"), "a.yaml:20004:5" + reason},
		{"around others", keys(maxKeys+1, "k%d:\n  - a: b\n    c: d\n"), "a.yaml:60001:1" + reason},
		{"in two documents", keys(3000, "k%d: v\n") + "---\n" + keys(3000, "k%d: v\n"), ""},
		{"in two mappings", "a:\n" + keys(3000, "  k%d: v\n") + "b:\n" + keys(3000, "  k%d: v\n"), ""},
		{"in items", keys(5001, "- k%d: v\n"), ""},
		{"on one line", "{" + keys(5001, "k%d: v, ") + "}", ""},
	} {
		r := &Reader{File: "a.yaml"}
		docs := r.Documents([]byte(c.text))
		if got := r.Errors.Error(); got != c.want || c.want == "" && len(docs) == 0 {
			t.Errorf("%s: got %d documents and %q, want %q", c.name, len(docs), got, c.want)
		}
	}
}
