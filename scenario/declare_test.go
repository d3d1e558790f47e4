package scenario

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/packs"
)

// TestBuiltinSchema reads the file of the built-in tables as a pack's schema: it restates them and
// declares nothing.
func TestBuiltinSchema(t *testing.T) {
	files, err := packs.Open(packs.Phone)
	if err != nil {
		t.Fatal(err)
	}
	data, err := fs.ReadFile(files, schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	pack, err := LoadPack(fstest.MapFS{schemaFile: {Data: data}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(world.BuiltinTables(), pack.Restated, protocmp.Transform()); diff != "" || len(pack.Tables) > 0 {
		t.Errorf("got %d declared tables, want none; restated ones (-want +got):\n%s", len(pack.Tables), diff)
	}
}

func TestSchemaMistakes(t *testing.T) {
	tests := []struct{ text, want string }{
		{"tables: [{name: Note, columns: [{name: id, type: text}]}]", `1:17: tables[0].name: is "Note", expected up to 60 lower-case letters`},
		{"tables: [{name: contact, columns: [{name: id, type: text}]}]", `1:10: tables[0]: two tables are called "CONTACT"`},
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
		_, err := LoadPack(fstest.MapFS{schemaFile: {Data: []byte(test.text)}}, Options{})
		if err == nil || !strings.Contains(err.Error(), "schema.yaml:") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", test.text, err, test.want)
		}
	}
}
