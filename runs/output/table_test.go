package output_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/toolsandbox/toolsandbox/runs/output"
)

// TestFit renders tables with long cells. They fit the width, and keep all of their text.
func TestFit(t *testing.T) {
	name := strings.Repeat("long_name_", 12)
	three := output.NewTable(table.Row{"scenario", "score", "detail"})
	three.SetColumns([]table.ColumnConfig{{Number: 2, Align: text.AlignRight}})
	three.Append(table.Row{name, 0.5, strings.Repeat("some words ", 20)})
	three.Append(table.Row{"short", 1, ""})
	list := output.NewList()
	list.Append(table.Row{name, "3 tools", strings.Repeat("CATEGORY ", 15)})
	many := output.NewTable(table.Row{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
	many.Append(table.Row{name, name, name, name, name, name, name, name, name, name})
	for _, tested := range []*output.Table{three, list, many} {
		for _, width := range []int{80, 100, 200} {
			got := output.Trimmed(tested.Fit(width))
			if longest := text.LongestLineLen(got); longest > width {
				t.Errorf("got %d columns, want at most %d:\n%s", longest, width, got)
			}
			if rest := strings.Count(got, "o") - strings.Count(tested.Fit(0), "o"); rest != 0 {
				t.Errorf("a width of %d: got %d more letters, want all of the text:\n%s", width, rest, got)
			}
		}
		if got := tested.Fit(0); !strings.Contains(got, name) {
			t.Errorf("no width: got a wrapped name:\n%s", got)
		}
	}
}

// TestColumns checks that the environment sets the width where there is no terminal.
func TestColumns(t *testing.T) {
	for columns, want := range map[string]int{"": 0, "80": 80, "many": 0, "-1": 0} {
		t.Setenv("COLUMNS", columns)
		if got := output.Width(&bytes.Buffer{}); got != want {
			t.Errorf("COLUMNS=%s: got %d, want %d", columns, got, want)
		}
	}
}

// TestLaTeX escapes what the default encoding of LaTeX prints as something else, or not at all.
func TestLaTeX(t *testing.T) {
	numbers := output.NewNumbers(table.Row{"a_b", "p"})
	numbers.Append(table.Row{"x|y & 5 % → {#}", "< 0.001"})
	const want = "\\begin{tabular}{lr}\n\\toprule\na\\_b & p \\\\\n\\midrule\n" +
		"x\\textbar{}y \\& 5 \\% $\\to$ \\{\\#\\} & \\textless{} 0.001 \\\\\n\\bottomrule\n\\end{tabular}"
	if got := numbers.LaTeX(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
