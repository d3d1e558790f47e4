package syntax

import (
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/python/limit"
)

// Parse reads a program. The error is an *Error.
func Parse(source string) (*Module, error) { return parse(source, mode{compiled: true}) }

// ParseFile reads a file of functions, which may also define classes. The error is an *Error.
func ParseFile(source string) (*Module, error) {
	return parse(source, mode{compiled: true, classes: true})
}

// ParseTree reads a program as ast.parse does: what Python checks only when it compiles the tree,
// as "return" outside a function, is no error. Such a tree is not for running as a whole. The
// error is an *Error.
func ParseTree(source string) (*Module, error) { return parse(source, mode{}) }

// mode says what a parser accepts: whether the tree is for running, and may have classes.
type mode struct{ compiled, classes bool }

func parse(source string, mode mode) (module *Module, err error) {
	if err := checkSource(source); err != nil {
		return nil, err
	}
	defer recoverError(&err, func() { module = nil })
	p := &parser{lexer: lexer{s: withLineFeeds(source), brackets: limit.BracketDepth}, scope: newScope(scopeModule, nil), classes: mode.classes}
	p.advance()
	module = &Module{Scope: p.scope}
	for p.tok.kind != kindEnd {
		module.Body = p.statement(module.Body)
	}
	if p.lateError != nil && mode.compiled {
		return nil, p.lateError
	}
	if wrong := module.Scope.resolve(); wrong != nil && mode.compiled {
		return nil, wrong
	}
	return module, nil
}

// ParseExpression reads one expression. Line breaks in it are spaces. variables are the names whose
// values an evaluation gives. The error is an *Error.
func ParseExpression(source string, variables ...string) (expression *Expression, err error) {
	if err := checkSource(source); err != nil {
		return nil, err
	}
	defer recoverError(&err, func() { expression = nil })
	p := &parser{lexer: lexer{s: source, brackets: limit.BracketDepth, inLine: true, joined: true}, scope: newScope(scopeModule, nil)}
	for _, name := range variables {
		p.scope.bind(name)
	}
	p.advance()
	expression = &Expression{X: p.test(), Scope: p.scope}
	if p.tok.kind != kindNewline {
		p.unexpected()
	}
	if p.lateError != nil {
		return nil, p.lateError
	}
	if wrong := expression.Scope.resolve(); wrong != nil {
		return nil, wrong
	}
	return expression, nil
}

// withLineFeeds replaces each carriage return that ends a line by itself. Offsets stay.
func withLineFeeds(source string) string {
	if strings.IndexByte(source, '\r') < 0 {
		return source
	}
	text := []byte(source)
	for i := range text {
		if text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			text[i] = '\n'
		}
	}
	return string(text)
}

// checkSource returns the *Error of a source that is too long or contains null bytes.
func checkSource(source string) error {
	if len(source) > limit.SourceBytes {
		reason := fmt.Sprintf("the source has %d bytes, at most %d can be executed", len(source), limit.SourceBytes)
		return &Error{"MemoryError: " + reason, 0, reason}
	}
	if at := strings.IndexByte(source, 0); at >= 0 {
		const reason = "source code string cannot contain null bytes"
		return &Error{"ValueError: " + reason + "\n", at, reason}
	}
	return nil
}

// recoverError converts a panic of the parser to an *Error. A defect in the parser must not end the
// other sessions.
func recoverError(err *error, discard func()) {
	failure := recover()
	if failure == nil {
		return
	}
	wrong, ok := failure.(*Error)
	if !ok {
		reason := fmt.Sprintf("the source cannot be compiled: %v", failure)
		wrong = &Error{"SystemError: " + reason, 0, reason}
	}
	discard()
	*err = wrong
}
