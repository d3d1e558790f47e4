package pack

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/toolsandbox/toolsandbox/internal/world"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestRowsWithTheSameID names both rows that have one id, written or made of their content, in
// worlds and scenarios, in the built-in tables and those of the pack.
func TestRowsWithTheSameID(t *testing.T) {
	const orders = "tables:\n  - name: order\n    columns: [{name: order_id, type: text}, {name: dish, type: text}]\n" +
		"  - name: locker\n    columns: [{name: locker_id, type: text}, {name: open, type: boolean}]\n"
	for _, test := range []struct{ name, scenario, world, want string }{
		{name: "made of the content", world: "  order:\n    - {dish: Soup}\n    - {dish: Soup}\n",
			want: "worlds/base.yaml:9:14: tables.order[1].dish: has the order_id of the row of order at worlds/base.yaml:8:14, as it is made of dish; " +
				"write another one, or order_id: $… with a name of its own"},
		{name: "written", world: "  order:\n    - {order_id: a, dish: Soup}\n    - {order_id: a, dish: Rice}\n",
			want: "worlds/base.yaml:9:18: tables.order[1].order_id: is the order_id of the row of order at worlds/base.yaml:8:18 too; give each row its own"},
		{name: "named", world: "  order:\n    - {order_id: $mine, dish: Soup}\n    - {order_id: $mine, dish: Rice}\n",
			want: "worlds/base.yaml:9:18: tables.order[1].order_id: is the order_id of the row of order at worlds/base.yaml:8:18 too; give each row its own"},
		{name: "named like a content", world: "  order:\n    - {dish: soup}\n    - {order_id: $soup, dish: Rice}\n",
			want: "worlds/base.yaml:9:18: tables.order[1].order_id: is the order_id of the row of order at worlds/base.yaml:8:14 too; give each row its own"},
		{name: "nothing to make it of", world: "  locker:\n    - {open: true}\n    - {open: false}\n",
			want: "worlds/base.yaml:9:7: tables.locker[1]: is the row of locker at worlds/base.yaml:8:7 once more: both are without locker_id, so they share one; " +
				"write locker_id: $… with a name of its own"},
		{name: "of the phone", world: "  reminder:\n    - {content: Milk}\n    - {content: Bread}\n    - {content: Milk}\n",
			want: "worlds/base.yaml:10:17: tables.reminder[2].content: has the reminder_id of the row of reminder at worlds/base.yaml:8:17, as it is made of content; " +
				"write another one, or reminder_id: $… with a name of its own"},
		{name: "added to the world's", scenario: "tables:\n  contact:\n    add:\n      - {name: Ada}\n",
			want: "a.yaml:6:18: one.tables.contact.add[0].name: has the person_id of the row of contact at worlds/base.yaml:6:14, as it is made of name; " +
				"write another one, or person_id: $… with a name of its own"},
		{name: "changed to another's", scenario: "tables:\n  order:\n    change:\n      - {where: {dish: Soup}, set: {order_id: b}}\n",
			world: "  order:\n    - {order_id: b, dish: Rice}\n    - {order_id: a, dish: Soup}\n",
			want:  "a.yaml:6:49: one.tables.order.change[0].set.order_id: is the order_id of the row of order at worlds/base.yaml:8:18 too; give each row its own"},
		{name: "an earlier row changed", scenario: "tables:\n  order:\n    change:\n      - {where: {dish: Soup}, set: {order_id: b}}\n",
			world: "  order:\n    - {order_id: a, dish: Soup}\n    - {order_id: b, dish: Rice}\n",
			want:  "a.yaml:6:49: one.tables.order.change[0].set.order_id: is the order_id of the row of order at worlds/base.yaml:9:18 too; give each row its own"},
		{name: "beside a changed row", scenario: "tables:\n  order:\n    change:\n      - {where: {dish: Soup}, set: {dish: Stew}}\n    add:\n      - {order_id: a}\n",
			world: "  order:\n    - {order_id: a, dish: Soup}\n",
			want:  "a.yaml:8:22: one.tables.order.add[0].order_id: is the order_id of the row of order at worlds/base.yaml:8:18 too; give each row its own"},
		{name: "all set to one", scenario: "tables:\n  order:\n    set: {order_id: c}\n",
			world: "  order:\n    - {order_id: a, dish: Soup}\n    - {order_id: b, dish: Rice}\n",
			want:  "a.yaml:5:23: one.tables.order.set.order_id: gives several rows of order the same order_id; change one row at a time"},
		{name: "removed before", scenario: "tables:\n  order:\n    remove: [{order_id: a}]\n    add: [{order_id: a}]\n",
			world: "  order:\n    - {order_id: a, dish: Soup}\n"},
		{name: "replaced", scenario: "tables:\n  order:\n    - {order_id: a}\n", world: "  order:\n    - {order_id: a, dish: Soup}\n"},
		{name: "without ids", world: "  order:\n    - {order_id: null, dish: Soup}\n    - {order_id: null, dish: Rice}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := testScenario
			if test.scenario != "" {
				text = edit(t, testScenario, "world: base\n", "world: base\n"+test.scenario)
			}
			fsys := files(text, testWorld+test.world)
			fsys["schema.yaml"] = &fstest.MapFile{Data: []byte(orders)}
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			checkErrors(t, fsys, want)
		})
	}
}

// TestSameIDInABase names the row of an extended world, of the pack's own and of the phone's.
func TestSameIDInABase(t *testing.T) {
	fsys := files(testScenario, testWorld)
	fsys["worlds/party.yaml"] = &fstest.MapFile{Data: []byte("extends: base\ntables:\n  contact: {add: [{name: Bo}]}\n")}
	fsys["worlds/more.yaml"] = &fstest.MapFile{Data: []byte("extends: party\nclock: {now: 2025-02-02}\ntables:\n  contact: {add: [{name: Ada}, {name: Bo}]}\n")}
	fsys["worlds/phone.yaml"] = &fstest.MapFile{Data: []byte("extends: phone/base\ntables:\n  contact: {add: [{name: Priya Raman}]}\n")}
	const form = "%s: has the person_id of the row of contact at %s, as it is made of name; write another one, or person_id: $… with a name of its own"
	checkErrors(t, fsys, []string{
		strings.NewReplacer("%s: has", "worlds/more.yaml:4:26: tables.contact.add[0].name: has", "at %s", "at worlds/base.yaml:6:14").Replace(form),
		strings.NewReplacer("%s: has", "worlds/more.yaml:4:39: tables.contact.add[1].name: has", "at %s", "at worlds/party.yaml:3:26").Replace(form),
		strings.NewReplacer("%s: has", "worlds/phone.yaml:3:26: tables.contact.add[0].name: has", "at %s", "at phone/worlds/base.yaml:9:14").Replace(form),
	})
}

// TestSameIDInCanonicalForm accepts rows with one id in a scenario of another program, because the
// original has such scenarios.
func TestSameIDInCanonicalForm(t *testing.T) {
	canonical := loadOne(t, testScenario)
	at := slices.IndexFunc(canonical.GetSetup().GetTables(), func(table *worldv1.Table) bool { return table.GetName() == world.Contact })
	table := canonical.GetSetup().GetTables()[at]
	table.Rows = append(table.GetRows(), table.GetRows()[0])
	text, err := protojson.Marshal(&scenariov1.Catalogue{Scenarios: []*scenariov1.Scenario{canonical}})
	if err != nil {
		t.Fatal(err)
	}
	checkErrors(t, fstest.MapFS{"catalogue.json": {Data: text}}, nil)
}
