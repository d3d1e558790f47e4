package pack

import (
	"strconv"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
)

// TestColonMakesMapping checks the explanation of a text that its colon makes a mapping.
func TestColonMakesMapping(t *testing.T) {
	checkErrors(t, files(edit(t, testScenario, "says: Wifi off!", "says: Wifi off!\n  knowledge: [x, One thing: two]"), testWorld), []string{
		`a.yaml:8:20: one.user.knowledge[1]: is a mapping, expected a text: a colon before a space makes a mapping; write "One thing: two" if this is one text`,
	})
}

// TestControlCharacters checks that a file with characters that YAML does not allow is not read.
func TestControlCharacters(t *testing.T) {
	for character, want := range map[string]string{
		"\x00": `YAML does not allow the character U+0000; write it as \x00 in double quotes`,
		"\x1b": `YAML does not allow the character U+001B; write it as \x1b in double quotes`,
		"\x7f": `YAML does not allow the character U+007F; write it as \x7f in double quotes`,
	} {
		checkErrors(t, files(edit(t, testScenario, "says: Wifi off!", "says: Wïfi"+character+" off!"), testWorld), []string{"a.yaml:7:15: document: " + want})
	}
	if _, err := readPack(files(edit(t, testScenario, "says: Wifi off!", "says: \"\\x1bWifi off!\""), testWorld), testOptions()); err != nil {
		t.Errorf("an escape: got %v", err)
	}
}

// TestReferences checks that only valid references are accepted.
func TestReferences(t *testing.T) {
	for _, c := range []struct{ written, column, want string }{
		{"begin", "71", `is "begin", expected start or "off" or "on"`},
		{"7", "71", `is a number, expected start or "off" or "on"`},
		{"true", "71", `is a boolean, expected start or "off" or "on"`},
		{"", "70", `is nothing, expected start or "off" or "on"`},
		{"[off]", "71", `is a list, expected start or "off" or "on"`},
		{"{off: on}", "71", `is a mapping, expected start or "off" or "on"`},
	} {
		text := edit(t, testScenario, "  told:\n    says: Done.\n", `  on: {says: On.}
  aside: {after: [off], says: Aside.}
  told: {after: [on], table: contact, measure: addition, reference: `+c.written+`, expect: {name: Ada}}
  later: {says: Later.}
`)
		checkErrors(t, files(text, testWorld), []string{"a.yaml:17:" + c.column + ": one.milestones.told.reference: " + c.want})
	}
}

func TestPhoneNumbers(t *testing.T) {
	for _, c := range []struct{ name, column, written, want string }{
		{"text", "contact: [{name: A, phone_number", `"555"`, `one.tables.contact[0].phone_number: is "555"`},
		{"empty", "contact: [{name: A, phone_number", `""`, `one.tables.contact[0].phone_number: is ""`},
		{"sender", "messaging: [{content: A, sender_phone_number", "x", `one.tables.messaging[0].sender_phone_number: is "x"`},
		{"recipient", "messaging: [{content: A, recipient_phone_number", "x", `one.tables.messaging[0].recipient_phone_number: is "x"`},
		{"good", "contact: [{name: A, phone_number", `"+11233344455"`, ""},
		{"none", "contact: [{name: A, phone_number", "null", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			const reason = ", expected a phone number in international form like +493023125040"
			line := "tables: {" + c.column + ": "
			text := edit(t, testScenario, "world: base\n", "world: base\n"+line+c.written+"}]}\n")
			world := edit(t, testWorld, `"+493023125000"`, `"+49"`)
			_, err := readPack(files(text, testWorld), testOptions())
			want := ""
			if c.want != "" {
				want = "a.yaml:3:" + column("  "+line) + ": " + c.want + reason
			}
			if got := errorText(err); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			checkErrors(t, files(testScenario, world), []string{`worlds/base.yaml:6:33: tables.contact[0].phone_number: is "+49"` + reason})
		})
	}
}

// TestCanonicalPhoneNumber checks phone numbers of a scenario in canonical form.
func TestCanonicalPhoneNumber(t *testing.T) {
	s := loadOne(t, testScenario)
	s.Setup.Tables[1].Rows[0].Cells[2] = world.Text("555")
	wire, err := proto.Marshal(&scenariov1.Catalogue{Scenarios: []*scenariov1.Scenario{s}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Load(fstest.MapFS{"catalogue.binpb": {Data: wire}}, Options{Options: testOptions()})
	const want = `catalogue.binpb:1:1: scenarios[0].setup.tables[1].rows[0].cells[2]: one: contact.phone_number is "555", ` +
		"expected a phone number in international form like +493023125040"
	if errorText(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func column(before string) string { return strconv.Itoa(len(before) + 1) }
