package interp

import (
	"strconv"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/regex"
)

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
