package pack

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/packs"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// TestBuiltinSchema reads the file of the built-in tables as a pack's schema: it restates them and
// declares nothing.
func TestBuiltinSchema(t *testing.T) {
	files, err := packs.Open(packs.Phone)
	if err != nil {
		t.Fatal(err)
	}
	data, err := fs.ReadFile(files, form.SchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	pack, err := Load(fstest.MapFS{form.SchemaFile: {Data: data}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(world.BuiltinTables(), pack.Restated, protocmp.Transform()); diff != "" || len(pack.Tables) > 0 {
		t.Errorf("got %d declared tables, want none; restated ones (-want +got):\n%s", len(pack.Tables), diff)
	}
}

// charge is a schema that adds a column to SETTING.
const charge = "tables: [{name: setting, columns: [{name: charge_percent, type: number, default: 80}]}]"

// TestExtension checks that rows without an added column have its default, null included.
func TestExtension(t *testing.T) {
	pack, err := Load(fstest.MapFS{
		form.SchemaFile: {Data: []byte("tables:\n" +
			"  - {name: setting, columns: [{name: charge_percent, type: number, default: 80}, {name: owner, type: text, default: null}]}\n" +
			"  - {name: note, columns: [{name: note_id, type: text}, {name: pinned, type: boolean, default: false}, {name: title, type: text}]}\n")},
		"worlds/flat.yaml": {Data: []byte("clock: {now: 2025-03-14T09:15:00, time_zone: UTC}\n" +
			"tables:\n  setting: [{wifi: true}]\n  note: [{title: a}, {title: b, pinned: null}, {title: c, pinned: true}]\n")},
		"worlds/low.yaml": {Data: []byte("extends: flat\ntables: {setting: {set: {charge_percent: 7}}}\n")},
		"all.yaml":        {Data: []byte("full: {world: flat, user: {goal: Be greeted., says: Hi}, oracle: [{say: Hello.}]}\nlow: {world: low, user: {goal: Be greeted., says: Hi}, oracle: [{say: Hello.}]}\n")},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []*worldv1.Value{world.Number(80), world.Number(7)} {
		setup := pack.Scenarios[i].Scenario.GetSetup()
		schema, err := world.NewSchema(setup.GetSchema())
		if err != nil {
			t.Fatal(err)
		}
		setting, _ := schema.Table(world.Setting)
		cells := setup.GetTables()[0].GetRows()[0].GetCells()
		got := []*worldv1.Value{cells[setting.Column("charge_percent")], cells[setting.Column("owner")], cells[setting.Column("wifi")], cells[setting.Column("cellular")]}
		if diff := cmp.Diff([]*worldv1.Value{want, world.Null(), world.Bool(true), world.Null()}, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s: charge_percent, owner, wifi, cellular (-want +got):\n%s", setup.GetName(), diff)
		}
		var pinned []*worldv1.Value
		for _, row := range setup.GetTables()[len(setup.GetTables())-1].GetRows() {
			pinned = append(pinned, row.GetCells()[1])
		}
		if diff := cmp.Diff([]*worldv1.Value{world.Bool(false), world.Null(), world.Bool(true)}, pinned, protocmp.Transform()); diff != "" {
			t.Errorf("%s: pinned (-want +got):\n%s", setup.GetName(), diff)
		}
	}
}

func TestSchemaMistakes(t *testing.T) {
	tests := []struct{ text, want string }{
		{"tables: [{name: Note, columns: [{name: id, type: text}]}]", `1:17: tables[0].name: is "Note", expected up to 60 lower-case letters`},
		{"tables: [{name: contact, columns: [{name: name, type: text, default: null}]}]", "1:43: tables[0].columns[0].name: contact is a built-in table and has a column name; name only new columns"},
		{"tables: [{name: contact, columns: [{name: born, type: text}]}]", `1:36: tables[0].columns[0]: has no "default", expected a text or null, which rows of contact without it have`},
		{"tables: [{name: contact, columns: [{name: born, type: text, default: 7}]}]", "1:70: tables[0].columns[0].default: is a number, expected a text or nothing"},
		{"tables: [{name: contact, description: A friend., columns: [{name: born, type: text, default: null}]}]", "tables[0].description: contact is a built-in table, which has a description"},
		{"tables: [{name: contact, columns: []}]", "tables[0]: contact is a built-in table; expected new columns of it"},
		{"tables: [{name: sandbox, columns: [{name: mood, type: texts, default: null}]}]", "tables[0]: sandbox holds the messages"},
		{charge[:len(charge)-1] + ", " + charge[len("tables: ["):], `two columns are called "charge_percent"`},
		{"tables: [{name: note, columns: [{name: id, type: text, default: a}]}]", "tables[0].columns[0].default: is a default of the row's id"},
		{"tables: [{name: note, columns: [{name: id, type: text}]}, {name: note, columns: [{name: id, type: text}]}]", `two tables are called "NOTE"`},
		{"tables: [{name: note}]", `1:10: tables[0]: has no "columns", which is required`},
		{"tables: [{name: note, columns: [{name: id}]}]", `has no "type", which is required`},
		{"tables: [{name: note, columns: [{name: id, type: texts}]}]", `unknown type "texts"; did you mean "text"?`},
		{"tables: [{name: note, columns: [{name: id, type: text, measure: exakt}]}]", `unknown measure "exakt"; did you mean "exact"?`},
		{"tables: [{name: note, columns: [{name: id, type: text, measure: tool_trace}]}]", "tool_trace compares the column tool_trace, not id"},
		{"tables: [{name: note, columns: [{name: id, type: number}]}]", "the first column is the id of a row, expected a text"},
		{"tables: [{name: note, colums: []}]", `tables[0].colums: unknown field; did you mean "columns"?`},
		{"table: []", `table: unknown field; did you mean "tables"?`},
		{"- note", "expected a mapping"},
	}
	for _, test := range tests {
		_, err := Load(fstest.MapFS{form.SchemaFile: {Data: []byte(test.text)}}, Options{})
		if err == nil || !strings.Contains(err.Error(), "schema.yaml:") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", test.text, err, test.want)
		}
	}
}
