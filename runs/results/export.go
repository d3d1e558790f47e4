package results

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results/internal/part"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// ErrNoTables means that a run has no tables.
var ErrNoTables = errors.New("the run has no tables")

// These are the formats of Export.
const (
	// ExportCSV has a line of column names. A null is empty, a list is JSON.
	ExportCSV = "csv"
	// ExportJSONL has an object per line.
	ExportJSONL = "jsonl"
)

// ExportFormats returns the formats of Export.
func ExportFormats() []string { return []string{ExportCSV, ExportJSONL} }

// Export writes a table of the run in a format, without the stored messages of rollouts. The error
// wraps ErrNoTables for a run without tables.
func (r *Reader) Export(w io.Writer, table, format string) error {
	if r.run == nil || !r.run.Has(FormatParquet) {
		return fmt.Errorf("export %s: %w", r.dir, ErrNoTables)
	}
	t := r.tables
	if t == nil { // it has files as well
		var err error
		if t, err = r.openTables(context.Background()); err != nil {
			return err
		}
	}
	export := map[string]func(*tableReader, io.Writer, string, string) error{
		rolloutsTable: exportRows[rolloutRow], messagesTable: exportRows[messageRow], callsTable: exportRows[callRow],
		constraintsTable: exportRows[constraintRow], versionsTable: exportRows[versionRow], causesTable: exportRows[causeRow],
	}[table]
	if export == nil {
		return fmt.Errorf("export: unknown table %q", table)
	}
	return export(t, w, table, format)
}

// ExportFiles writes tables to the files dir/table.format, and returns their paths: all, or none
// after an error. A file that exists is fs.ErrExist, a dir that is none storage.ErrNoDirectory.
func (r *Reader) ExportFiles(dir string, tables []string, format string) (paths []string, err error) {
	files, err := storage.NewBatch(dir)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	for _, table := range tables {
		if err = files.Add(table+"."+format, func(w io.Writer) error { return r.Export(w, table, format) }); err != nil {
			break
		}
	}
	return files.End(err)
}

func exportRows[T any](t *tableReader, w io.Writer, table, format string) error {
	encoder, lines := json.NewEncoder(w), csv.NewWriter(w)
	encoder.SetEscapeHTML(false)
	columns := columnsOf(reflect.TypeFor[T](), nil)
	if format == ExportCSV {
		names := make([]string, len(columns))
		for i, column := range columns {
			names[i] = column.name
		}
		if err := lines.Write(names); err != nil {
			return err
		}
	}
	write := func(row T) error {
		if format == ExportJSONL {
			return encoder.Encode(row)
		}
		value, cells := reflect.ValueOf(row), make([]string, len(columns))
		for i, column := range columns {
			var err error
			if cells[i], err = csvCell(value.FieldByIndex(column.at)); err != nil {
				return err
			}
		}
		return lines.Write(cells)
	}
	for _, p := range t.parts {
		file, err := t.open(table, p)
		if err != nil {
			return err
		}
		err = part.Read(file, 0, -1, func(rows []T) error {
			for _, row := range rows {
				if err := write(row); err != nil {
					return err
				}
			}
			return nil
		})
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	lines.Flush()
	return lines.Error()
}

// exported is a column of a row's type.
type exported struct {
	name string
	at   []int // index of the field
}

func columnsOf(row reflect.Type, at []int) []exported {
	var columns []exported
	for i := range row.NumField() {
		field, index := row.Field(i), append(slices.Clone(at), i)
		switch name, _, _ := strings.Cut(field.Tag.Get("json"), ","); {
		case field.Anonymous:
			columns = append(columns, columnsOf(field.Type, index)...)
		case name != "-":
			columns = append(columns, exported{name, index})
		}
	}
	return columns
}

func csvCell(value reflect.Value) (string, error) {
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return "", nil
		}
		value = value.Elem()
	}
	switch v := value.Interface().(type) {
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), nil
	case []string:
		text, err := output.JSON(append([]string{}, v...), "")
		return string(text), err
	default:
		return fmt.Sprint(v), nil
	}
}
