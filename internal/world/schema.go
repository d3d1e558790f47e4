package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// MaxTables is the maximum number of tables in a schema.
const MaxTables = 64

// maxColumns is the maximum number of columns in a table.
const maxColumns = 64

// DefaultMeasure is the default measure of a column.
const DefaultMeasure = "exact"

// Schema is the tables of a world: the built-in ones, starting with SANDBOX, then those of its
// pack. It is immutable and safe for concurrent use.
type Schema struct {
	tables  []Table
	indices map[string]int
	// builtin is the number of built-in tables, which come first.
	builtin int
}

// NewSchema returns the built-in tables and those that a pack declares. A declaration with the name
// of a built-in table other than SANDBOX adds columns to it. A standalone pack declares
// StandaloneMarker first; its schema has SANDBOX and the declared tables. The error describes an
// invalid declaration.
func NewSchema(declared []*worldv1.TableSchema) (*Schema, error) {
	if len(declared) == 0 {
		return Builtin(), nil
	}
	tables := slices.Clone(Builtin().tables)
	if declared[0].GetName() == Sandbox {
		tables, declared = tables[:1], declared[1:]
	}
	builtin := len(tables)
	for _, declaration := range declared {
		table := tableOf(declaration)
		at := slices.IndexFunc(tables[:builtin], func(t Table) bool { return t.Name == table.Name })
		if at <= 0 { // SANDBOX is first
			tables = append(tables, table)
			continue
		}
		tables[at].Columns = slices.Concat(tables[at].Columns, table.Columns)
	}
	return newSchema(tables, builtin)
}

// StandaloneMarker returns the declaration that precedes the tables of a standalone pack. The
// caller owns the result.
func StandaloneMarker() *worldv1.TableSchema {
	first := Builtin().tables[0].Columns[0]
	return &worldv1.TableSchema{Name: Sandbox, Columns: []*worldv1.Column{{
		Name: first.Name, Type: worldv1.CellType(first.Kind), Measure: first.Measure,
	}}}
}

// SchemaOrBuiltin is NewSchema for valid declarations, such as those of a loaded scenario. For
// invalid ones it returns the built-in tables.
func SchemaOrBuiltin(declared []*worldv1.TableSchema) *Schema {
	schema, err := NewSchema(declared)
	if err != nil {
		return Builtin()
	}
	return schema
}

func newSchema(tables []Table, builtin int) (*Schema, error) {
	s := &Schema{tables: tables, indices: make(map[string]int, len(tables)), builtin: builtin}
	if len(tables) > MaxTables {
		return nil, fmt.Errorf("%d tables, at most %d are possible", len(tables), MaxTables)
	}
	for i, table := range tables {
		if _, twice := s.indices[table.Name]; twice || table.Name == "" {
			return nil, fmt.Errorf("two tables are called %q", table.Name)
		}
		s.indices[table.Name] = i
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
			if !Fits(column.Default, column.Kind) {
				return nil, fmt.Errorf("table %s: the default of column %s is no %s", table.Name, column.Name, column.Kind)
			}
		}
	}
	return s, nil
}

// Tables returns all tables in order. The result must not be changed.
func (s *Schema) Tables() []Table { return s.tables }

// StoredTables returns the tables with rows, which are all except SANDBOX. The result must not be
// changed.
func (s *Schema) StoredTables() []Table { return s.tables[1:] }

// HasBuiltin reports whether the schema has the built-in tables besides SANDBOX.
func (s *Schema) HasBuiltin() bool { return s.builtin > 1 }

// IsBuiltin reports whether a table is built in. A pack may have added columns to it.
func (s *Schema) IsBuiltin(name string) bool {
	i, ok := s.indices[name]
	return ok && i < s.builtin
}

// Table returns a table by name. ok is false if it is unknown.
func (s *Schema) Table(name string) (table Table, ok bool) {
	i, ok := s.indices[name]
	if !ok {
		return Table{}, false
	}
	return s.tables[i], true
}

// TableIndex returns the index of a table in Tables, -1 if it is unknown.
func (s *Schema) TableIndex(name string) int {
	if i, ok := s.indices[name]; ok {
		return i
	}
	return -1
}

// tableOf converts a declared table.
func tableOf(declared *worldv1.TableSchema) Table {
	table := Table{Name: declared.GetName()}
	for _, column := range declared.GetColumns() {
		table.Columns = append(table.Columns, Column{
			Name: column.GetName(), Kind: Kind(column.GetType()), Measure: column.GetMeasure(), Description: column.GetDescription(),
			Default: column.GetDefault(),
		})
	}
	return table
}

// TableName returns the name of a table from its name in files, e.g. CONTACT for contact.
func TableName(text string) string { return strings.ToUpper(text) }

// AuthorName returns the name of a table in files, e.g. contact for CONTACT.
func AuthorName(name string) string { return strings.ToLower(name) }

// Compare orders versions by table, then index.
func (s *Schema) Compare(a, b *worldv1.Table) int {
	return cmp.Or(s.TableIndex(a.GetName())-s.TableIndex(b.GetName()), cmp.Compare(a.GetIndex(), b.GetIndex()))
}
