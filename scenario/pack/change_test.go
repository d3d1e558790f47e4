package pack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/scenario"
)

// TestWantedTables compares constraints with a measure as a key with complete ones.
func TestWantedTables(t *testing.T) {
	t.Parallel()
	const oracle = "oracle:\n  - set_wifi_status: {on: false}\n    milestone: off\n  - say: Done.\nmilestones:\n  off:\n"
	const long = `  state: {table: setting, expect: {wifi: false}}
  new: {table: contact, measure: addition, reference: start, expect: {name: A}, overrides: {name: one}}
  both:
    constraints:
      - {table: contact, measure: update, reference: off, expect: [{name: A}, {name: B}]}
      - {table: reminder, measure: removal, reference: start, expect: {content: C, reminder_timestamp: 2025-01-02}}
`
	const short = `  state: {snapshot: {setting: {wifi: false}}}
  new: {addition: {contact: {name: A}}, overrides: {name: one}}
  both:
    constraints:
      - {update: {contact: [{name: A}, {name: B}]}, reference: off}
      - {removal: {reminder: {content: C, reminder_timestamp: 2025-01-02}}}
`
	if diff := cmp.Diff(turnEvaluation(t, oracle+long), turnEvaluation(t, oracle+short), protocmp.Transform()); diff != "" {
		t.Errorf("milestones (-long +short):\n%s", diff)
	}
}

func TestWantedTableErrors(t *testing.T) {
	t.Parallel()
	const oracle = "oracle: [{say: Done.}]\nmilestones:\n  m: "
	for _, c := range []struct{ name, milestone, want string }{
		{"two tables", "{update: {contact: {name: A}, setting: {wifi: true}}}",
			"a.yaml:7:17: one.milestones.m.update: has 2 fields, expected one of setting, contact, messaging, reminder"},
		{"unknown table", "{update: {contacts: {name: A}}}",
			`a.yaml:7:18: one.milestones.m.update.contacts: unknown field; did you mean "contact"?`},
		{"the original's table", "{update: {CONTACT: {name: A}}}", `milestones.m.update.CONTACT: unknown field; did you mean "contact"?`},
		{"unknown column", "{update: {contact: {nam: A}}}", `a.yaml:7:28: one.milestones.m.update.contact.nam: `},
		{"beside another", "{update: {contact: {name: A}}, says: Done.}", "a.yaml:7:39: one.milestones.m.says: cannot stand beside update; write two constraints"},
		{"no table", "{update: contact}", "a.yaml:7:17: one.milestones.m.update: is a text, expected a mapping"},
	} {
		_, err := readPack(files(strings.Replace(turnScenario, "ORACLE", oracle+c.milestone+"\n", 1), testWorld), scenario.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}
