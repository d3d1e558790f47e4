package world

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func TestBuiltin(t *testing.T) {
	want := []string{Sandbox, Setting, Contact, Messaging, Reminder}
	tables := Builtin().Tables()
	if len(tables) != len(want) {
		t.Fatalf("got %d tables, want %d", len(tables), len(want))
	}
	for i, name := range want {
		if tables[i].Name != name || Builtin().TableIndex(name) != i {
			t.Errorf("table %d: got %s at %d, want %s", i, tables[i].Name, Builtin().TableIndex(name), name)
		}
		for _, column := range tables[i].Columns {
			if column.Description == "" || column.Kind == KindTexts && i > 0 {
				t.Errorf("%s.%s: got %+v", name, column.Name, column)
			}
		}
	}
}

func declaredColumn(name string, kind Kind) *worldv1.Column {
	return &worldv1.Column{Name: name, Type: worldv1.CellType(kind), Measure: DefaultMeasure}
}

func TestNewSchema(t *testing.T) {
	schema, err := NewSchema([]*worldv1.TableSchema{{
		Name: "NOTE", Columns: []*worldv1.Column{declaredColumn("id", KindText), declaredColumn("pages", KindNumber)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	note, ok := schema.Table("NOTE")
	if !ok || schema.TableIndex("NOTE") != 5 || note.Column("pages") != 1 || len(schema.StoredTables()) != 5 || len(Builtin().Tables()) != 5 {
		t.Errorf("got %+v at %d of %d", note, schema.TableIndex("NOTE"), len(schema.Tables()))
	}
	if _, ok := Builtin().Table("NOTE"); ok || schema.TableIndex("NOTES") != -1 {
		t.Error("a table is known where it was not declared")
	}
}

// TestNewSchemaStandalone checks that a standalone schema has SANDBOX and the declared tables only.
func TestNewSchemaStandalone(t *testing.T) {
	note := &worldv1.TableSchema{Name: "NOTE", Columns: []*worldv1.Column{declaredColumn("id", KindText)}}
	schema, err := NewSchema([]*worldv1.TableSchema{StandaloneMarker(), note})
	if err != nil {
		t.Fatal(err)
	}
	sandbox, _ := Builtin().Table(Sandbox)
	got, ok := schema.Table(Sandbox)
	if !ok || len(got.Columns) != len(sandbox.Columns) || len(schema.Tables()) != 2 || schema.HasBuiltin() || !Builtin().HasBuiltin() {
		t.Errorf("got %+v, want SANDBOX as it is built in, and NOTE", schema.Tables())
	}
	if _, err := NewSchema([]*worldv1.TableSchema{note, StandaloneMarker()}); err == nil {
		t.Error("SANDBOX behind another table: got no error, want one")
	}
}

// TestNewSchemaExtension checks that two packs can add columns to a built-in table.
func TestNewSchemaExtension(t *testing.T) {
	charge := declaredColumn("charge_percent", KindNumber)
	charge.Default = Number(80)
	schema, err := NewSchema([]*worldv1.TableSchema{
		{Name: Setting, Columns: []*worldv1.Column{charge}}, {Name: Setting, Columns: []*worldv1.Column{declaredColumn("owner", KindText)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	builtin, _ := Builtin().Table(Setting)
	setting, _ := schema.Table(Setting)
	if diff := cmp.Diff(append(builtin.ColumnNames(), "charge_percent", "owner"), setting.ColumnNames()); diff != "" || len(schema.Tables()) != len(Builtin().Tables()) {
		t.Errorf("got %d tables, columns of SETTING (-want +got):\n%s", len(schema.Tables()), diff)
	}
	row := setting.NewRow(map[string]*worldv1.Value{"wifi": Bool(true)}).GetCells()
	if got := row[setting.Column("charge_percent")]; !proto.Equal(got, Number(80)) || !row[setting.Column("wifi")].GetBoolean() || row[setting.Column("owner")].GetKind() != nil {
		t.Errorf("a row with wifi: got %v", row)
	}
}

// TestIsBuiltin checks that a standalone pack may have a table with the name of a built-in one.
func TestIsBuiltin(t *testing.T) {
	own := &worldv1.TableSchema{Name: Setting, Columns: []*worldv1.Column{declaredColumn("id", KindText)}}
	schema, err := NewSchema([]*worldv1.TableSchema{StandaloneMarker(), own})
	if err != nil {
		t.Fatal(err)
	}
	if schema.HasBuiltin() || schema.IsBuiltin(Setting) || !schema.IsBuiltin(Sandbox) || !Builtin().IsBuiltin(Setting) || Builtin().IsBuiltin("NOTE") {
		t.Errorf("standalone: got built-in %v and SETTING built-in %v, want false", schema.HasBuiltin(), schema.IsBuiltin(Setting))
	}
}

func TestParse(t *testing.T) {
	got, err := Parse([]byte("# Notes.\n---\nevents: true\ntables: [{name: note, columns: [{name: id, type: text}, {name: pages, type: number, default: 1, measure: close}, {name: gone, type: boolean, default: null}]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	pages := declaredColumn("pages", KindNumber)
	pages.Measure, pages.Default = "close", Number(1)
	want := []*worldv1.TableSchema{
		{Name: "NOTE", Columns: []*worldv1.Column{declaredColumn("id", KindText), pages, declaredColumn("gone", KindBool)}}, EventTable(),
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
	if _, err := Parse([]byte("tables: [{name: note, columns: [{name: id, default: [1]}]}]")); err == nil || !strings.Contains(err.Error(), "column id: the default") {
		t.Errorf("a list as a default: got %v, want an error", err)
	}
}

func TestNewSchemaErrors(t *testing.T) {
	id := declaredColumn("id", KindText)
	wide := &worldv1.TableSchema{Name: "NOTE", Columns: []*worldv1.Column{id}}
	for i := range maxColumns {
		wide.Columns = append(wide.Columns, declaredColumn(fmt.Sprint("c", i), KindText))
	}
	var many []*worldv1.TableSchema
	for i := range MaxTables {
		many = append(many, &worldv1.TableSchema{Name: fmt.Sprint("NOTE", i), Columns: []*worldv1.Column{id}})
	}
	one := func(name string, columns ...*worldv1.Column) []*worldv1.TableSchema {
		return []*worldv1.TableSchema{{Name: name, Columns: columns}}
	}
	tests := []struct {
		want     string
		declared []*worldv1.TableSchema
	}{
		{`two tables are called "SANDBOX"`, []*worldv1.TableSchema{{Name: "NOTE", Columns: []*worldv1.Column{id}}, StandaloneMarker()}},
		{`two tables are called "NOTE"`, append(one("NOTE", id), one("NOTE", id)...)},
		{`table CONTACT: two columns are called "name"`, one(Contact, declaredColumn("name", KindText))},
		{"the default of column b is no text", one("NOTE", id, &worldv1.Column{Name: "b", Type: worldv1.CellType(KindText), Default: Bool(true)})},
		{"the default of column b is no number", one("NOTE", id, &worldv1.Column{Name: "b", Type: worldv1.CellType(KindNumber), Default: Number(math.NaN())})},
		{"the default of column b is no number", one("NOTE", id, &worldv1.Column{Name: "b", Type: worldv1.CellType(KindNumber), Default: Number(math.Inf(-1))})},
		{"the first column is the id", one("NOTE")},
		{"the first column is the id", one("NOTE", declaredColumn("id", KindNumber))},
		{`two columns are called "id"`, one("NOTE", id, id)},
		{"column b has no type", one("NOTE", id, declaredColumn("b", KindTexts))},
		{"column b has no type", one("NOTE", id, declaredColumn("b", 9))},
		{"65 columns, at most 64", []*worldv1.TableSchema{wide}},
		{"69 tables, at most 64", many},
	}
	for _, test := range tests {
		if _, err := NewSchema(test.declared); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("NewSchema: got %v, want an error with %q", err, test.want)
		}
		if got := SchemaOrBuiltin(test.declared); got != Builtin() {
			t.Errorf("SchemaOrBuiltin of what NewSchema refuses (%s): got %d tables, want the built-in ones", test.want, len(got.Tables()))
		}
	}
}
