// Package regex matches the regular expressions of Python's module re by backtracking, with its
// syntax, groups and results. The caller counts the work of each match and can end it, so no
// expression takes time or memory without bound.
package regex

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/python"
)

// Flags change how an expression matches.
type Flags int

// These are the flags of Python with its values.
const (
	IgnoreCase Flags = 2
	Locale     Flags = 4
	Multiline  Flags = 8
	DotAll     Flags = 16
	Unicode    Flags = 32
	Verbose    Flags = 64
	ASCII      Flags = 256
)

// Error is a mistake in an expression.
type Error struct {
	// Reason is Python's text of the mistake.
	Reason string
	// Position is the character at which it is, -1 if it is in none.
	Position int
	// Pattern is the expression.
	Pattern string
}

// Error returns Python's message.
func (e *Error) Error() string {
	if e.Position < 0 {
		return e.Reason
	}
	text := fmt.Sprintf("%s at position %d", e.Reason, e.Position)
	if !strings.Contains(e.Pattern, "\n") {
		return text
	}
	before := []rune(e.Pattern)[:e.Position]
	line, column := 1, 1
	for _, r := range before {
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return fmt.Sprintf("%s (line %d, column %d)", text, line, column)
}

// Regexp is a compiled expression. It is immutable and safe for concurrent use.
type Regexp struct {
	// Source is the expression.
	Source string
	// Flags are the given ones, and those in the expression.
	Flags Flags
	// Groups is the number of groups.
	Groups int
	// Names are the names of groups, by number; empty for a group without a name.
	Names []string

	program   []instruction
	registers int
}

// Group returns the number of a named group.
func (r *Regexp) Group(name string) (number int, ok bool) {
	for i, other := range r.Names {
		if other == name && name != "" {
			return i, true
		}
	}
	return 0, false
}

// opcode is the kind of an instruction.
type opcode uint8

const (
	opMatch     opcode = iota // the end of the expression, or of a part that runs alone
	opOne                     // one character of a set
	opMany                    // a repeated character of a set
	opSplit                   // goes to next, then to x
	opJump                    // goes to x
	opSave                    // stores the position in register x
	opBegin                   // begins the repetition x
	opRepeat                  // goes to the body of the repetition, or to its exit x
	opEnter                   // begins another pass of the body
	opAt                      // asserts a place
	opLook                    // runs a part ahead or behind, then goes to x
	opAtomic                  // runs a part without going back into it, then goes to x
	opBackref                 // matches the text of group x again
	opCondition               // goes to next if group x has matched, otherwise to y
)

// instruction is one step of a program.
type instruction struct {
	op         opcode
	x, y       int
	set        *set // of opOne and opMany
	min, max   int  // of repetitions; max is unlimited where it is -1
	lazy       bool
	possessive bool
	place      byte // of opAt
	behind     int  // characters of opLook behind, -1 ahead
	negative   bool
	flags      Flags
}

// set is a set of characters.
type set struct {
	ranges  [][2]rune
	classes []byte // d, D, s, S, w, W, . and * for any
	negated bool
	flags   Flags
}

func (s *set) has(r rune) bool {
	if s.flags&IgnoreCase == 0 {
		return s.contains(r) != s.negated
	}
	found := s.contains(r)
	for other := fold(r, s.flags); other != r && !found; other = fold(other, s.flags) {
		found = s.contains(other)
	}
	return found != s.negated
}

// fold returns the next character that differs from r in case alone.
func fold(r rune, flags Flags) rune {
	if flags&ASCII == 0 {
		return unicode.SimpleFold(r)
	}
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 'A'
	case r >= 'A' && r <= 'Z':
		return r - 'A' + 'a'
	}
	return r
}

func (s *set) contains(r rune) bool {
	for _, span := range s.ranges {
		if r >= span[0] && r <= span[1] {
			return true
		}
	}
	for _, class := range s.classes {
		if inClass(class, r, s.flags) {
			return true
		}
	}
	return false
}

// inClass reports whether a character is in a class such as d of \d.
func inClass(class byte, r rune, flags Flags) bool {
	ascii := flags&ASCII != 0 && r > unicode.MaxASCII
	switch class {
	case 'd':
		return !ascii && unicode.Is(unicode.Nd, r)
	case 's':
		return !ascii && python.IsSpace(r) && (flags&ASCII == 0 || r < 0x1C || r == ' ')
	case 'w':
		return !ascii && isWord(r)
	case 'D', 'S', 'W':
		return !inClass(class|0x20, r, flags)
	case '.':
		return r != '\n'
	default:
		return true
	}
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// before returns the character before a position.
func before(text string, at int) (r rune, size int) {
	start := at - 1
	for start > 0 && at-start < utf8.UTFMax && !utf8.RuneStart(text[start]) {
		start--
	}
	r, size = python.DecodeRune(text[start:at])
	return r, size
}
