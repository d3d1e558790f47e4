package interp

import (
	"errors"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python/limit"
	"github.com/toolsandbox/toolsandbox/python/regex"
)

const regexError = "re.error"

var (
	patternClass = &class{name: "re.Pattern"}
	matchClass   = &class{name: "re.Match"}
)

type (
	// pattern is a compiled regular expression.
	pattern struct{ *regex.Regexp }

	// match is a match of a pattern. positions are bytes of its text.
	match struct {
		pattern    *pattern
		text       string
		start, end int // of the part that was searched
		positions  []int
		lastGroup  int
	}

	// meter charges a run for the work of its matches.
	meter struct{ *machine }
)

// workPerStep is how many steps of a match cost a step of the run.
const workPerStep = 16

// Work implements regex.Meter.
func (m meter) Work(steps int) { m.chargeSteps(steps / workPerStep) }

// Grow implements regex.Meter.
func (m meter) Grow(bytes int) { m.alloc(bytes) }

// newRegex returns the module re.
func newRegex() *module {
	m := &module{name: "re", members: map[string]any{"error": exceptionClass(regexError), "Pattern": patternClass, "Match": matchClass, "NOFLAG": 0}}
	for names, value := range map[string]regex.Flags{
		"A ASCII": regex.ASCII, "I IGNORECASE": regex.IgnoreCase, "M MULTILINE": regex.Multiline, "S DOTALL": regex.DotAll,
		"U UNICODE": regex.Unicode, "X VERBOSE": regex.Verbose,
	} {
		for name := range strings.FieldsSeq(names) {
			m.members[name] = int(value)
		}
	}
	for name, f := range splitNames(map[string]native{
		"compile": regexCompile, "search match fullmatch": regexMatch, "findall finditer": regexAll, "split": regexSplit, "sub subn": regexSub,
		"escape": regexEscape,
	}) {
		m.members[name] = &builtin{name: name, call: f}
	}
	patternClass.methods = splitNames(map[string]native{
		"search match fullmatch": patternMatch, "findall finditer": patternAll, "split": patternSplit, "sub subn": patternSub,
	})
	matchClass.methods = splitNames(map[string]native{
		"group": matchGroup, "groups": matchGroups, "groupdict": matchGroupDict, "start end span": matchSpan, "expand": matchExpand,
	})
	return m
}

// compilePattern compiles an expression, or returns a compiled one.
func (m *machine) compilePattern(v, flags any) *pattern {
	given := machineInt(orDefault(flags, 0), true)
	if p, ok := v.(*pattern); ok {
		if given != 0 {
			panic(raise("ValueError", "cannot process flags argument with a compiled pattern"))
		}
		return p
	}
	source := requireString(v, "first argument must be string or compiled pattern")
	key := strconv.Itoa(given) + ":" + source
	if p := m.patterns[key]; p != nil {
		return p
	}
	m.chargeSteps(len(source) / 4)
	m.allocTimes(len(source)+1, 2*limit.ItemSize)
	if regex.Flags(given)&regex.Locale != 0 {
		panic(raise("ValueError", "cannot use LOCALE flag with a str pattern"))
	}
	compiled, err := regex.Compile(source, regex.Flags(given))
	var wrong *regex.Error
	switch {
	case errors.Is(err, regex.ErrNesting):
		panic(tooDeep())
	case errors.Is(err, regex.ErrRepeat):
		panic(raise("OverflowError", "%s", err))
	case errors.As(err, &wrong):
		panic(wrongPattern(wrong))
	}
	p := &pattern{compiled}
	if m.patterns == nil {
		m.patterns = make(map[string]*pattern)
	}
	m.patterns[key] = p
	return p
}

func wrongPattern(err *regex.Error) error { return raise(regexError, "%s", err.Error()) }

// matchIn returns a match of text[start:end], nil if there is none.
func (m *machine) matchIn(p *pattern, text string, start, end int, mode regex.Mode, empty bool) *match {
	m.step()
	positions := p.Match(text, start, end, mode, empty, meter{m})
	if positions == nil {
		return nil
	}
	m.alloc(8*len(positions) + limit.ItemSize)
	last := len(positions) - 1
	return &match{pattern: p, text: text, start: start, end: end, positions: positions[:last], lastGroup: positions[last]}
}

// each calls a function with the matches of a text from left to right until it returns false.
func (m *machine) each(p *pattern, text string, start, end int, visit func(*match) bool) {
	for empty := true; ; {
		found := m.matchIn(p, text, start, end, regex.Search, empty)
		if found == nil || !visit(found) {
			return
		}
		start, empty = found.positions[1], found.positions[1] != found.positions[0]
	}
}

func regexCompile(a *arguments) any {
	args := a.bind(1, "pattern", "flags")
	return a.compilePattern(args[0], args[1])
}

func modeOf(name string) regex.Mode {
	return map[string]regex.Mode{"search": regex.Search, "match": regex.Prefix, "fullmatch": regex.Full}[name]
}

func regexMatch(a *arguments) any {
	args := a.bind(2, "pattern", "string", "flags")
	text := requireString(args[1], "expected string or bytes-like object")
	return optionalMatch(a.matchIn(a.compilePattern(args[0], args[2]), text, 0, len(text), modeOf(a.name), true))
}

func optionalMatch(found *match) any {
	if found == nil {
		return nil
	}
	return found
}

// searched returns the pattern of a method, the text and the part of it to search.
func (a *arguments) searched() (p *pattern, text string, start, end int) {
	p, _ = a.self.(*pattern)
	args := a.bind(1, "string", "pos", "endpos")
	text = requireString(args[0], "expected string or bytes-like object")
	end = len(text)
	a.chargeSteps(len(text) / 64)
	if args[2] != absent {
		end = byteOffset(text, max(0, machineInt(args[2], true)))
	}
	if args[1] != absent {
		start = byteOffset(text, max(0, machineInt(args[1], true)))
	}
	return p, text, min(start, end), end
}

func patternMatch(a *arguments) any {
	p, text, start, end := a.searched()
	return optionalMatch(a.matchIn(p, text, start, end, modeOf(a.name), true))
}

func regexAll(a *arguments) any {
	args := a.bind(2, "pattern", "string", "flags")
	text := requireString(args[1], "expected string or bytes-like object")
	return a.allMatches(a.compilePattern(args[0], args[2]), text, 0, len(text))
}

func patternAll(a *arguments) any {
	p, text, start, end := a.searched()
	return a.allMatches(p, text, start, end)
}

// allMatches implements findall and finditer.
func (a *arguments) allMatches(p *pattern, text string, start, end int) any {
	if a.name == "finditer" {
		empty := true
		return &funcIterator{kind: "callable_iterator", step: func(m *machine) (any, bool) {
			found := m.matchIn(p, text, start, end, regex.Search, empty)
			if found == nil {
				return nil, false
			}
			start, empty = found.positions[1], found.positions[1] != found.positions[0]
			return found, true
		}}
	}
	result := &list{}
	a.each(p, text, start, end, func(found *match) bool {
		a.allocItems(1)
		switch p.Groups {
		case 0:
			result.items = append(result.items, found.group(0, ""))
		case 1:
			result.items = append(result.items, found.group(1, ""))
		default:
			result.items = append(result.items, &tuple{found.groups(a.machine, "")})
		}
		return true
	})
	return result
}

func regexSplit(a *arguments) any {
	args := a.bind(2, "pattern", "string", "maxsplit", "flags")
	return a.split(a.compilePattern(args[0], args[3]), args[1], args[2])
}

func patternSplit(a *arguments) any {
	p, _ := a.self.(*pattern)
	args := a.bind(1, "string", "maxsplit")
	return a.split(p, args[0], args[1])
}

func (a *arguments) split(p *pattern, of, maximum any) any {
	text := requireString(of, "expected string or bytes-like object")
	most := machineInt(orDefault(maximum, 0), true)
	result, last, n := &list{}, 0, 0
	if most >= 0 {
		a.each(p, text, 0, len(text), func(found *match) bool {
			a.allocItems(1)
			result.items = append(result.items, text[last:found.positions[0]])
			result.items = append(result.items, found.groups(a.machine, nil)...)
			last = found.positions[1]
			n++
			return n != most
		})
	}
	a.allocItems(1)
	result.items = append(result.items, text[last:])
	return result
}

func regexSub(a *arguments) any {
	args := a.bind(3, "pattern", "repl", "string", "count", "flags")
	return a.substitute(a.compilePattern(args[0], args[4]), args[1], args[2], args[3])
}

func patternSub(a *arguments) any {
	p, _ := a.self.(*pattern)
	args := a.bind(2, "repl", "string", "count")
	return a.substitute(p, args[0], args[1], args[2])
}

// substitute implements sub and subn.
func (a *arguments) substitute(p *pattern, replacement, of, count any) any {
	text := requireString(of, "expected string or bytes-like object")
	most := machineInt(orDefault(count, 0), true)
	var replace func(*match) string
	if template, ok := plain(replacement).(string); ok {
		parts := a.template(p, template)
		replace = func(found *match) string { return a.expand(parts, found) }
	} else {
		replace = func(found *match) string {
			v := a.call(replacement, []any{found}, nil)
			if v == nil {
				return ""
			}
			return requireString(v, "expected str instance, %s found")
		}
	}
	var out strings.Builder
	last, n := 0, 0
	if most >= 0 {
		a.each(p, text, 0, len(text), func(found *match) bool {
			piece := replace(found)
			a.alloc(2 * (len(piece) + found.positions[0] - last))
			out.WriteString(text[last:found.positions[0]])
			out.WriteString(piece)
			last = found.positions[1]
			n++
			return n != most
		})
	}
	a.alloc(len(text) - last)
	out.WriteString(text[last:])
	if a.name == "subn" {
		return &tuple{[]any{out.String(), n}}
	}
	return out.String()
}

func regexEscape(a *arguments) any {
	text := requireString(a.bind(1, "pattern")[0], "expected string, got %s")
	a.alloc(2 * len(text))
	a.chargeSteps(len(text) / 64)
	var out strings.Builder
	for i := range len(text) {
		if strings.IndexByte("()[]{}?*+-|^$\\.&~# \t\n\r\v\f", text[i]) >= 0 {
			out.WriteByte('\\')
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
