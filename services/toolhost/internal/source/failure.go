package source

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

const (
	syntaxError      = "SyntaxError"
	indentationError = "IndentationError"
	invalidSyntax    = "invalid syntax"
)

// SyntaxError says why source does not compile. Its text is the whole answer.
type SyntaxError struct{ text string }

// Error returns the compiler's message as Python prints it.
func (e *SyntaxError) Error() string { return e.text }

// incomplete is the answer to source that ends too early.
func incomplete(source string) error {
	return &SyntaxError{"Error: The given code was incomplete and could not be executed: '" + source + "'"}
}

// unmarked is the answer to source that is found wrong only after it was read.
func unmarked(message string) error {
	return &SyntaxError{"  File \"<input>\", line 1\nSyntaxError: " + message + "\n"}
}

// wrong is the answer to source that cannot be read, with a mark under the offset.
func wrong(source string, at int, kind, message string) error {
	number := 1 + strings.Count(source[:at], "\n")
	start := strings.LastIndexByte(source[:at], '\n') + 1
	shown, _, _ := strings.Cut(source[start:], "\n")
	shown = strings.TrimSuffix(shown, "\r")
	trimmed := strings.TrimLeft(shown, " ")
	column := utf8.RuneCountInString(source[start:at]) - (len(shown) - len(trimmed))
	mark := ""
	if column >= 0 {
		mark = "    " + strings.Repeat(" ", column) + "^\n"
	}
	return &SyntaxError{fmt.Sprintf("  File \"<input>\", line %d\n    %s\n%s%s: %s\n", number, trimmed, mark, kind, message)}
}

// failure turns what Starlark's parser and compiler say into Python's words.
func (t *translator) failure(err error) error {
	var parsing syntax.Error
	if errors.As(err, &parsing) {
		if parsing.Msg == "excessive nesting" {
			return wrong(t.source, t.offset(parsing.Pos), syntaxError, "too many nested parentheses")
		}
		return wrong(t.source, t.offset(parsing.Pos), syntaxError, invalidSyntax)
	}
	var resolving resolve.ErrorList
	if !errors.As(err, &resolving) || len(resolving) == 0 {
		return unmarked(err.Error())
	}
	first := resolving[0]
	for _, words := range [...][2]string{
		{"return statement not within a function", "'return' outside function"},
		{"break not in a loop", "'break' outside loop"},
		{"continue not in a loop", "'continue' not properly in loop"},
		{"positional argument may not follow named", "positional argument follows keyword argument"},
		{"positional argument may not follow **kwargs", "positional argument follows keyword argument unpacking"},
		{"required parameter may not follow optional", "non-default argument follows default argument"},
	} {
		if first.Msg == words[0] {
			return unmarked(words[1])
		}
	}
	if name, found := strings.CutPrefix(first.Msg, "keyword argument "); found && strings.HasSuffix(name, " is repeated") {
		return unmarked("keyword argument repeated: " + strings.Trim(strings.TrimSuffix(name, " is repeated"), `"`))
	}
	if name, found := strings.CutPrefix(first.Msg, "duplicate parameter: "); found {
		return unmarked("duplicate argument '" + name + "' in function definition")
	}
	return unmarked(first.Msg)
}
