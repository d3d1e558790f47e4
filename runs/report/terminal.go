package report

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminal returns w's descriptor if it is a terminal.
func terminal(w io.Writer) (descriptor int, ok bool) {
	file, ok := w.(*os.File)
	if !ok {
		return 0, false
	}
	descriptor = int(file.Fd())
	return descriptor, term.IsTerminal(descriptor)
}

// width returns the columns of w; 0 if unknown or not a terminal.
func width(w io.Writer) int {
	descriptor, ok := terminal(w)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(descriptor)
	if err != nil {
		return 0
	}
	return columns
}
