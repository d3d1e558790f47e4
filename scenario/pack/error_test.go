package pack

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// testWorld has one row in each table that requires or uses one.
const testWorld = `clock: {now: 2025-01-02T03:04:05, time_zone: Europe/Berlin}
tables:
  setting:
    - {cellular: true, wifi: true, location_service: true, low_battery_mode: false, latitude: 1, longitude: 2.5}
  contact:
    - {name: Ada, phone_number: "+493023125000", is_self: true}
`

// testScenario is valid. Tests replace or add lines.
const testScenario = `world: base
categories: [SINGLE_TOOL_CALL]
extra_tools: [set_wifi_status]
user:
  goal: Wifi off.
  says: Wifi off!
oracle:
  - calls: [{tool: set_wifi_status, arguments: {on: false}}]
  - say: Done.
milestones:
  off:
    table: setting
    expect: {wifi: false}
  told:
    says: Done.
`

// testOptions has three tools.
func testOptions() scenario.Options {
	tools := []string{"set_wifi_status", "add_contact", "end_conversation"}
	return scenario.Options{Known: func(tool string) bool { return slices.Contains(tools, tool) }, Tools: tools}
}

// edit replaces a text that must occur exactly once.
func edit(t *testing.T, text, old, replacement string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q occurs %d times, want once", old, strings.Count(text, old))
	}
	return strings.Replace(text, old, replacement, 1)
}

// files returns a pack with a world and a scenario called one with the given fields.
func files(fields, world string) fstest.MapFS {
	return fstest.MapFS{"a.yaml": {Data: []byte(named("one", fields))}, "worlds/base.yaml": {Data: []byte(world)}}
}

// named returns a scenario with a name and fields.
func named(name, fields string) string {
	return name + ":\n" + indented(fields)
}

// indented indents lines below a key.
func indented(lines string) string {
	return strings.TrimSuffix("  "+strings.ReplaceAll(lines, "\n", "\n  "), "  ")
}

// checkErrors loads a catalogue and compares its mistakes.
func checkErrors(t *testing.T, fsys fstest.MapFS, want []string) {
	t.Helper()
	loaded, err := readPack(fsys, testOptions())
	var mistakes document.Errors
	if err != nil && !errors.As(err, &mistakes) {
		t.Fatalf("got %v, want Errors", err)
	}
	var got []string
	for _, mistake := range mistakes {
		got = append(got, mistake.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
	if err != nil && loaded != nil {
		t.Errorf("got %d scenarios beside an error, want none", len(loaded))
	}
}

func TestScenarioErrors(t *testing.T) {
	for _, c := range []struct{ name, old, replacement, want string }{
		{"unknown field", "world: base", "wrld: base",
			`a.yaml:2:3: one.wrld: unknown field; did you mean "world"?`},
		{"unknown nested field", "says: Wifi off!", "say: Wifi off!",
			`a.yaml:7:5: one.user.say: unknown field; did you mean "says"?`},
		{"missing field", "  goal: Wifi off.\n", "",
			`a.yaml:6:5: one.user: has no "goal", which is required`},
		{"wrong type", "categories: [SINGLE_TOOL_CALL]", "categories: SINGLE_TOOL_CALL",
			"a.yaml:3:15: one.categories: is a text, expected a list"},
		{"number for a text", "goal: Wifi off.", "goal: 5",
			"a.yaml:6:11: one.user.goal: is a number, expected a text (quote it)"},
		{"fraction for a whole number", "world: base", "max_messages: 1.5\nworld: base",
			"a.yaml:2:17: one.max_messages: is 1.5, expected a whole number from 1 to 10000"},
		{"duplicate key", "world: base", "world: base\nworld: two",
			"a.yaml:3:3: one.world: is written twice; keep one"},
		{"duplicate nested key", "expect: {wifi: false}", "expect: {wifi: false, wifi: true}",
			"a.yaml:14:29: one.milestones.off.expect.wifi: is written twice; keep one"},
		{"not YAML", "extra_tools: [set_wifi_status]", "extra_tools: [set_wifi_status",
			"a.yaml:5:3: document: not readable as YAML: ',' or ']' must be specified"},
		{"anchor", "goal: Wifi off.", "goal: &a Wifi off.",
			"a.yaml:6:11: one.user.goal: anchors and aliases are not read; write the value out"},
		{"tag", "goal: Wifi off.", "goal: !!str 5",
			"a.yaml:6:11: one.user.goal: tags are not read; quote a text, write anything else plainly"},
		{"leading zero", "arguments: {on: false}", "arguments: {on: 0612}",
			`a.yaml:9:55: one.oracle[0].calls[0].arguments.on: 0612 begins with a zero, which YAML's versions read as different numbers: write "0612" if it is a text`},
		{"infinite", "arguments: {on: false}", "arguments: {on: .inf}",
			"a.yaml:9:55: one.oracle[0].calls[0].arguments.on: is not a finite number"},
		{"unknown world", "world: base", "world: bse",
			`a.yaml:2:10: one.world: there is no worlds/bse.yaml; did you mean "base"?`},
		{"unknown category", "[SINGLE_TOOL_CALL]", "[SINGLE_TOOL_CALLS]",
			`a.yaml:3:16: one.categories[0]: unknown category "SINGLE_TOOL_CALLS"; did you mean "SINGLE_TOOL_CALL"?`},
		{"category twice", "[SINGLE_TOOL_CALL]", "[COREFERENCE, COREFERENCE]",
			"a.yaml:3:29: one.categories[1]: category COREFERENCE occurs twice (those for augmentations are added by themselves)"},
		{"unknown tool", "extra_tools: [set_wifi_status]", "extra_tools: [set_wifi_status, set_wifi]",
			`a.yaml:4:34: one.extra_tools[1]: unknown tool "set_wifi"; expected one of set_wifi_status, add_contact, end_conversation`},
		{"unknown tool, near", "extra_tools: [set_wifi_status]", "extra_tools: [set_wifi_status, add_contacts]",
			`a.yaml:4:34: one.extra_tools[1]: unknown tool "add_contacts"; did you mean "add_contact"?`},
		{"unknown tool in a call", "{tool: set_wifi_status, arguments", "{tool: set_wify_status, arguments",
			`a.yaml:9:22: one.oracle[0].calls[0].tool: unknown tool "set_wify_status"; did you mean "set_wifi_status"?`},
		{"tool taken away", "extra_tools: [set_wifi_status]", "extra_tools: []\nwithout_tools: [set_wifi_status]",
			`a.yaml:10:22: one.oracle[0].calls[0].tool: the agent may not call "set_wifi_status": without_tools lists it`},
		{"arguments no mapping", "arguments: {on: false}", "arguments: [false]",
			"a.yaml:9:50: one.oracle[0].calls[0].arguments: is a list, expected a mapping"},
		{"call id twice", "- say: Done.\nmilestones", "- calls: [{id: call_1, tool: set_wifi_status}]\nmilestones",
			`a.yaml:10:20: one.oracle[1].calls[0].id: call id "call_1" is used twice in this script`},
		{"empty turn", "- say: Done.\nmilestones", "- say: ''\nmilestones",
			"a.yaml:10:7: one.oracle[1]: neither says nor calls anything"},
		{"unknown augmentation", "world: base", "world: base\naugmentations: [TOOL_NAMES_SCRAMBLED]",
			`a.yaml:3:19: one.augmentations[0]: unknown augmentation "TOOL_NAMES_SCRAMBLED"; did you mean "TOOL_NAME_SCRAMBLED"?`},
		{"negative step", "world: base", "world: base\nclock: {step: -1}",
			"a.yaml:3:17: one.clock.step: is -1, expected 0 or more seconds"},
		{"unknown zone", "world: base", "world: base\nclock: {time_zone: Europe/Berln}",
			`a.yaml:3:22: one.clock.time_zone: "Europe/Berln" is no time zone, expected an IANA name like America/Los_Angeles`},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkErrors(t, files(edit(t, testScenario, c.old, c.replacement), testWorld), strings.Split(c.want, "\n"))
		})
	}
}

// TestTextErrors checks texts that are empty, and keys that do not look as they are.
func TestTextErrors(t *testing.T) {
	for _, c := range []struct{ name, old, replacement, want string }{
		{"blank turn", "- say: Done.\nmilestones", "- say: ' '\nmilestones", "a.yaml:10:7: one.oracle[1]: neither says nor calls anything"},
		{"empty texts of the user", "  goal: Wifi off.\n  says: Wifi off!\n",
			"  goal: ''\n  knowledge: [Mine., ' ']\n  unknown: ''\n  demonstrations: [{user: ''}, {agent: ' '}]\n  says: ' '\n",
			"a.yaml:6:11: one.user.goal: is empty, expected a text\na.yaml:7:24: one.user.knowledge[1]: is empty, expected a text\n" +
				"a.yaml:8:14: one.user.unknown: is empty, expected a text\na.yaml:9:29: one.user.demonstrations[0].user: is empty, expected a text\n" +
				"a.yaml:9:42: one.user.demonstrations[1].agent: is empty, expected a text\na.yaml:10:11: one.user.says: is empty, expected a text"},
		{"empty message", "user:\n  goal: Wifi off.\n  says: Wifi off!\n", "messages: [{from: USER, to: AGENT, content: ''}]\n",
			"a.yaml:5:47: one.messages[0].content: is empty, expected a text"},
		{"key with a character that does not print", "oracle:", "\"orac\ufeffle\": []\noracle:",
			`a.yaml:8:3: one.orac\ufeffle: unknown field; did you mean "oracle"?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkErrors(t, files(edit(t, testScenario, c.old, c.replacement), testWorld), strings.Split(c.want, "\n"))
		})
	}
}

func TestGraphErrors(t *testing.T) {
	for _, c := range []struct{ name, old, replacement, want string }{
		{"dangling after", "  told:", "  told:\n    after: [of]",
			`a.yaml:16:15: one.milestones.told.after[0]: nothing here is named "of"; did you mean "off"?`},
		{"dangling reference", "says: Done.", "says: Done.\n    reference: of",
			`a.yaml:17:18: one.milestones.told.reference: is "of", expected start or "off"`},
		{"reference to a later one", "expect: {wifi: false}", "expect: {wifi: false}\n    reference: told",
			`a.yaml:15:18: one.milestones.off.reference: "told" does not come before "off", so there would be nothing to refer to; name it in after`},
		{"cycle", "  off:", "  off:\n    after: [told]",
			"a.yaml:13:15: one.milestones.off.after[0]: the order has a cycle: off before told before off"},
		{"unordered", "  told:", "  told:\n    after: []",
			"a.yaml:12:5: one.milestones.off: has no edge, so it is never matched\n" +
				"a.yaml:15:5: one.milestones.told: has no edge, so it is never matched"},
		{"duplicate name", "  told:", "  off:",
			"a.yaml:15:5: one.milestones.off: is written twice; keep one"},
		{"no constraint", "says: Done.", "constraints: []",
			"a.yaml:16:20: one.milestones.told.constraints: has no constraint, so nothing says when it is reached"},
		{"nothing to expect", "    expect: {wifi: false}\n", "",
			"a.yaml:13:7: one.milestones.off: says nothing to expect: give expect, call or says"},
		{"bad table", "table: setting", "table: settings",
			`a.yaml:13:14: one.milestones.off.table: unknown table "settings"; did you mean "setting"?`},
		{"bad column", "expect: {wifi: false}", "expect: {wify: false}",
			`a.yaml:14:16: one.milestones.off.expect.wify: setting has no column "wify"; did you mean "wifi"?`},
		{"bad value type", "expect: {wifi: false}", "expect: {wifi: 'off'}",
			"a.yaml:14:22: one.milestones.off.expect.wifi: is a text, expected a boolean"},
		{"bad role in a cell", "says: Done.", "table: sandbox\n    expect: {sender: AGENTS}",
			`a.yaml:17:24: one.milestones.told.expect.sender: unknown role "AGENTS"; did you mean "AGENT"?`},
		{"other columns", "expect: {wifi: false}", "expect: [{wifi: false}, {cellular: false}]",
			"a.yaml:14:31: one.milestones.off.expect[1]: lists other columns than the first row; all rows list the same, in the same order"},
		{"bad measure", "table: setting", "table: setting\n    measure: additions",
			`a.yaml:14:16: one.milestones.off.measure: unknown measure "additions"; did you mean "addition"?`},
		{"no reference", "table: setting", "table: setting\n    measure: addition",
			"a.yaml:13:7: one.milestones.off: has no reference, which addition needs: a name or start"},
		{"bad override column", "table: setting", "table: setting\n    overrides: {contents: contains}",
			`a.yaml:14:19: one.milestones.off.overrides.contents: setting has no column "contents"; expected one of device_id, cellular, wifi, location_service, low_battery_mode, latitude, longitude`},
		{"bad override measure", "table: setting", "table: setting\n    overrides: {wifi: exactly}",
			`a.yaml:14:25: one.milestones.off.overrides.wifi: unknown measure "exactly"; did you mean "exact"?`},
		{"bad guardrail", "table: setting", "table: setting\n    guardrails: {only: [contacts]}",
			`a.yaml:14:27: one.milestones.off.guardrails.only[0]: unknown table "contacts"; did you mean "contact"?`},
		{"bad guardrail of all", "milestones:", "guardrails: {except: [contacts]}\nmilestones:",
			`a.yaml:11:25: one.guardrails.except[0]: unknown table "contacts"; did you mean "contact"?`},
		{"guardrails twice", "table: setting", "table: setting\n    guardrails: {only: [contact], except: [contact]}",
			"a.yaml:14:19: one.milestones.off.guardrails: has 2 fields, expected one of only, except"},
		{"name of the first message", "  off:", "  start:", "a.yaml:12:5: one.milestones.start: is what references call the first user message; take another name"},
		{"unknown tool in a trace", "says: Done.", "call: {tool: set_wifi_state}",
			`a.yaml:16:13: one.milestones.told.call: unknown tool "set_wifi_state"; did you mean "set_wifi_status"?`},
		{"two forms", "says: Done.", "says: Done.\n    table: sandbox",
			"a.yaml:17:14: one.milestones.told.table: cannot stand beside call or says, which stand for a row of sandbox"},
		{"no extractor", "says: Done.", "table: sandbox\n    measure: derived\n    reference: off\n    into: content\n    expect: {content: '{a}'}",
			"a.yaml:16:7: one.milestones.told: is empty, expected the name of an extractor or {python: expression}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := c.old
			if old == "says: Done." { // the oracle's text too
				old = "    says: Done."
				c.replacement = "    " + c.replacement
			}
			checkErrors(t, files(edit(t, testScenario, old, c.replacement), testWorld), strings.Split(c.want, "\n"))
		})
	}
}

func TestMessageErrors(t *testing.T) {
	given := func(messages string) string {
		return edit(t, testScenario, "user:\n  goal: Wifi off.\n  says: Wifi off!\n", "messages:\n"+messages)
	}
	for _, c := range []struct{ name, messages, want string }{
		{"fine", "  - {from: SYSTEM, to: AGENT, content: Hi}\n  - {from: USER, to: AGENT, content: Wifi off}\n", ""},
		{"bad role", "  - {from: USERS, to: AGENT, content: Hi}\n",
			`a.yaml:6:14: one.messages[0].from: unknown role "USERS"; did you mean "USER"?`},
		{"bad role in a list", "  - {from: USER, to: AGENT, content: Hi, visible_to: [BOSS]}\n",
			`a.yaml:6:57: one.messages[0].visible_to[0]: unknown role "BOSS"; expected one of SYSTEM, USER, AGENT, EXECUTION_ENVIRONMENT`},
		{"nobody answers", "  - {from: SYSTEM, to: AGENT, content: Hi}\n",
			"a.yaml:6:14: one.messages[0].from: the last starting message is from SYSTEM, which only configures; expected a message that AGENT answers"},
		{"to the system", "  - {from: USER, to: SYSTEM, content: Hi}\n",
			"a.yaml:6:24: one.messages[0].to: nobody answers for SYSTEM"},
		{"none", "  []\n", "a.yaml:6:5: one.messages: is empty, expected at least the user's first message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []string
			if c.want != "" {
				want = strings.Split(c.want, "\n")
			}
			checkErrors(t, files(given(c.messages), testWorld), want)
		})
	}
}

func TestWorldErrors(t *testing.T) {
	for _, c := range []struct{ name, old, replacement, want string }{
		{"unknown table", "  contact:", "  contacts:",
			`worlds/base.yaml:5:3: tables.contacts: unknown table "contacts"; did you mean "contact"?`},
		{"bad column", "name: Ada", "nam: Ada",
			`worlds/base.yaml:6:8: tables.contact[0].nam: contact has no column "nam"; did you mean "name"?`},
		{"number for a phone number", `"+493023125000"`, "+493023125000",
			"worlds/base.yaml:6:33: tables.contact[0].phone_number: is a number, expected a text (quote it)"},
		{"bad value type", "wifi: true", "wifi: 1",
			"worlds/base.yaml:4:30: tables.setting[0].wifi: is a number, expected a boolean"},
		{"bad time", "now: 2025-01-02T03:04:05", "now: 2025-1-2",
			`worlds/base.yaml:1:14: clock.now: is "2025-1-2", expected a number or a local time like 2024-05-22T10:30`},
		{"time before 1970", "now: 2025-01-02T03:04:05", "now: 1969-05-01", "worlds/base.yaml:1:14: clock.now: is -21171600, expected a time from 1970 to 9999"},
		{"time without a year", "now: 2025-01-02T03:04:05", "now: 1e18", "worlds/base.yaml:1:14: clock.now: is 1000000000000000000, expected a time from 1970 to 9999"},
		{"messages as rows", "  contact:", "  sandbox: []\n  contact:",
			"worlds/base.yaml:5:3: tables.sandbox: sandbox holds the messages, which are not given as rows"},
		{"unknown base", "clock:", "extends: bas\nclock:",
			`worlds/base.yaml:1:10: extends: there is no worlds/bas.yaml; did you mean "base"?`},
		{"itself", "clock:", "extends: base\nclock:",
			`worlds/base.yaml:1:10: extends: extends itself by way of "base"`},
		{"two documents", "clock:", "notes: x\n---\nclock:",
			"worlds/base.yaml:1:1: document: has 2 documents, expected one world"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkErrors(t, files(testScenario, edit(t, testWorld, c.old, c.replacement)), []string{c.want})
		})
	}
}

// TestAllErrors checks that every mistake of every file is reported.
func TestAllErrors(t *testing.T) {
	second := edit(t, edit(t, testScenario, "table: setting", "table: seting"), "[SINGLE_TOOL_CALL]", "[NONSENSE]")
	checkErrors(t, fstest.MapFS{
		"a.yaml":           {Data: []byte(named("one", testScenario) + named("one", second))},
		"b.yaml":           {Data: []byte(named("one", testScenario))},
		"c.yaml":           {Data: []byte("- name: list\n")},
		"d.yaml":           {Data: []byte("\xff")},
		"worlds/base.yaml": {Data: []byte(testWorld)},
		"worlds/more.yaml": {Data: []byte("extends: base\ntables:\n  contact: {remove: [{name: Bob}], change: [{where: {name: Ada}}]}\n")},
	}, []string{
		`a.yaml:17:1: one: another scenario is called "one" too, at a.yaml:1:1; names must be unique`,
		`a.yaml:19:16: one.categories[0]: unknown category "NONSENSE"; categories in pack.yaml lists those of the pack`,
		`a.yaml:29:14: one.milestones.off.table: unknown table "seting"; did you mean "setting"?`,
		`b.yaml:1:1: one: another scenario is called "one" too, at a.yaml:17:1; names must be unique`,
		`c.yaml:1:1: document: is a list, expected a mapping`,
		`d.yaml:1:1: document: the file is not UTF-8 text`,
		`worlds/more.yaml:3:22: tables.contact.remove[0]: no row of contact is like this`,
		`worlds/more.yaml:3:45: tables.contact.change[0]: has no "set", which is required`,
	})
}
