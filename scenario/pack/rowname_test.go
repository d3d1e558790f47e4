package pack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/toolsandbox/toolsandbox/scenario"
)

// namedWorld has named rows. nameScenario uses the names.
const (
	namedWorld = `clock: {now: 2025-01-02T12:00:00, time_zone: Europe/Berlin}
tables:
  setting: [{cellular: true, wifi: true, location_service: true, low_battery_mode: false, latitude: 1, longitude: 2.5}]
  messaging:
    - {message_id: m, sender_person_id: $zoë_de_wit, recipient_person_id: $ada_lind, content: Hello!}
  contact:
    - {person_id: a, name: Ada Lind, is_self: true}
    - {person_id: z, name: Zoë de Wit}
    - {person_id: e1, name: Emil Sand}
    - {person_id: e2, name: Emil Sander}
  reminder: [{reminder_id: r, content: "Feed the cat, at 9"}]
`
	nameScenario = `world: base
extra_tools: all
categories: [SINGLE_TOOL_CALL]
tables:
  contact: {add: [{name: Bo}], change: [{where: {person_id: $emil_sander}, set: {relationship: baker}}], remove: [{person_id: $emil_sand}]}
user: {goal: Be reminded., says: Remind me.}
oracle:
  - calls: [{tool: modify_contact, arguments: {person_id: NAME, content: $5, any: {reminder_id: $feed}}}]
milestones:
  searched:
    call: [{tool: search_messages, arguments: {sender_person_id: $zoë, message_id: $hello}}]
  kept: {table: reminder, expect: {reminder_id: $feed_the_cat_at_9, content: $feed}}
`
)

func TestRowNames(t *testing.T) {
	t.Parallel()
	loaded, err := readPack(files(strings.Replace(nameScenario, "NAME", "$bo", 1), namedWorld), scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	setup, nodes := loaded[0].Scenario.GetSetup(), loaded[0].Scenario.GetEvaluation().GetMilestones().GetNodes()
	target := nodes[1].GetConstraints()[0].GetTarget()[0].GetCells()
	message := setup.GetTables()[2].GetRows()[0].GetCells()
	got := []string{
		setup.GetOracleScript()[0].GetCalls()[0].GetArgumentsJson(),
		nodes[0].GetConstraints()[0].GetTarget()[0].GetCells()[2].GetValue().GetText(),
		target[0].GetValue().GetText(), target[1].GetValue().GetText(), message[1].GetText(), message[3].GetText(),
	}
	want := []string{
		`{"person_id": "` + contentID("Bo") + `", "content": "$5", "any": {"reminder_id": "r"}}`,
		`[{"tool_name": "search_messages", "arguments": {"sender_person_id": "z", "message_id": "m"}}]`,
		"r", "$feed", "z", "a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids of named rows (-want +got):\n%s", diff)
	}
}

func TestRowNameErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, written, want string }{
		{"unknown", "$emill", `no row of contact is called "emill"; expected one of ada_lind, bo, emil_sander, zoë_de_wit`},
		{"removed", "$emil_sand", `no row of contact is called "emil_sand"; did you mean "emil_sander"?`},
		{"empty", "$", `no row of contact is called ""; expected one of ada_lind, bo, emil_sander, zoë_de_wit`},
		{"another table", "$hello", `no row of contact is called "hello"; expected one of ada_lind, bo, emil_sander, zoë_de_wit`},
	} {
		_, err := readPack(files(strings.Replace(nameScenario, "NAME", c.written, 1), namedWorld), scenario.Options{})
		if want := "a.yaml:9:61: one.oracle[0].calls[0].arguments.person_id: " + c.want; err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", c.name, err, want)
		}
	}
	_, err := readPack(files(strings.Replace(nameScenario, "$emil_sand}", "$emil}", 1), namedWorld), scenario.Options{})
	const want = "a.yaml:6:129: one.tables.contact.remove[0].person_id: 2 rows of contact are called so; write more of the name, or give one a name of its own, person_id: $…"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("ambiguous: got %v, want %s", err, want)
	}
}

// contentID returns the id of a row with a content.
func contentID(about string) string { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(about)).String() }
