package form

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFormatJoins checks that rows, calls and constraints are on one line if they fit, and texts
// and steps on separate lines.
func TestFormatJoins(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 98)
	for _, c := range []struct{ name, in, want string }{
		{"names", "categories:\n  - COREFERENCE\n  - DISAMBIGUATION\n", "categories: [COREFERENCE, DISAMBIGUATION]\n"},
		{"texts", "user:\n  goal: a\n  knowledge:\n    - b\n", "user:\n  goal: a\n  knowledge:\n    - b\n"},
		{"quotes", "oracle:\n  - say: Yes, it is.\n    milestone: told\n  - say: 'A \"b\", c'\n    milestone: x\n",
			"oracle:\n  - {say: \"Yes, it is.\", milestone: told}\n  - {say: 'A \"b\", c', milestone: x}\n"},
		{"one field", "oracle:\n  - search_contacts:\n      name: A\n", "oracle:\n  - search_contacts: {name: A}\n"},
		{"a comment", "tables:\n  contact:\n    - name: A # who\n    - name: B\n", "tables:\n  contact:\n    - name: A # who\n    - name: B\n"},
		{"a folded text", "oracle:\n  - say: >-\n      a b\n    milestone: told\n", "oracle:\n  - say: >-\n      a b\n    milestone: told\n"},
		{"140 columns", "tables:\n  contact:\n    - name: " + long + "\n      relationship: colleagues\n    - name: B\n",
			"tables:\n  contact:\n    - {name: " + long + ", relationship: colleagues}\n    - name: B\n"},
		{"141 columns", "tables:\n  contact:\n    - name: " + long + "\n      relationship: colleagues!\n    - name: B\n",
			"tables:\n  contact:\n    - name: " + long + "\n      relationship: colleagues!\n    - name: B\n"},
	} {
		got, err := Format("a.yaml", []byte(named("a", c.in)))
		if diff := cmp.Diff(named("a", c.want), string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
		for line := range strings.SplitSeq(string(got), "\n") {
			if len(line) > lineWidth {
				t.Errorf("%s: %d columns in %s", c.name, len(line), line)
			}
		}
	}
}
