package regex

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/python"
)

// maxNesting is how deep groups may nest.
const maxNesting = 100

// maxRepeat is the largest number of repetitions that can be written.
const maxRepeat = 1<<32 - 1

// ErrNesting means that the groups of an expression nest too deep, ErrRepeat that a number of
// repetitions is too large.
type limitError string

// Error returns the reason.
func (e limitError) Error() string { return string(e) }

// These are the errors of an expression that is too large.
const (
	ErrNesting = limitError("maximum recursion depth exceeded")
	ErrRepeat  = limitError("the repetition number is too large")
)

// node is a part of an expression.
type node struct {
	kind       nodeKind
	set        *set
	children   []*node // of a sequence, alternatives or the one part of others
	min, max   int
	lazy       bool
	possessive bool
	group      int // of groups, references and conditions
	place      byte
	behind     bool
	negative   bool
	flags      Flags
}

type nodeKind uint8

const (
	nodeSequence nodeKind = iota
	nodeAlternatives
	nodeOne
	nodeRepeat
	nodeGroup
	nodeAt
	nodeLook
	nodeAtomic
	nodeBackref
	nodeCondition
)

// parser reads an expression.
type parser struct {
	source []rune
	at     int
	flags  Flags // that hold here
	all    Flags // of the whole expression
	names  []string
	open   []bool // groups that have not ended, by number
	depth  int
}

func (p *parser) fail(at int, reason string) {
	panic(&Error{Reason: reason, Position: at, Pattern: text(p.source)})
}

func text(runes []rune) string {
	var out []byte
	for _, r := range runes {
		out = python.AppendRune(out, r)
	}
	return string(out)
}

// Compile compiles an expression. The error is an *Error, ErrNesting or ErrRepeat.
func Compile(source string, flags Flags) (r *Regexp, err error) {
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case *Error:
			r, err = nil, failure
		case limitError:
			r, err = nil, failure
		default:
			panic(failure)
		}
	}()
	p := &parser{flags: flags, all: flags, names: []string{""}, open: []bool{false}}
	for rest := source; rest != ""; {
		c, size := python.DecodeRune(rest)
		p.source, rest = append(p.source, c), rest[size:]
	}
	p.leadingFlags()
	p.flags = p.all
	root := p.alternatives()
	if p.at < len(p.source) {
		p.fail(p.at, "unbalanced parenthesis")
	}
	if p.all&ASCII == 0 {
		p.all |= Unicode
	}
	c := &compiler{registers: 2 * len(p.names)}
	c.emit(root)
	c.add(instruction{op: opMatch})
	return &Regexp{Source: source, Flags: p.all, Groups: len(p.names) - 1, Names: p.names, program: c.program, registers: c.registers}, nil
}

// leadingFlags reads (?flags) at the start.
func (p *parser) leadingFlags() {
	for p.looking("(?") && p.at+2 < len(p.source) && strings.ContainsRune("aiLmsux", p.source[p.at+2]) {
		at := p.at
		end := p.at + 2
		for end < len(p.source) && strings.ContainsRune("aiLmsux", p.source[end]) {
			end++
		}
		if end >= len(p.source) || p.source[end] != ')' {
			return
		}
		for _, c := range p.source[at+2 : end] {
			p.all |= p.flag(c)
		}
		p.at = end + 1
	}
}

func (p *parser) flag(c rune) Flags {
	if c == 'L' {
		p.fail(p.at+3, "bad inline flags: cannot use 'L' flag with a str pattern")
	}
	return map[rune]Flags{'a': ASCII, 'i': IgnoreCase, 'm': Multiline, 's': DotAll, 'u': Unicode, 'x': Verbose}[c]
}

func (p *parser) looking(at string) bool {
	for i, c := range at {
		if p.at+i >= len(p.source) || p.source[p.at+i] != c {
			return false
		}
	}
	return true
}

func (p *parser) take(expected string) bool {
	if !p.looking(expected) {
		return false
	}
	p.at += len(expected)
	return true
}

// alternatives reads sequences up to a closing parenthesis or the end.
func (p *parser) alternatives() *node {
	if p.depth++; p.depth > maxNesting {
		panic(ErrNesting)
	}
	defer func() { p.depth-- }()
	branches := []*node{p.sequence()}
	for p.take("|") {
		branches = append(branches, p.sequence())
	}
	if len(branches) == 1 {
		return branches[0]
	}
	return &node{kind: nodeAlternatives, children: branches}
}

func (p *parser) sequence() *node {
	s := &node{kind: nodeSequence}
	for p.at < len(p.source) && !p.looking("|") && !p.looking(")") {
		if p.flags&Verbose != 0 && p.skipSpace() {
			continue
		}
		start := p.at
		if strings.ContainsRune("*+?{", p.source[p.at]) {
			if low, high, ok := p.bounds(); ok {
				p.repeat(s, start, low, high)
				continue
			}
		}
		if item := p.item(); item != nil {
			s.children = append(s.children, item)
		}
	}
	return s
}

// skipSpace skips a blank or a comment of a verbose expression.
func (p *parser) skipSpace() bool {
	switch c := p.source[p.at]; {
	case c == '#':
		for p.at < len(p.source) && p.source[p.at] != '\n' {
			p.at++
		}
		return true
	case strings.ContainsRune(" \t\n\r\v\f", c):
		p.at++
		return true
	}
	return false
}

// bounds reads *, +, ? or {m,n}. ok is false for a brace that stands for itself.
func (p *parser) bounds() (low, high int, ok bool) {
	switch {
	case p.take("*"):
		return 0, -1, true
	case p.take("+"):
		return 1, -1, true
	case p.take("?"):
		return 0, 1, true
	}
	start := p.at
	p.at++
	low, hasLow := p.number()
	high, hasHigh := low, hasLow
	if p.take(",") {
		if high, hasHigh = p.number(); !hasHigh {
			high = -1
		}
		hasLow = true
	}
	if p.looking("}") && (hasLow || hasHigh) && start+2 <= p.at && !(p.at == start+1) {
		p.at++
		if high >= 0 && high < low {
			p.fail(start+1, "min repeat greater than max repeat")
		}
		return low, high, true
	}
	p.at = start
	return 0, 0, false
}

func (p *parser) number() (n int, ok bool) {
	start := p.at
	for p.at < len(p.source) && p.source[p.at] >= '0' && p.source[p.at] <= '9' {
		p.at++
	}
	digits := text(p.source[start:p.at])
	n, err := strconv.Atoi(digits)
	if digits != "" && (err != nil || n >= maxRepeat) {
		panic(ErrRepeat)
	}
	return n, digits != ""
}

// repeat repeats the last item of a sequence.
func (p *parser) repeat(s *node, start, low, high int) {
	n := len(s.children)
	if n == 0 || s.children[n-1].kind == nodeAt {
		p.fail(start, "nothing to repeat")
	}
	if s.children[n-1].kind == nodeRepeat {
		p.fail(start, "multiple repeat")
	}
	r := &node{kind: nodeRepeat, children: s.children[n-1:], min: low, max: high}
	switch {
	case p.take("?"):
		r.lazy = true
	case p.take("+"):
		r.possessive = true
	}
	r.children = []*node{s.children[n-1]}
	s.children[n-1] = r
}

// item reads one character, set, group or assertion. It returns nil for a comment.
func (p *parser) item() *node {
	c := p.source[p.at]
	switch c {
	case '(':
		return p.group()
	case '[':
		return p.class()
	case '\\':
		return p.escape()
	case '.':
		p.at++
		class := byte('.')
		if p.flags&DotAll != 0 {
			class = '*'
		}
		return &node{kind: nodeOne, set: &set{classes: []byte{class}}}
	case '^', '$':
		p.at++
		return &node{kind: nodeAt, place: byte(c), flags: p.flags}
	}
	p.at++
	return p.literal(c)
}

func (p *parser) literal(c rune) *node {
	return &node{kind: nodeOne, set: &set{ranges: [][2]rune{{c, c}}, flags: p.flags}}
}

// escape reads a backslash and what follows, outside of a set.
func (p *parser) escape() *node {
	start := p.at
	if p.at++; p.at >= len(p.source) {
		p.fail(start, "bad escape (end of pattern)")
	}
	c := p.source[p.at]
	switch {
	case strings.ContainsRune("AbBZ", c):
		p.at++
		return &node{kind: nodeAt, place: byte(c), flags: p.flags}
	case strings.ContainsRune("dDsSwW", c):
		p.at++
		return &node{kind: nodeOne, set: &set{classes: []byte{byte(c)}, flags: p.flags}}
	case c >= '1' && c <= '9':
		if c, octal := p.octal(3); octal {
			return p.literal(c)
		}
		group := int(c - '0')
		if p.at++; p.at < len(p.source) && unicode.IsDigit(p.source[p.at]) && p.source[p.at] < 128 {
			group = group*10 + int(p.source[p.at]-'0')
			p.at++
		}
		return p.reference(group, start+1)
	}
	return p.literal(p.escaped(start))
}

// octal reads exactly n octal digits, which are a character.
func (p *parser) octal(n int) (c rune, ok bool) {
	if p.at+n > len(p.source) {
		return 0, false
	}
	for _, digit := range p.source[p.at : p.at+n] {
		if digit < '0' || digit > '7' {
			return 0, false
		}
		c = c*8 + digit - '0'
	}
	if c > 0o377 {
		p.fail(p.at-1, "octal escape value \\"+text(p.source[p.at:p.at+n])+" outside of range 0-0o377")
	}
	p.at += n
	return c, true
}

func (p *parser) reference(group, at int) *node {
	if group >= len(p.names) {
		p.fail(at, "invalid group reference "+strconv.Itoa(group))
	}
	if p.open[group] {
		p.fail(at-1, "cannot refer to an open group")
	}
	return &node{kind: nodeBackref, group: group, flags: p.flags}
}

// escaped reads the character that an escape means, in a set or outside.
func (p *parser) escaped(start int) rune {
	c := p.source[p.at]
	if plain := strings.IndexRune(`abfnrtv\`, c); plain >= 0 {
		p.at++
		return rune("\a\b\f\n\r\t\v\\"[plain])
	}
	switch {
	case c == 'x' || c == 'u' || c == 'U':
		return p.hex(start, map[rune]int{'x': 2, 'u': 4, 'U': 8}[c])
	case c == '0':
		p.at++
		value := rune(0)
		for n := 0; n < 2 && p.at < len(p.source) && p.source[p.at] >= '0' && p.source[p.at] <= '7'; n++ {
			value = value*8 + p.source[p.at] - '0'
			p.at++
		}
		return value
	case c < 128 && (unicode.IsLetter(c) || unicode.IsDigit(c)):
		p.fail(start, `bad escape \`+string(c))
	}
	p.at++
	return c
}

func (p *parser) hex(start, n int) rune {
	p.at++
	end := p.at
	for end < len(p.source) && end < p.at+n && strings.ContainsRune("0123456789abcdefABCDEF", p.source[end]) {
		end++
	}
	value, _ := strconv.ParseInt(text(p.source[p.at:end]), 16, 64)
	if end-p.at != n || value > unicode.MaxRune {
		p.fail(start, "incomplete escape "+text(p.source[start:end]))
	}
	p.at = end
	return rune(value)
}

// class reads a set in brackets.
func (p *parser) class() *node {
	start := p.at
	p.at++
	s := &set{flags: p.flags}
	s.negated = p.take("^")
	for first := true; first || !p.looking("]"); first = false {
		at := p.at
		low, class := p.classItem(start)
		if p.looking("-") && p.at+1 < len(p.source) && p.source[p.at+1] != ']' {
			p.at++
			high, end := p.classItem(start)
			if class != 0 || end != 0 {
				p.fail(at, "bad character range "+text(p.source[at:p.at]))
			}
			if high < low {
				p.fail(at, "bad character range "+text(p.source[at:p.at]))
			}
			s.ranges = append(s.ranges, [2]rune{low, high})
			continue
		}
		if class != 0 {
			s.classes = append(s.classes, class)
		} else {
			s.ranges = append(s.ranges, [2]rune{low, low})
		}
	}
	p.at++
	return &node{kind: nodeOne, set: s}
}

// classItem reads a character or a class such as \d in a set.
func (p *parser) classItem(start int) (c rune, class byte) {
	if p.at >= len(p.source) {
		p.fail(start, "unterminated character set")
	}
	at := p.at
	c = p.source[p.at]
	p.at++
	if c != '\\' {
		if p.at >= len(p.source) {
			p.fail(start, "unterminated character set")
		}
		return c, 0
	}
	if p.at >= len(p.source) {
		p.fail(at, "bad escape (end of pattern)")
	}
	next := p.source[p.at]
	switch {
	case strings.ContainsRune("dDsSwW", next):
		p.at++
		class = byte(next)
	case next >= '0' && next <= '7':
		for n := 0; n < 3 && p.at < len(p.source) && p.source[p.at] >= '0' && p.source[p.at] <= '7'; n++ {
			class = 0
			if n == 0 {
				c = 0
			}
			c = c*8 + p.source[p.at] - '0'
			p.at++
		}
		if c > 0o377 {
			p.fail(at, "octal escape value "+text(p.source[at:p.at])+" outside of range 0-0o377")
		}
	default:
		c = p.escaped(at)
	}
	if p.at >= len(p.source) {
		p.fail(start, "unterminated character set")
	}
	return c, class
}
