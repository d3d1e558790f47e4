package interp

import (
	"errors"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
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
		panic(&raised{&exception{class: exceptionClass(regexError), args: []any{wrong.Error()}}})
	}
	p := &pattern{compiled}
	if m.patterns == nil {
		m.patterns = make(map[string]*pattern)
	}
	m.patterns[key] = p
	return p
}

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

// part is a part of a replacement: a text, or the number of a group.
type part struct {
	text  string
	group int
}

// badTemplate returns the error of a replacement at a byte.
func badTemplate(template string, at int, format string, args ...any) error {
	failure := raise("Exception", format, args...)
	wrong, _ := failure.(*raised)
	reason, _ := wrong.args[0].(string)
	text := (&regex.Error{Reason: reason, Position: length(template[:at]), Pattern: template}).Error()
	return &raised{&exception{class: exceptionClass(regexError), args: []any{text}}}
}

// template parses a replacement.
func (m *machine) template(p *pattern, template string) (parts []part) {
	m.chargeSteps(len(template) / 8)
	m.alloc(2 * len(template))
	var out strings.Builder
	group := func(number int) {
		m.allocItems(1)
		parts = append(parts, part{text: out.String()}, part{group: number + 1})
		out.Reset()
	}
	for at := 0; at < len(template); {
		c := template[at]
		if c != '\\' || at+1 >= len(template) {
			if c == '\\' {
				panic(badTemplate(template, at, "bad escape (end of pattern)"))
			}
			out.WriteByte(c)
			at++
			continue
		}
		next := template[at+1]
		switch plain := strings.IndexByte(`abfnrtv\`, next); {
		case plain >= 0:
			out.WriteByte("\a\b\f\n\r\t\v\\"[plain])
			at += 2
		case next == 'g':
			number, end := templateGroup(p, template, at)
			group(number)
			at = end
		case next >= '0' && next <= '9':
			r, number, end := templateNumber(p, template, at)
			if number < 0 {
				out.WriteString(string(r))
			} else {
				group(number)
			}
			at = end
		case next|0x20 >= 'a' && next|0x20 <= 'z':
			panic(badTemplate(template, at, `bad escape \%c`, next))
		default:
			out.WriteByte(c)
			at++
		}
	}
	return append(parts, part{text: out.String()})
}

// templateGroup reads \g<name>.
func templateGroup(p *pattern, template string, at int) (number, end int) {
	rest := template[at+2:]
	if !strings.HasPrefix(rest, "<") {
		panic(badTemplate(template, at+2, "missing <"))
	}
	name, _, closed := strings.Cut(rest[1:], ">")
	switch {
	case !closed && name == "":
		panic(badTemplate(template, at+3, "missing group name"))
	case !closed:
		panic(badTemplate(template, at+3, "missing >, unterminated name"))
	case name == "":
		panic(badTemplate(template, at+3, "missing group name"))
	}
	end = at + 4 + len(name)
	number, err := strconv.Atoi(name)
	if err == nil {
		if number > p.Groups || number < 0 {
			panic(badTemplate(template, at+3, "invalid group reference %d", number))
		}
		return number, end
	}
	number, ok := p.Group(name)
	if !ok {
		panic(raise("IndexError", "unknown group name '%s'", name))
	}
	return number, end
}

// templateNumber reads a reference such as \1, or an octal escape, for which number is -1.
func templateNumber(p *pattern, template string, at int) (r rune, number, end int) {
	digit := func(i int, highest byte) bool {
		return i < len(template) && template[i] >= '0' && template[i] <= highest
	}
	end = at + 2
	octal := func() (rune, int, int) {
		value, _ := strconv.ParseUint(template[at+1:end], 8, 32)
		if value > 0o377 {
			panic(badTemplate(template, at, `octal escape value %s outside of range 0-0o377`, template[at:end]))
		}
		return rune(value), -1, end
	}
	if template[at+1] == '0' {
		for end < at+4 && digit(end, '7') {
			end++
		}
		return octal()
	}
	if digit(end, '9') {
		if end++; digit(at+1, '7') && digit(at+2, '7') && digit(at+3, '7') {
			end = at + 4
			return octal()
		}
	}
	number, _ = strconv.Atoi(template[at+1 : end])
	if number > p.Groups {
		panic(badTemplate(template, at+1, "invalid group reference %d", number))
	}
	return 0, number, end
}

// expand fills in a replacement.
func (m *machine) expand(parts []part, found *match) string {
	var out strings.Builder
	for _, piece := range parts {
		text := piece.text
		if piece.group > 0 {
			text, _ = found.group(piece.group-1, "").(string)
		}
		m.alloc(2 * len(text))
		out.WriteString(text)
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

func (p *pattern) kind() *class { return patternClass }

func (p *pattern) attribute(m *machine, name string) any {
	switch name {
	case "pattern":
		return p.Source
	case "flags":
		return int(p.Flags)
	case "groups":
		return p.Regexp.Groups
	case "groupindex":
		d := &dict{}
		for number, name := range p.Names {
			if name != "" {
				m.put(&d.table, name, number)
			}
		}
		return d
	}
	return absent
}

func (p *pattern) repr(m *machine) string {
	text := m.repr(p.Source)
	out := "re.compile(" + text[:byteOffset(text, 200)]
	separator := ", "
	for _, flag := range []struct {
		value regex.Flags
		name  string
	}{{regex.IgnoreCase, "IGNORECASE"}, {regex.Multiline, "MULTILINE"}, {regex.DotAll, "DOTALL"}, {regex.Verbose, "VERBOSE"}, {regex.ASCII, "ASCII"}} {
		if p.Flags&flag.value != 0 {
			out += separator + "re." + flag.name
			separator = "|"
		}
	}
	return out + ")"
}

func (p *pattern) str(m *machine) string { return p.repr(m) }

func (f *match) kind() *class { return matchClass }

// group returns the text of a group, or a default if it has not matched.
func (f *match) group(number int, otherwise any) any {
	if f.positions[2*number+1] < 0 || f.positions[2*number] < 0 {
		return otherwise
	}
	return f.text[f.positions[2*number]:f.positions[2*number+1]]
}

func (f *match) groups(m *machine, otherwise any) []any {
	m.allocItems(f.pattern.Groups)
	items := make([]any, f.pattern.Groups)
	for i := range items {
		items[i] = f.group(i+1, otherwise)
	}
	return items
}

// number returns the number of a group by number or name.
func (f *match) number(v any) int {
	if i, _, ok := integer(v); ok && i >= 0 && i <= f.pattern.Groups {
		return i
	}
	if name, ok := plain(v).(string); ok {
		if i, ok := f.pattern.Group(name); ok {
			return i
		}
	}
	panic(raise("IndexError", "no such group"))
}

func (f *match) item(_ *machine, index any) any { return f.group(f.number(index), nil) }

func (f *match) attribute(m *machine, name string) any {
	switch name {
	case "string":
		return f.text
	case "re":
		return f.pattern
	case "pos":
		return f.offset(m, f.start)
	case "endpos":
		return f.offset(m, f.end)
	case "lastindex":
		if f.lastGroup > 0 {
			return f.lastGroup
		}
		return nil
	case "lastgroup":
		if f.lastGroup > 0 && f.pattern.Names[f.lastGroup] != "" {
			return f.pattern.Names[f.lastGroup]
		}
		return nil
	}
	return absent
}

// offset converts a position in bytes to one in characters.
func (f *match) offset(m *machine, at int) int {
	if at < 0 {
		return -1
	}
	m.chargeSteps(at / 64)
	return python.RuneCount(f.text[:at])
}

func (f *match) repr(m *machine) string {
	text, _ := f.group(0, "").(string)
	shown := m.repr(text)
	return "<re.Match object; span=(" + strconv.Itoa(f.offset(m, f.positions[0])) + ", " + strconv.Itoa(f.offset(m, f.positions[1])) +
		"), match=" + shown[:byteOffset(shown, 50)] + ">"
}

func (f *match) str(m *machine) string { return f.repr(m) }

func matchGroup(a *arguments) any {
	f, _ := a.self.(*match)
	if len(a.named) > 0 {
		panic(raise("TypeError", "group() takes no keyword arguments"))
	}
	switch len(a.positional) {
	case 0:
		return f.group(0, nil)
	case 1:
		return f.group(f.number(a.positional[0]), nil)
	}
	a.allocItems(len(a.positional))
	items := make([]any, len(a.positional))
	for i, arg := range a.positional {
		items[i] = f.group(f.number(arg), nil)
	}
	return &tuple{items}
}

func matchGroups(a *arguments) any {
	f, _ := a.self.(*match)
	return &tuple{f.groups(a.machine, orDefault(a.bind(0, "default")[0], nil))}
}

func matchGroupDict(a *arguments) any {
	f, _ := a.self.(*match)
	otherwise, d := orDefault(a.bind(0, "default")[0], nil), &dict{}
	for number, name := range f.pattern.Names {
		if name != "" {
			a.put(&d.table, name, f.group(number, otherwise))
		}
	}
	return d
}

// matchSpan implements start, end and span.
func matchSpan(a *arguments) any {
	f, args := self[*match](a, 0, 1)
	number := f.number(orDefault(args[0], 0))
	start, end := f.offset(a.machine, f.positions[2*number]), f.offset(a.machine, f.positions[2*number+1])
	if end < 0 {
		start = -1
	}
	switch a.name {
	case "start":
		return start
	case "end":
		return end
	default:
		return &tuple{[]any{start, end}}
	}
}

func matchExpand(a *arguments) any {
	f, _ := a.self.(*match)
	template := requireString(a.bind(1, "template")[0], "expected str instance, %s found")
	return a.expand(a.template(f.pattern, template), f)
}
