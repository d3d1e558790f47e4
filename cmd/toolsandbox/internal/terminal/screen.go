package terminal

import (
	"os"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

const (
	// narrow is the width below which a speaker stands above what it says.
	narrow = 60
	// leastText is how many columns a text gets at least.
	leastText = 16
)

// width returns the columns of the terminal; 0 if there is none, and texts are written as they are.
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

// paragraph writes a text with first before it and next before its further lines, cut at blanks to
// the terminal's width.
func (c *Console) paragraph(first, next, content string) {
	c.printf("%s%s\n", first, strings.Join(lines(content, c.width(), text.StringWidthWithoutEscSequences(next)), "\n"+next))
}

// lines cuts a text into lines that fit, indented, into a width; a width of 0 leaves its lines as
// they are. What would move the cursor or colour the screen is replaced: models and tools write the
// texts.
func lines(content string, width, indent int) []string {
	content = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, content)
	var list []string
	for line := range strings.SplitSeq(content, "\n") {
		if width > 0 && text.StringWidthWithoutEscSequences(line) > width-indent {
			for cut := range strings.SplitSeq(text.WrapSoft(line, max(leastText, width-indent-1)), "\n") {
				list = append(list, strings.TrimRight(cut, " "))
			}
			continue
		}
		list = append(list, line)
	}
	return list
}
