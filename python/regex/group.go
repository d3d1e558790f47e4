package regex

import (
	"strconv"
	"strings"
	"unicode"
)

// group reads a group, an assertion or a comment behind its parenthesis.
func (p *parser) group() *node {
	start := p.at
	p.at++
	if !p.take("?") {
		return p.capture(start, "")
	}
	if p.at >= len(p.source) {
		p.fail(p.at, "unexpected end of pattern")
	}
	flags := p.flags
	defer func() { p.flags = flags }()
	switch {
	case p.take(":"):
		return p.inner(start)
	case p.take(">"):
		return &node{kind: nodeAtomic, children: []*node{p.inner(start)}}
	case p.take("P<"):
		return p.capture(start, p.groupName())
	case p.take("P="):
		return p.namedReference()
	case p.looking("P"):
		p.at++
		if p.at >= len(p.source) {
			p.fail(p.at, "unexpected end of pattern")
		}
		p.fail(start+1, "unknown extension ?P"+string(p.source[p.at]))
	case p.take("#"):
		return p.comment(start)
	case p.take("="):
		return p.look(start, false, false)
	case p.take("!"):
		return p.look(start, false, true)
	case p.take("<="):
		return p.look(start, true, false)
	case p.take("<!"):
		return p.look(start, true, true)
	case p.take("("):
		return p.condition(start)
	}
	return p.scoped(start)
}

// comment skips a comment.
func (p *parser) comment(start int) *node {
	for p.at < len(p.source) && p.source[p.at] != ')' {
		p.at++
	}
	if p.at++; p.at > len(p.source) {
		p.fail(start, "missing ), unterminated comment")
	}
	return nil
}

// inner reads a part up to its closing parenthesis.
func (p *parser) inner(start int) *node {
	part := p.alternatives()
	if !p.take(")") {
		p.fail(start, "missing ), unterminated subpattern")
	}
	return part
}

// capture reads a group that stores its text.
func (p *parser) capture(start int, name string) *node {
	number := len(p.names)
	p.names, p.open = append(p.names, name), append(p.open, true)
	part := p.inner(start)
	p.open[number] = false
	return &node{kind: nodeGroup, group: number, children: []*node{part}}
}

// groupName reads the name of a new group.
func (p *parser) groupName() string {
	at := p.at
	name := p.name(">")
	for number, other := range p.names {
		if other == name {
			p.fail(at, "redefinition of group name '"+name+"' as group "+strconv.Itoa(len(p.names))+"; was group "+strconv.Itoa(number))
		}
	}
	return name
}

// name reads a name up to a closing mark.
func (p *parser) name(closing string) string {
	at := p.at
	for p.at < len(p.source) && !p.looking(closing) {
		p.at++
	}
	name := text(p.source[at:p.at])
	switch {
	case p.at >= len(p.source) && name == "":
		p.fail(at, "missing group name")
	case p.at >= len(p.source):
		p.fail(at, "missing "+closing+", unterminated name")
	case name == "":
		p.fail(at, "missing group name")
	case !isIdentifier(name) && closing != ")":
		p.fail(at, "bad character in group name '"+name+"'")
	}
	p.at++
	return name
}

func isIdentifier(name string) bool {
	for i, c := range name {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsNumber(c)) {
			return false
		}
	}
	return name != ""
}

func (p *parser) namedReference() *node {
	at := p.at
	name := p.nameInBrackets()
	for number, other := range p.names {
		if other == name {
			if p.open[number] {
				p.fail(at, "cannot refer to an open group")
			}
			return &node{kind: nodeBackref, group: number, flags: p.flags}
		}
	}
	p.fail(at, "unknown group name '"+name+"'")
	return nil
}

func (p *parser) nameInBrackets() string {
	at := p.at
	name := p.name(")")
	if !isIdentifier(name) {
		p.fail(at, "bad character in group name '"+name+"'")
	}
	return name
}

func (p *parser) look(start int, behind, negative bool) *node {
	part := p.inner(start)
	if behind {
		if low, high := width(part); low != high {
			panic(&Error{Reason: "look-behind requires fixed-width pattern", Position: -1, Pattern: text(p.source)})
		}
	}
	return &node{kind: nodeLook, children: []*node{part}, behind: behind, negative: negative}
}

// condition reads (?(group)yes|no).
func (p *parser) condition(start int) *node {
	at := p.at
	name := p.name(")")
	group, err := strconv.Atoi(name)
	switch {
	case err != nil || strings.HasPrefix(name, "+"):
		if !isIdentifier(name) {
			p.fail(at, "bad character in group name '"+name+"'")
		}
		group = 0
		for number, other := range p.names {
			if other == name {
				group = number
			}
		}
		if group == 0 {
			p.fail(at, "unknown group name '"+name+"'")
		}
	case group <= 0:
		p.fail(at, "bad group number")
	case group >= len(p.names):
		p.fail(at, "invalid group reference "+name)
	}
	n := &node{kind: nodeCondition, group: group, children: []*node{p.sequence(), {kind: nodeSequence}}}
	if p.take("|") {
		n.children[1] = p.sequence()
		if p.looking("|") {
			p.fail(p.at+1, "conditional backref with more than two branches")
		}
	}
	if !p.take(")") {
		p.fail(start, "missing ), unterminated subpattern")
	}
	return n
}

// scoped reads (?flags:…) and (?flags-flags:…).
func (p *parser) scoped(start int) *node {
	first := p.source[p.at]
	if !strings.ContainsRune("aiLmsux-", first) {
		extension := "?" + string(first)
		if first == '<' && p.at+1 < len(p.source) {
			extension += string(p.source[p.at+1])
		}
		p.fail(start+1, "unknown extension "+extension)
	}
	on, off := Flags(0), Flags(0)
	for p.at < len(p.source) && strings.ContainsRune("aiLmsux", p.source[p.at]) {
		on |= p.flag(p.source[p.at])
		p.at++
	}
	if p.looking(")") {
		p.fail(start, "global flags not at the start of the expression")
	}
	if p.take("-") {
		for p.at < len(p.source) && strings.ContainsRune("imsx", p.source[p.at]) {
			off |= p.flag(p.source[p.at])
			p.at++
		}
		if off == 0 {
			p.fail(p.at, "missing flag")
		}
	}
	if !p.take(":") {
		if p.at >= len(p.source) {
			p.fail(p.at, "missing -, : or )")
		}
		p.fail(p.at, "unknown flag")
	}
	if on&ASCII != 0 {
		off |= Unicode
	}
	if on&Unicode != 0 {
		off |= ASCII
	}
	p.flags = p.flags&^off | on
	return p.inner(start)
}

// width returns the least and the largest number of characters of a part, at most maxRepeat.
func width(n *node) (low, high int) {
	switch n.kind {
	case nodeOne:
		return 1, 1
	case nodeSequence:
		for _, child := range n.children {
			l, h := width(child)
			low, high = min(low+l, maxRepeat), min(high+h, maxRepeat)
		}
		return low, high
	case nodeAlternatives, nodeCondition:
		for i, child := range n.children {
			l, h := width(child)
			if i == 0 || l < low {
				low = l
			}
			high = max(high, h)
		}
		return low, high
	case nodeRepeat:
		l, h := width(n.children[0])
		most := n.max
		if most < 0 {
			most = maxRepeat
		}
		return min(l*n.min, maxRepeat), min(h*min(most, 1<<30), maxRepeat)
	case nodeGroup, nodeAtomic:
		return width(n.children[0])
	case nodeBackref:
		return 0, maxRepeat
	default:
		return 0, 0
	}
}
