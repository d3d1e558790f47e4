package resultfile

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/row"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// prettyColumns are the columns of the table and their widths in characters.
var prettyColumns = [...]struct {
	name  string
	width int
}{
	{"index", 5},
	{"sender", 11},
	{"recipient", 11},
	{"content", 60},
	{"function", 18},
	{"exception", 24},
	{"trace", 40},
}

// PrettyPrint returns the content of pretty_print.txt: the messages as a table, without
// demonstrations for the simulated user.
func PrettyPrint(r Rollout) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "Scenario %s\nExamples that only the simulated user sees are omitted.\n", r.Scenario.GetSetup().GetName())
	rule := "+"
	header := make([]string, len(prettyColumns))
	for i, column := range prettyColumns {
		rule += strings.Repeat("-", column.width+2) + "+"
		header[i] = column.name
	}
	out.WriteString(rule + "\n")
	writeCells(&out, header)
	out.WriteString(rule + "\n")
	for _, m := range r.Messages {
		if isDemonstration(m) {
			continue
		}
		row := row.Of(m)
		writeCells(&out, []string{
			fmt.Sprint(m.GetIndex()), world.RoleName(m.GetSender()), world.RoleName(m.GetRecipient()), text(row.Content),
			text(row.FunctionName), text(row.Exception), strings.Join(row.ToolTrace, "\n"),
		})
		out.WriteString(rule + "\n")
	}
	return []byte(out.String())
}

// text returns an empty text for null.
func text(cell *string) string {
	if cell == nil {
		return ""
	}
	return *cell
}

// isDemonstration reports whether a message belongs to a demonstration for the simulated user.
func isDemonstration(m *worldv1.Message) bool {
	return slices.Equal(m.GetVisibleTo(), []worldv1.Role{worldv1.Role_ROLE_USER})
}

// writeCells writes one row of the table, with as many lines as its longest cell needs.
func writeCells(out *strings.Builder, cells []string) {
	wrapped := make([][]string, len(cells))
	height := 1
	for i, cell := range cells {
		wrapped[i] = wrap(cell, prettyColumns[i].width)
		height = max(height, len(wrapped[i]))
	}
	for line := range height {
		for i := range cells {
			text := ""
			if line < len(wrapped[i]) {
				text = wrapped[i][line]
			}
			out.WriteString("| " + text + strings.Repeat(" ", prettyColumns[i].width-utf8.RuneCountInString(text)+1))
		}
		out.WriteString("|\n")
	}
}

// wrap splits a text into lines of at most width characters, preferably after a space or an
// underscore.
func wrap(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(text, "\t", "    "), "\n") {
		rest := []rune(strings.TrimSuffix(paragraph, "\r"))
		for len(rest) > width {
			end := width
			for i := width; i > width/2; i-- {
				if rest[i-1] == ' ' || rest[i-1] == '_' {
					end = i
					break
				}
			}
			lines = append(lines, strings.TrimRight(string(rest[:end]), " "))
			rest = rest[end:]
		}
		lines = append(lines, string(rest))
	}
	return lines
}
