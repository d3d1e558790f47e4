package pack

import "testing"

// TestIneffectiveFields gives fields of a scenario that contradict others, so that one of them has
// no effect.
func TestIneffectiveFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, replacement, want string }{
		{"an extra tool that is taken away", "extra_tools: [set_wifi_status]", "extra_tools: [add_contact]\nwithout_tools: [add_contact]",
			`a.yaml:4:17: one.extra_tools[0]: is "add_contact", which without_tools takes away in every variant; expected it in one of them`},
		{"two levels of distraction", "world: base", "world: base\naugmentations: [ALL_TOOLS, THREE_DISTRACTION_TOOLS]",
			"a.yaml:3:30: one.augmentations[1]: is THREE_DISTRACTION_TOOLS beside ALL_TOOLS, expected one level of distraction"},
		{"distraction from all tools", "extra_tools: [set_wifi_status]", "extra_tools: all\naugmentations: [TEN_DISTRACTION_TOOLS]",
			"a.yaml:5:19: one.augmentations[0]: is TEN_DISTRACTION_TOOLS, but with extra_tools: all there are no more tools to add"},
		{"the end as an extra tool", "extra_tools: [set_wifi_status]", "extra_tools: [end_conversation]",
			"a.yaml:4:17: one.extra_tools[0]: the user always has end_conversation, and the agent never; remove it"},
		{"the end taken away", "world: base", "world: base\nwithout_tools: [end_conversation]",
			"a.yaml:3:19: one.without_tools[0]: the user always has end_conversation, and the agent never; remove it"},
		{"a tool twice", "extra_tools: [set_wifi_status]", "extra_tools: [add_contact, add_contact]",
			`a.yaml:4:30: one.extra_tools[1]: tool "add_contact" occurs twice`},
		{"any row removed", "world: base", "world: base\ntables: {contact: {remove: [{}]}}",
			"a.yaml:3:31: one.tables.contact.remove[0]: is empty, expected cells of the rows that are meant; set changes all rows, and a list in place of this mapping replaces them"},
		{"any row changed", "world: base", "world: base\ntables: {contact: {change: [{where: {}, set: {name: Bo}}]}}",
			"a.yaml:3:39: one.tables.contact.change[0].where: is empty, expected cells of the rows that are meant; set changes all rows, and a list in place of this mapping replaces them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkErrors(t, files(edit(t, testScenario, c.old, c.replacement), testWorld), []string{c.want})
		})
	}
}

// TestInheritedTools takes an extra tool of the extended scenario away, which has an effect, and
// adds one that the extended scenario takes away, which has none.
func TestInheritedTools(t *testing.T) {
	t.Parallel()
	if _, err := readPack(extending("a: {extends: b, without_tools: [add_contact]}\nb: {extends: one, extra_tools: [add_contact]}\n"), testOptions()); err != nil {
		t.Errorf("an inherited extra tool, taken away: got %v, want no error", err)
	}
	checkErrors(t, extending("a: {extends: b, extra_tools: [add_contact]}\nb: {extends: one, without_tools: [add_contact]}\n"), []string{
		`0.yaml:1:31: a.extra_tools[0]: is "add_contact", which without_tools takes away in every variant; expected it in one of them`,
	})
}
