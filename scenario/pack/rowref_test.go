package pack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/scenario"
)

// ownNames is a world whose rows have explicit names and refer to each other.
const ownNames = `clock: {now: 2025-01-02T12:00, time_zone: Europe/Berlin}
tables:
  messaging:
    - {sender_person_id: $ada, recipient_person_id: $other_ada, content: Hello!}
    - {sender_person_id: $ada, sender_phone_number: "+493023125040", recipient_person_id: $bo, recipient_phone_number: ~, content: Hi!}
  setting: [{cellular: true, wifi: true, location_service: true, low_battery_mode: false, latitude: 1, longitude: 2.5}]
  contact:
    - {person_id: $ada, name: Ada Lind, phone_number: "+493023125041", is_self: true}
    - {person_id: $other_ada, name: Ada Lind, phone_number: "+493023125042"}
    - {name: Bo, phone_number: "+493023125043"}
`

func TestRowReferences(t *testing.T) {
	t.Parallel()
	text := strings.Replace(turnScenario, "ORACLE", `tables: {messaging: {add: [{sender_person_id: $other_ada, content: Hey!}]}}
oracle:
  - modify_contact: {person_id: $other_ada, name: Ada}
  - say: Done.
    milestone: told
`, 1)
	loaded, err := readPack(files(text, ownNames), scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	setup := loaded[0].Scenario.GetSetup()
	var got []string
	for _, row := range setup.GetTables()[2].GetRows() {
		for _, cell := range row.GetCells()[1:5] {
			got = append(got, cell.GetText())
		}
	}
	got = append(got, setup.GetOracleScript()[0].GetCalls()[0].GetArgumentsJson())
	ada, other, bo := contentID("ada"), contentID("other_ada"), contentID("Bo")
	want := []string{
		ada, "+493023125041", other, "+493023125042",
		ada, "+493023125040", bo, "",
		other, "+493023125042", "", "",
		`{"person_id": "` + other + `", "name": "Ada"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids and numbers of messages, id of a call (-want +got):\n%s", diff)
	}
	_, err = readPack(files(strings.Replace(text, "$other_ada, name", "$ada_lind, name", 1), ownNames), scenario.Options{})
	const mistake = "oracle[0].modify_contact.person_id: 2 rows of contact are called so; write more of the name, or give one a name of its own, person_id: $…"
	if err == nil || !strings.Contains(err.Error(), mistake) {
		t.Errorf("a name that two rows share: got %v, want %s", err, mistake)
	}
}
