package terminal

import (
	"os"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

const (
	// narrow is the width below which a speaker is above its text.
	narrow = 60
	// minTextWidth is the minimum width of a text.
	minTextWidth = 16
)

// width returns the columns of the terminal; 0 if there is none, which leaves texts unwrapped.
func (c *Console) width() int {
	file, ok := c.out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// paragraph writes a text with first before it and next before its further lines, wrapped at blanks
// to the terminal's width.
func (c *Console) paragraph(first, next, content string) {
	c.printf("%s%s\n", first, strings.Join(wrapLines(content, c.width(), text.StringWidthWithoutEscSequences(next)), "\n"+next))
}

// wrapLines wraps a text into indented lines of a width; a width of 0 keeps its lines. It replaces
// control characters, because models and tools write the texts.
func wrapLines(content string, width, indent int) []string {
	content = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, content)
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
