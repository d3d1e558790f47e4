package terminal

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/toolsandbox/toolsandbox/runs/output"
)

const (
	// narrow is the width below which a speaker is above its text.
	narrow = 60
	// minTextWidth is the minimum width of a text.
	minTextWidth = 16
)

// paragraph writes a text with first before it and next before its further lines, wrapped at blanks
// to the terminal's width.
func (c *Console) paragraph(first, next, content string) {
	c.printf("%s%s\n", first, strings.Join(wrapLines(content, output.Width(c.out), text.StringWidthWithoutEscSequences(next)), "\n"+next))
}

// wrapLines wraps a text into indented lines of a width; a width of 0 keeps its lines.
func wrapLines(content string, width, indent int) []string {
	var list []string
	for line := range strings.SplitSeq(content, "\n") {
		if width > 0 && text.StringWidthWithoutEscSequences(line) > width-indent {
			for wrapped := range strings.SplitSeq(text.WrapSoft(line, max(minTextWidth, width-indent-1)), "\n") {
				list = append(list, strings.TrimRight(wrapped, " "))
			}
			continue
		}
		list = append(list, line)
	}
	return list
}
