// Package output is what commands print on: a terminal, a pipe or a file.
package output

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Styles begin a styled text, which Plain ends. They are Unicode's noncharacters, which no text of
// a pack, model or tool may contain. A Writer turns them into the terminal's sequences, and drops
// them if it shows no colours.
const (
	Red    = "\ufdd0"
	Green  = "\ufdd1"
	Yellow = "\ufdd2"
	Bold   = "\ufdd3"
	Plain  = "\ufdd4"
)

// redraw moves to the beginning of the line and erases it.
const redraw = "\r\x1b[2K"

// clearScreen moves to the beginning of the screen and erases it.
const clearScreen = "\x1b[H\x1b[2J"

// Writer prints texts of packs, models and tools so that they cannot affect the terminal: a control
// character or one that changes the direction of writing is shown as \u and four hexadecimal
// digits, as JSON and YAML write it. Line breaks and tabs stay. A byte that is no UTF-8 becomes
// U+FFFD. It is safe for concurrent use.
type Writer struct {
	w          io.Writer
	descriptor int // -1 if w is no terminal
	hasColours bool

	mu   sync.Mutex
	rest []byte // the incomplete character at the end of the last write
	last []byte // the redrawn line below all others, empty if there is none
	open bool   // the last write did not end its line, so the redrawn line is hidden
}

// NewWriter returns a Writer on a file, or on another writer in tests. It shows colours on a
// terminal unless the environment sets NO_COLOR.
func NewWriter(w io.Writer) *Writer {
	o := &Writer{w: w, descriptor: -1}
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		o.descriptor = int(file.Fd())
		o.hasColours = os.Getenv("NO_COLOR") == ""
	}
	return o
}

// Write implements io.Writer.
func (o *Writer) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var printable []byte
	printable, o.rest = o.escape(append(o.rest, text...))
	if len(o.last) > 0 && len(printable) > 0 {
		printable = o.above(printable)
	}
	if _, err := o.w.Write(printable); err != nil {
		return 0, err
	}
	return len(text), nil
}

// above returns what prints a text above the redrawn line: that line is erased, and drawn again
// when the text ends its own line.
func (o *Writer) above(text []byte) []byte {
	if !o.open {
		text = append([]byte(redraw), text...)
	}
	if o.open = text[len(text)-1] != '\n'; !o.open {
		text = append(text, o.last...)
	}
	return text
}

// Redraw replaces the line below all others, which stays there until EndRedraw.
func (o *Writer) Redraw(line string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last, _ = o.escape([]byte(line))
	if o.open {
		return nil
	}
	_, err := fmt.Fprintf(o.w, "%s%s", redraw, o.last)
	return err
}

// EndRedraw ends the redrawn line, if there is one: later texts come below it.
func (o *Writer) EndRedraw() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.last) == 0 {
		return nil
	}
	o.last, o.open = nil, false
	_, err := fmt.Fprintln(o.w)
	return err
}

// Screen replaces all that the terminal shows. The text must fit on it.
func (o *Writer) Screen(text string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	printable, _ := o.escape([]byte(text))
	_, err := fmt.Fprintf(o.w, "%s%s\n", clearScreen, printable)
	return err
}

// escape returns the printable form of a text, and the incomplete character at its end.
func (o *Writer) escape(text []byte) (printable, rest []byte) {
	printable = make([]byte, 0, len(text))
	for utf8.FullRune(text) && string(text) != "\r" { // "\n" may follow in the next write
		r, length := utf8.DecodeRune(text)
		text = text[length:]
		switch {
		case r == '\n', r == '\t', r == '\r' && len(text) > 0 && text[0] == '\n':
			printable = utf8.AppendRune(printable, r)
		case isStyle(r):
			printable = append(printable, o.sequence(r)...)
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			printable = fmt.Appendf(printable, `\u%04x`, r)
		default:
			printable = utf8.AppendRune(printable, r)
		}
	}
	return printable, bytes.Clone(text)
}

func isStyle(r rune) bool { return strings.ContainsRune(Red+Green+Yellow+Bold+Plain, r) }

// sequence returns the terminal's sequence of a style.
func (o *Writer) sequence(style rune) string {
	if !o.hasColours {
		return ""
	}
	switch string(style) {
	case Red:
		return "\x1b[31m"
	case Green:
		return "\x1b[32m"
	case Yellow:
		return "\x1b[33m"
	case Bold:
		return "\x1b[1m"
	default:
		return "\x1b[0m"
	}
}

// Line puts a text on one line: tabs become blanks, line breaks semicolons, and what a Writer
// escapes is escaped, so that the line has its width.
func Line(text string) string {
	lines := strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool { return r == '\n' || r == '\r' })
	printable, _ := new(Writer).escape([]byte(strings.ReplaceAll(strings.Join(lines, "; "), "\t", " ")))
	return string(printable)
}

// Printable returns a text as a Writer prints it without colours: what changes the direction of
// writing or controls a terminal is escaped.
func Printable(text string) string {
	printable, rest := new(Writer).escape([]byte(strings.ToValidUTF8(text, "\uFFFD")))
	return string(printable) + string(rest)
}

// OnTerminal returns w if it prints on a terminal, otherwise nil.
func OnTerminal(w io.Writer) *Writer {
	if o, ok := w.(*Writer); ok && o.descriptor >= 0 {
		return o
	}
	return nil
}

// Width returns the columns of the terminal that w prints on, elsewhere those that COLUMNS in the
// environment asks for; 0 if unknown.
func Width(w io.Writer) int {
	o := OnTerminal(w)
	if o == nil {
		columns, err := strconv.Atoi(os.Getenv("COLUMNS"))
		if err != nil {
			return 0
		}
		return max(columns, 0)
	}
	columns, _, err := term.GetSize(o.descriptor)
	if err != nil {
		return 0
	}
	return columns
}
