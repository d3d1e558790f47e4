package report

import (
	"fmt"
	"io"

	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// checkedPacks is the result of validate, in the output for programs.
type checkedPacks struct {
	From      string          `json:"from"`
	Scenarios int             `json:"scenarios"`
	Problems  []problemInPack `json:"problems"`
}

// problemInPack is one problem of a file.
type problemInPack struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Field  string `json:"field"`
	Reason string `json:"reason"`
	Follow int    `json:"follow,omitempty"`
}

// WriteChecked prints the problems of packs, or the number of scenarios if there are none. The
// error counts the problems.
func WriteChecked(w io.Writer, asJSON bool, from string, count int, mistakes document.Errors) error {
	checked := checkedPacks{From: from, Scenarios: count, Problems: []problemInPack{}}
	for _, m := range mistakes {
		checked.Problems = append(checked.Problems, problemInPack{m.File, m.Line, m.Column, m.Field, m.Reason, m.Follow})
		if asJSON {
			continue
		}
		if _, err := fmt.Fprintln(w, m); err != nil {
			return err
		}
	}
	var err error
	switch {
	case asJSON:
		err = JSON(w, checked)
	case len(mistakes) == 0:
		_, err = fmt.Fprintf(w, "ok: %d scenarios in %s\n", count, from)
	}
	if err != nil {
		return err
	}
	return problemsError(mistakes, from)
}

// problemsError returns the error after the problems of packs have been printed, nil without any.
func problemsError(mistakes document.Errors, from string) error {
	switch n := len(mistakes); n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("1 problem in %s", from)
	default:
		return fmt.Errorf("%d problems in %s", n, from)
	}
}
