package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	syntaxError      = "SyntaxError"
	indentationError = "IndentationError"
	tabError         = "TabError"
	memoryError      = "MemoryError"
	invalidSyntax    = "invalid syntax"
)

// Error is a compile error. Its text is the whole answer.
type Error struct {
	text string
	// Offset is the byte offset of the error. Reason is the message alone.
	Offset int
	Reason string
}

// Error returns the compiler's message as Python prints it.
func (e *Error) Error() string { return e.text }

// unexpectedEnd is the error of source that ends too early.
func unexpectedEnd(source string) *Error {
	return &Error{"Error: The given code was incomplete and could not be executed: '" + source + "'", len(source), "the source ends too early"}
}

// errorWithoutPosition is an error that is detected after parsing.
func errorWithoutPosition(message string) *Error {
	return &Error{"  File \"<input>\", line 1\nSyntaxError: " + message + "\n", 0, message}
}

// errorAt is a syntax error with a marker under the offset.
func errorAt(source string, at int, kind, message string) *Error {
	at = min(at, len(source))
	number := 1 + strings.Count(source[:at], "\n")
	start := strings.LastIndexByte(source[:at], '\n') + 1
	line, _, _ := strings.Cut(source[start:], "\n")
	line = strings.TrimSuffix(line, "\r")
	trimmed := strings.TrimLeft(line, " ")
	column := utf8.RuneCountInString(source[start:at]) - (len(line) - len(trimmed))
	mark := ""
	if column >= 0 {
		mark = "    " + strings.Repeat(" ", column) + "^\n"
	}
	return &Error{fmt.Sprintf("  File \"<input>\", line %d\n    %s\n%s%s: %s\n", number, trimmed, mark, kind, message), at, message}
}
