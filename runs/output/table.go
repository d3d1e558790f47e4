package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// narrowest is the least width of a column that is made narrower.
const narrowest = 5

// Table is a table without a border.
type Table struct {
	writer  table.Writer
	rows    []table.Row // with the header
	columns []table.ColumnConfig
}

// NewTable returns a table with these titles.
func NewTable(header table.Row) *Table {
	t := newTable()
	t.writer.AppendHeader(header)
	t.rows = append(t.rows, header)
	return t
}

// NewNumbers returns a table whose titled columns after the first are on the right.
func NewNumbers(header table.Row) *Table {
	t := NewTable(header)
	for i := 1; i < len(header); i++ {
		if header[i] != "" {
			t.columns = append(t.columns, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	return t
}

// NewList returns a table without titles and without space before the first column.
func NewList() *Table {
	t := newTable()
	t.writer.Style().Box.PaddingLeft, t.writer.Style().Box.PaddingRight = "", "  "
	return t
}

func newTable() *Table {
	t := &Table{writer: table.NewWriter()}
	t.writer.SetStyle(table.StyleLight)
	t.writer.Style().Format.Header = text.FormatDefault
	t.writer.Style().Options.DrawBorder = false
	t.writer.Style().Options.SeparateColumns = false
	return t
}

// SetColumns configures columns.
func (t *Table) SetColumns(columns []table.ColumnConfig) { t.columns = columns }

// Append appends a row.
func (t *Table) Append(row table.Row) {
	t.writer.AppendRow(row)
	t.rows = append(t.rows, row)
}

// Markdown renders the table in Markdown.
func (t *Table) Markdown() string {
	t.writer.SetColumnConfigs(t.columns)
	return t.writer.RenderMarkdown()
}

// LaTeX renders the table with the rules of the package booktabs.
func (t *Table) LaTeX() string {
	var out strings.Builder
	columns := []byte(strings.Repeat("l", len(t.rows[0])))
	for _, column := range t.columns {
		if column.Align == text.AlignRight {
			columns[column.Number-1] = 'r'
		}
	}
	fmt.Fprintf(&out, "\\begin{tabular}{%s}\n\\toprule\n", columns)
	for i, row := range t.rows {
		for j, cell := range row {
			if j > 0 {
				out.WriteString(" & ")
			}
			out.WriteString(latexEscapes.Replace(fmt.Sprint(cell)))
		}
		out.WriteString(" \\\\\n")
		if i == 0 {
			out.WriteString("\\midrule\n")
		}
	}
	out.WriteString("\\bottomrule\n\\end{tabular}")
	return out.String()
}

var latexEscapes = strings.NewReplacer(
	`\`, `\textbackslash{}`, `&`, `\&`, `%`, `\%`, `$`, `\$`, `#`, `\#`, `_`, `\_`, `{`, `\{`, `}`, `\}`,
	`~`, `\textasciitilde{}`, `^`, `\textasciicircum{}`, "–", "--", "…", `\dots{}`, "→", `$\to$`,
	// The default encoding of LaTeX prints other characters for these.
	`<`, `\textless{}`, `>`, `\textgreater{}`, `|`, `\textbar{}`,
)

// Fit renders the table for a terminal of a width, 0 if unlimited: it wraps the cells of the widest
// columns. Columns keep a few characters each, so a table of very many columns may be wider.
func (t *Table) Fit(width int) string {
	t.writer.SetColumnConfigs(t.columns)
	rendered := t.writer.Render()
	over := text.LongestLineLen(rendered) - width
	if width <= 0 || over <= 0 {
		return rendered
	}
	t.writer.SetColumnConfigs(t.narrowed(over))
	return t.writer.Render()
}

// narrowed returns the columns without a number of characters of the widest ones.
func (t *Table) narrowed(over int) []table.ColumnConfig {
	widths := t.widths()
	for ; over > 0; over-- {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrowest {
			break
		}
		widths[widest]--
	}
	columns := make([]table.ColumnConfig, len(widths))
	for i := range columns {
		columns[i] = table.ColumnConfig{Number: i + 1}
		if at := slices.IndexFunc(t.columns, func(c table.ColumnConfig) bool { return c.Number == i+1 }); at >= 0 {
			columns[i] = t.columns[at]
		}
		columns[i].WidthMax, columns[i].WidthMaxEnforcer = widths[i], text.WrapSoft
	}
	return columns
}

// widths returns the width of each column.
func (t *Table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], text.LongestLineLen(fmt.Sprint(cell)))
		}
	}
	for _, column := range t.columns {
		if i := column.Number - 1; i < len(widths) && column.WidthMax > 0 {
			widths[i] = min(widths[i], column.WidthMax)
		}
	}
	return widths
}

// Trimmed returns lines without white space at their ends.
func Trimmed(lines string) string {
	all := strings.Split(lines, "\n")
	for i := range all {
		all[i] = strings.TrimRight(all[i], " ")
	}
	return strings.Join(all, "\n")
}

// Signed formats a change. A change that rounds to 0 has no sign.
func Signed(change float64) string {
	if text := fmt.Sprintf("%+.3f", change); strings.Trim(text, "+-0.") != "" {
		return text
	}
	return "0.000"
}
