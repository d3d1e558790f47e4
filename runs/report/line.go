package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// JSON prints a value for programs.
func JSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// Warn prints a warning.
func Warn(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(w, "toolsandbox: %s\n", strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; "))
	return err
}

// ShellWord quotes a word for a shell, if necessary.
func ShellWord(s string) string {
	plain := func(r rune) bool { return !strings.ContainsRune(" \t\n\"'`$&|;<>()*?[]#~!{}\\", r) }
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
