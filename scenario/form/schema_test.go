package form

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

func schemaText(t *testing.T) []byte {
	t.Helper()
	text, err := JSONSchema(world.Builtin(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// compiled returns a definition of the schema, or the root.
func compiled(t *testing.T, definition string) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText(t)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	if definition != "" {
		definition = "#/$defs/" + definition
	}
	schema, err := compiler.Compile("schema.json" + definition)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// documentsOf returns the documents of a file for a JSON validator.
func documentsOf(t *testing.T, name string, data []byte) []any {
	t.Helper()
	r := &document.Reader{File: name}
	var out []any
	for _, doc := range r.Documents(data) {
		plain, err := jsonschema.UnmarshalJSON(strings.NewReader(document.JSON(doc)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, plain)
	}
	if r.Errors != nil {
		t.Fatal(r.Errors)
	}
	return out
}

// TestSchemaFresh compares the committed schema with the format.
func TestSchemaFresh(t *testing.T) {
	golden, got := filepath.Join(catalogueDir, "schema.json"), schemaText(t)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("write it with toolsandbox scenario schema (-committed +format):\n%s", diff)
	}
}

// TestSchemaAccepts checks the files of the catalogue and the test data with the schema.
func TestSchemaAccepts(t *testing.T) {
	scenarios, worlds := compiled(t, "scenarios"), compiled(t, "world")
	ofPack := map[string]*jsonschema.Schema{"pack.yaml": compiled(t, "pack"), SchemaFile: compiled(t, "schema")}
	count := 0
	for _, dir := range []string{catalogueDir, everything} {
		for pattern, schema := range map[string]*jsonschema.Schema{"*.yaml": scenarios, "worlds/*.yaml": worlds} {
			names, err := fs.Glob(os.DirFS(dir), pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				data, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				schema := schema
				if own, ok := ofPack[name]; ok {
					schema, data = own, bytes.ReplaceAll(data, []byte("type: texts"), []byte("type: text")) // only messages hold lists
				}
				for _, doc := range documentsOf(t, name, data) {
					count++
					if err := schema.Validate(doc); err != nil {
						t.Errorf("%s/%s: %v", dir, name, err)
					}
				}
			}
		}
	}
	if count < 20 {
		t.Errorf("checked %d documents, want at least 20", count)
	}
}

// TestSchemaRejects checks mistakes that the schema rejects.
func TestSchemaRejects(t *testing.T) {
	schema := compiled(t, "")
	for _, c := range []struct{ name, old, replacement string }{
		{"nothing", "world: base", "world: base"},
		{"unknown field", "world: base", "wrld: base"},
		{"missing field", "{tool: set_wifi_status, arguments: {on: false}}", "{arguments: {on: false}}"},
		{"wrong type", "[SINGLE_TOOL_CALL]", "SINGLE_TOOL_CALL"},
		{"unknown category", "[SINGLE_TOOL_CALL]", "[SINGLE]"},
		{"two in a turn", "- say: Done.\nmilestones", "- {say: Done., end: true}\nmilestones"},
		{"a tool beside a text", "- say: Done.\nmilestones", "- {say: Done., get_wifi_status: {}}\nmilestones"},
		{"a tool without arguments", "- say: Done.\nmilestones", "- get_wifi_status: 5\nmilestones"},
		{"two tables", "  told:", "  both:\n    update: {contact: {name: A}, setting: {wifi: true}}\n  told:"},
		{"a milestone alone", "- say: Done.\nmilestones", "- milestone: told\nmilestones"},
		{"unknown column", "expect: {wifi: false}", "expect: {wify: false}"},
		{"floor", "world: base", "world: base\nmax_idle_score: 2"},
		{"a call shown without an answer", "  says: Wifi off!", "  demonstrations: [{calls: [{tool: set_wifi_status}]}]\n  says: Wifi off!"},
		{"a call shown that did not fail", "  says: Wifi off!", "  demonstrations: [{calls: [{tool: set_wifi_status, answer: None, failed: false}]}]\n  says: Wifi off!"},
		{"calls beside a text", "  says: Wifi off!", "  demonstrations: [{user: Hi, calls: [{tool: set_wifi_status, answer: None}]}]\n  says: Wifi off!"},
		{"trigger of a milestone", "  told:", "  told:\n    triggered_by: []"},
	} {
		doc := documentsOf(t, c.name, []byte(named("one", strings.Replace(testScenario, c.old, c.replacement, 1))))[0]
		if err := schema.Validate(doc); (err == nil) != (c.name == "nothing") {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

// TestSchemaFields compares the reader's fields with those of the schema.
func TestSchemaFields(t *testing.T) {
	var file struct {
		Definitions map[string]struct {
			Properties map[string]json.RawMessage
		} `json:"$defs"`
	}
	if err := json.Unmarshal(schemaText(t), &file); err != nil {
		t.Fatal(err)
	}
	for name, f := range forms(world.Builtin()) {
		got, want := slices.Sorted(maps.Keys(file.Definitions[name].Properties)), slices.Sorted(slices.Values(f.Names()))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-reader +schema):\n%s", name, diff)
		}
		if len(slices.Compact(want)) != len(f.fields) {
			t.Errorf("%s: a field is described twice: %v", name, f.Names())
		}
		for _, field := range f.fields {
			if field.doc == "" || !strings.HasSuffix(field.doc, ".") {
				t.Errorf("%s.%s: described as %q, want a sentence", name, field.name, field.doc)
			}
		}
	}
}
