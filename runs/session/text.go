package session

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/toolsandbox/toolsandbox/internal/world"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

const (
	// widestCell is the width at which a cell wraps.
	widestCell = 60
	// longestExcerpt is the number of bytes of a value in an error; shared is the number of common
	// bytes before them.
	longestExcerpt = 200
	shared         = 40
)

// WriteList prints sessions, one per line.
func WriteList(w io.Writer, sessions []*toolhostv1.Session) error {
	t := output.NewTable(table.Row{"session", "scenario", "messages", "parent", "forked at"})
	t.SetColumns([]table.ColumnConfig{{Number: 3, Align: text.AlignRight}, {Number: 5, Align: text.AlignRight}})
	for _, s := range sessions {
		row := table.Row{s.GetId(), s.GetSetupName(), s.GetLastIndex() + 1, "", ""}
		if s.GetParentId() != "" {
			row[3], row[4] = s.GetParentId(), s.GetForkedAt()
		}
		t.Append(row)
	}
	return writeLines(w, t.Fit(output.Width(w)))
}

// View is a session at a message.
type View struct {
	Session *toolhostv1.Session
	// At is the message.
	At int
	// Tables are its versions at it.
	Tables []*worldv1.Table
	// Versions are all stored versions, nil unless requested.
	Versions []*worldv1.Table
}

// WriteText prints a view for people.
func (v *View) WriteText(w io.Writer) error {
	schema := world.SchemaOrBuiltin(v.Session.GetSchema())
	lines := []string{fmt.Sprintf("%s: message %d of 0 to %d", title(v.Session), v.At, v.Session.GetLastIndex())}
	for _, version := range v.Tables {
		lines = append(lines, "", fmt.Sprintf("%s, %s, stored at message %d", version.GetName(),
			count(len(version.GetRows()), "row"), version.GetIndex()))
		if len(version.GetRows()) > 0 {
			lines = append(lines, rowsTable(schema, version).Fit(output.Width(w)))
		}
	}
	if v.Versions != nil {
		t := output.NewTable(table.Row{"version of", "message", "rows"})
		t.SetColumns([]table.ColumnConfig{{Number: 2, Align: text.AlignRight}, {Number: 3, Align: text.AlignRight}})
		for _, version := range v.Versions {
			t.Append(table.Row{version.GetName(), version.GetIndex(), len(version.GetRows())})
		}
		lines = append(lines, "", t.Fit(output.Width(w)))
	}
	return writeLines(w, lines...)
}

func title(s *toolhostv1.Session) string {
	text := fmt.Sprintf("session %s, scenario %s", s.GetId(), s.GetSetupName())
	if s.GetParentId() != "" {
		text += fmt.Sprintf(", forked from %s at message %d", s.GetParentId(), s.GetForkedAt())
	}
	return text
}

func rowsTable(schema *world.Schema, version *worldv1.Table) *output.Table {
	shape, _ := schema.Table(version.GetName())
	var header table.Row
	var columns []table.ColumnConfig
	for i, column := range shape.Columns {
		header = append(header, column.Name)
		config := table.ColumnConfig{Number: i + 1, WidthMax: widestCell}
		if column.Kind == world.KindNumber {
			config.Align = text.AlignRight
		}
		columns = append(columns, config)
	}
	t := output.NewTable(header)
	t.SetColumns(columns)
	for _, row := range version.GetRows() {
		var cells table.Row
		for i := range shape.Columns {
			cells = append(cells, cellText(cellOf(row, i)))
		}
		t.Append(cells)
	}
	return t
}

// Changes are the differences of a session's tables between two messages.
type Changes struct {
	Session  *toolhostv1.Session
	From, To int
	Tables   []Diff
}

// WriteText prints changes for people.
func (c *Changes) WriteText(w io.Writer) error {
	lines := []string{fmt.Sprintf("%s: message %d to %d", title(c.Session), c.From, c.To)}
	var same []string
	for _, diff := range c.Tables {
		if diff.Empty() {
			same = append(same, diff.Table.Name)
			continue
		}
		lines = append(lines, "", diff.Table.Name+": "+summary(diff))
		for _, row := range diff.Removed {
			lines = append(lines, rowLines("-", diff.Table, row)...)
		}
		for _, row := range diff.Added {
			lines = append(lines, rowLines("+", diff.Table, row)...)
		}
		for _, row := range diff.Changed {
			lines = append(lines, fmt.Sprintf("  ~ %s: %q", diff.Table.Columns[0].Name, row.Key))
			for _, cell := range row.Cells {
				lines = append(lines, fmt.Sprintf("      %s: %s → %s", cell.Column, exactText(cell.From), exactText(cell.To)))
			}
		}
	}
	if len(same) > 0 {
		lines = append(lines, "", "no change: "+strings.Join(same, ", "))
	}
	return writeLines(w, lines...)
}

// summary counts the parts of a difference.
func summary(diff Diff) string {
	var parts []string
	for _, count := range []struct {
		n    int
		word string
	}{{len(diff.Removed), "removed"}, {len(diff.Added), "added"}, {len(diff.Changed), "changed"}} {
		if count.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count.n, count.word))
		}
	}
	if diff.Reordered {
		parts = append(parts, "rows in another order")
	}
	return strings.Join(parts, ", ")
}

// rowLines prints a row after a sign, one line per cell.
func rowLines(sign string, table world.Table, row *worldv1.Row) []string {
	var lines []string
	for i, column := range table.Columns {
		margin := "      "
		if i == 0 {
			margin = "  " + sign + " "
		}
		lines = append(lines, margin+column.Name+": "+exactText(cellOf(row, i)))
	}
	return lines
}

// rowText prints a row in one line.
func rowText(table world.Table, row *worldv1.Row) string {
	var cells []string
	for i, column := range table.Columns {
		cells = append(cells, column.Name+": "+exactText(cellOf(row, i)))
	}
	return strings.Join(cells, ", ")
}

// cellText prints a cell for a table. It quotes text with control characters.
func cellText(cell *worldv1.Value) string {
	value, ok := cell.GetKind().(*worldv1.Value_Text)
	if ok && !strings.ContainsFunc(value.Text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return value.Text
	}
	return exactText(cell)
}

// exactText prints a cell unambiguously: text is quoted.
func exactText(cell *worldv1.Value) string {
	if value, ok := cell.GetKind().(*worldv1.Value_Text); ok {
		return strconv.Quote(value.Text)
	}
	return jsonText(cell)
}

// fieldText prints a field of a message.
func fieldText(message protoreflect.Message, field protoreflect.FieldDescriptor) string {
	if !message.Has(field) {
		return "nothing"
	}
	value := message.Get(field)
	if !field.IsList() {
		return valueText(field, value)
	}
	var elements []string
	for i := range value.List().Len() {
		elements = append(elements, valueText(field, value.List().Get(i)))
	}
	return "[" + strings.Join(elements, ", ") + "]"
}

func valueText(field protoreflect.FieldDescriptor, value protoreflect.Value) string {
	switch field.Kind() {
	case protoreflect.StringKind:
		return strconv.Quote(value.String())
	case protoreflect.EnumKind:
		if enum := field.Enum().Values().ByNumber(value.Enum()); enum != nil {
			return string(enum.Name())
		}
	}
	return value.String()
}

// excerpt shortens two texts to the place where they differ.
func excerpt(a, b string) (shortA, shortB string) {
	if len(a) <= longestExcerpt && len(b) <= longestExcerpt {
		return a, b
	}
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	from = max(from-shared, 0)
	truncate := func(s string) string {
		excerpt := s[from:min(len(s), from+longestExcerpt)]
		if from > 0 {
			excerpt = "…" + excerpt
		}
		if from+longestExcerpt < len(s) {
			excerpt += "…"
		}
		return strings.ToValidUTF8(excerpt, "")
	}
	return truncate(a), truncate(b)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func writeLines(w io.Writer, lines ...string) error {
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}
