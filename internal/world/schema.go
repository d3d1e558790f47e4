package world

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// MaxTables is how many tables a schema may have.
const MaxTables = 64

// maxColumns is how many columns a table may have.
const maxColumns = 64

// DefaultMeasure is the measure of a column that declares none.
const DefaultMeasure = "exact"

// Schema is the tables of a world: the built-in ones, SANDBOX first, then those of its pack. It is
// immutable and safe for concurrent use.
type Schema struct {
	tables []Table
	places map[string]int
}

// NewSchema returns the built-in tables with those that a pack declares. A pack that stands alone
// declares Alone first: its schema has SANDBOX and the declared tables.
func NewSchema(declared []*worldv1.TableSchema) (*Schema, error) {
	if len(declared) == 0 {
		return Builtin(), nil
	}
	tables := slices.Clone(Builtin().tables)
	if declared[0].GetName() == Sandbox {
		tables, declared = tables[:1], declared[1:]
	}
	for _, table := range declared {
		tables = append(tables, tableOf(table))
	}
	return newSchema(tables)
}

// Alone returns the declaration that stands before the tables of a pack without the built-in ones.
// The result is the caller's own.
func Alone() *worldv1.TableSchema {
	first := Builtin().tables[0].Columns[0]
	return &worldv1.TableSchema{Name: Sandbox, Columns: []*worldv1.Column{{
		Name: first.Name, Type: worldv1.CellType(first.Kind), Measure: first.Measure,
	}}}
}

// SchemaOf is NewSchema for declared tables that have been checked, as those of a loaded scenario
// are. Where they cannot be it returns the built-in tables.
func SchemaOf(declared []*worldv1.TableSchema) *Schema {
	schema, err := NewSchema(declared)
	if err != nil {
		return Builtin()
	}
	return schema
}

func newSchema(tables []Table) (*Schema, error) {
	s := &Schema{tables: tables, places: make(map[string]int, len(tables))}
	if len(tables) > MaxTables {
		return nil, fmt.Errorf("%d tables, at most %d are possible", len(tables), MaxTables)
	}
	for i, table := range tables {
		if _, twice := s.places[table.Name]; twice || table.Name == "" {
			return nil, fmt.Errorf("two tables are called %q", table.Name)
		}
		s.places[table.Name] = i
		if len(table.Columns) == 0 || table.Columns[0].Kind != KindText {
			return nil, fmt.Errorf("table %s: the first column is the id of a row, expected a text", table.Name)
		}
		if len(table.Columns) > maxColumns {
			return nil, fmt.Errorf("table %s: %d columns, at most %d are possible", table.Name, len(table.Columns), maxColumns)
		}
		for j, column := range table.Columns {
			if table.Column(column.Name) != j {
				return nil, fmt.Errorf("table %s: two columns are called %q", table.Name, column.Name)
			}
			if column.Kind < KindText || column.Kind > KindTexts || column.Kind == KindTexts && i > 0 {
				return nil, fmt.Errorf("table %s: column %s has no type of a cell", table.Name, column.Name)
			}
		}
	}
	return s, nil
}

// Tables returns all tables in their order. Do not change the result.
func (s *Schema) Tables() []Table { return s.tables }

// Stored returns the tables that hold rows: all but SANDBOX. Do not change the result.
func (s *Schema) Stored() []Table { return s.tables[1:] }

// Extends says whether the schema has the built-in tables.
func (s *Schema) Extends() bool {
	_, ok := s.places[Setting]
	return ok
}

// Table returns the table of a name; ok is false if there is none.
func (s *Schema) Table(name string) (table Table, ok bool) {
	place, ok := s.places[name]
	if !ok {
		return Table{}, false
	}
	return s.tables[place], true
}

// Place returns the position of a table in Tables, or -1.
func (s *Schema) Place(name string) int {
	if place, ok := s.places[name]; ok {
		return place
	}
	return -1
}

// tableOf reads the wire form of a table.
func tableOf(declared *worldv1.TableSchema) Table {
	table := Table{Name: declared.GetName(), Description: declared.GetDescription()}
	for _, column := range declared.GetColumns() {
		table.Columns = append(table.Columns, Column{
			Name: column.GetName(), Kind: Kind(column.GetType()), Measure: column.GetMeasure(), Description: column.GetDescription(),
		})
	}
	return table
}

//go:embed schema.yaml
var builtin []byte

// Builtin returns the schema of the built-in world.
var Builtin = sync.OnceValue(func() *Schema {
	schema, err := parse(builtin)
	if err != nil {
		panic("schema.yaml: " + err.Error()) // part of the program
	}
	return schema
})

// kinds are the types of cells as schemas name them.
var kinds = map[string]Kind{"text": KindText, "number": KindNumber, "boolean": KindBool, "texts": KindTexts}

// parse reads a schema. Packs have the same format, which package scenario reads.
func parse(document []byte) (*Schema, error) {
	var declared struct {
		Tables []struct {
			Name, Description string
			Columns           []struct{ Name, Type, Measure, Description string }
		}
	}
	if err := yaml.UnmarshalWithOptions(document, &declared, yaml.Strict()); err != nil {
		return nil, err
	}
	tables := make([]Table, len(declared.Tables))
	for i, table := range declared.Tables {
		tables[i] = Table{Name: Name(table.Name), Description: table.Description}
		for _, c := range table.Columns {
			tables[i].Columns = append(tables[i].Columns, Column{
				Name: c.Name, Kind: kinds[c.Type], Measure: cmp.Or(c.Measure, DefaultMeasure), Description: c.Description,
			})
		}
	}
	return newSchema(tables)
}

// Name returns the name of a table from what authors write, contact for CONTACT.
func Name(text string) string { return strings.ToUpper(text) }

// AuthorText returns how authors write the name of a table, contact for CONTACT.
func AuthorText(name string) string { return strings.ToLower(name) }

// Compare orders versions by table, then index.
func (s *Schema) Compare(a, b *worldv1.Table) int {
	return cmp.Or(s.Place(a.GetName())-s.Place(b.GetName()), cmp.Compare(a.GetIndex(), b.GetIndex()))
}
