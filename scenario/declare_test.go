package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// TestBuiltinSchema reads the file of the built-in tables as a pack's schema.
func TestBuiltinSchema(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "internal", "world", "schema.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range world.Builtin().Tables() {
		data = []byte(strings.Replace(string(data), "- name: "+world.AuthorName(table.Name)+"\n", "- name: my_"+world.AuthorName(table.Name)+"\n", 1))
	}
	// Packs cannot declare lists of texts.
	text := strings.ReplaceAll(strings.ReplaceAll(string(data), "type: texts", "type: text"), "measure: tool_trace", "measure: exact")
	declared, _, err := LoadSchema(fstest.MapFS{form.SchemaFile: {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	schema := world.SchemaOrBuiltin(declared)
	for _, table := range world.Builtin().Tables() {
		want := append([]world.Column(nil), table.Columns...)
		for i := range want {
			if want[i].Kind == world.KindTexts {
				want[i].Kind, want[i].Measure = world.KindText, world.DefaultMeasure
			}
		}
		got, _ := schema.Table("MY_" + table.Name)
		if diff := cmp.Diff(want, got.Columns); diff != "" {
			t.Errorf("%s (-want +got):\n%s", table.Name, diff)
		}
	}
}

func TestSchemaMistakes(t *testing.T) {
	tests := []struct{ text, want string }{
		{"tables: [{name: Note, columns: [{name: id, type: text}]}]", `1:17: tables[0].name: is "Note", expected up to 60 lower-case letters`},
		{"tables: [{name: contact, columns: [{name: id, type: text}]}]", `1:10: tables[0]: two tables are called "CONTACT"`},
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
		_, err := LoadPack(fstest.MapFS{form.SchemaFile: {Data: []byte(test.text)}}, Options{})
		if err == nil || !strings.Contains(err.Error(), "schema.yaml:") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", test.text, err, test.want)
		}
	}
}
