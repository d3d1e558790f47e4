package world

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/packs"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// schemaFile is the file of a pack that declares its tables.
const schemaFile = "schema.yaml"

// kinds maps the names of cell types in files to kinds.
var kinds = map[string]Kind{"text": KindText, "number": KindNumber, "boolean": KindBool, "texts": KindTexts}

// ParseKind returns the kind with a name in files; ok is false for an unknown name.
func ParseKind(text string) (kind Kind, ok bool) {
	kind, ok = kinds[text]
	return kind, ok
}

// Parse decodes the schema.yaml of a pack: its tables, then that of events if it declares events.
// It does not check names, types and measures; package scenario does, with positions.
func Parse(document []byte) ([]*worldv1.TableSchema, error) {
	var declared struct {
		Tables []struct {
			Name, Description string
			Columns           []struct {
				Name, Type, Measure, Description string
				Default                          any
			}
		}
		Events bool
	}
	decoder := yaml.NewDecoder(bytes.NewReader(document), yaml.Strict())
	for {
		if err := decoder.Decode(&declared); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	var tables []*worldv1.TableSchema
	for _, table := range declared.Tables {
		out := &worldv1.TableSchema{Name: TableName(table.Name), Description: table.Description}
		for _, c := range table.Columns {
			cell, err := defaultCell(c.Default)
			if err != nil {
				return nil, fmt.Errorf("table %s: column %s: %w", table.Name, c.Name, err)
			}
			out.Columns = append(out.Columns, &worldv1.Column{
				Name: c.Name, Type: worldv1.CellType(kinds[c.Type]), Measure: cmp.Or(c.Measure, DefaultMeasure), Description: c.Description, Default: cell,
			})
		}
		tables = append(tables, out)
	}
	if declared.Events {
		tables = append(tables, EventTable())
	}
	return tables, nil
}

// defaultCell converts the default of a column, nil for null.
func defaultCell(decoded any) (*worldv1.Value, error) {
	switch v := decoded.(type) {
	case nil:
		return nil, nil
	case bool:
		return Bool(v), nil
	case string:
		return Text(v), nil
	case float64:
		return Number(v), nil
	case int64:
		return Number(float64(v)), nil
	case uint64:
		return Number(float64(v)), nil
	default:
		return nil, fmt.Errorf("the default is a %T, expected a cell", decoded)
	}
}

// BuiltinTables returns the declarations of the built-in tables, SANDBOX first, which must not be
// changed. It panics if they are invalid, as their pack is built in.
var BuiltinTables = sync.OnceValue(func() []*worldv1.TableSchema {
	files, err := packs.Open(packs.Phone)
	if err != nil {
		panic(err)
	}
	document, err := fs.ReadFile(files, schemaFile)
	if err != nil {
		panic(err)
	}
	declared, err := Parse(document)
	if err != nil {
		panic(schemaFile + ": " + err.Error())
	}
	return declared
})

// Builtin returns the schema of the built-in world, the tables of the phone's pack.
var Builtin = sync.OnceValue(func() *Schema {
	var tables []Table
	for _, declared := range BuiltinTables() {
		tables = append(tables, tableOf(declared))
	}
	schema, err := newSchema(tables, len(tables))
	if err != nil {
		panic(schemaFile + ": " + err.Error())
	}
	return schema
})

// RestatesBuiltin reports whether a declaration is that of a built-in table, word for word. The
// phone's own pack has such declarations.
func RestatesBuiltin(declared *worldv1.TableSchema) bool {
	return slices.ContainsFunc(BuiltinTables(), func(table *worldv1.TableSchema) bool { return proto.Equal(table, declared) })
}
