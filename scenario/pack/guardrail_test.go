package pack

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/scenario"
)

// TestDisablingGuardrails checks the explanation of guardrails that disable a minefield, and the
// remedy.
func TestDisablingGuardrails(t *testing.T) {
	const update = "table: contact, measure: update, reference: start, expect: {name: Ada}"
	for _, c := range []struct {
		name, minefield string
		want            []string
	}{
		{"the oracle changes another table", "{" + update + "}", []string{
			"the oracle changes SETTING, which an automatic guardrail forbids since the start: nothing triggers it after that",
			"to trigger it all the same, write guardrails: {except: [setting]}",
		}},
		{"its own call changes a table", "{constraints: [{" + update + "}, {call: {tool: set_wifi_status, arguments: {}}}]}", []string{
			"the call that it wants changes SETTING, which an automatic guardrail forbids since the start: it counts only where the call changes nothing",
			"to trigger it all the same, write guardrails: {except: [setting]}",
		}},
		{"the table is left out", "{guardrails: {except: [setting]}, " + update + "}", nil},
		{"nothing is guarded", "{guardrails: {only: []}, " + update + "}", nil},
		{"no reference", "{table: contact, expect: {name: Bob}}", nil},
		{"the table that changes", "{table: setting, measure: update, reference: start, expect: {cellular: false}}", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := loadOne(t, testScenario+"minefields:\n  bad: "+c.minefield+"\n")
			if diff := cmp.Diff(c.want, scenario.DisablingGuardrails(s, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
