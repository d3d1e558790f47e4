package interp

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

type (
	// enumeration is what a class knows that derives from Enum.
	enumeration struct {
		// mixin is the type that the members also have, nil if none.
		mixin *class
		// transparent reports that members print as their values, as those of IntEnum and StrEnum do.
		transparent bool
		// lower reports that auto() gives a name in lower case.
		lower   bool
		members []*member
		// names are those of all members, also the further names of one.
		names   []string
		aliases map[string]*member
	}

	// member is a member of an enumeration.
	member struct {
		class *class
		name  string
		value any
	}

	autoType struct{ _ byte }
)

// These are the classes of the module enum. Their constructor is that of the enumerations, so they
// have none.
var (
	enumType      = &class{name: "EnumType"}
	enumClass     = &class{name: "Enum"}
	intEnum       = &class{name: "IntEnum", base: enumClass}
	strEnum       = &class{name: "StrEnum", base: enumClass}
	auto      any = &autoType{}
)

func newEnumModule() *module {
	return &module{name: "enum", members: map[string]any{
		"Enum": enumClass, "IntEnum": intEnum, "StrEnum": strEnum,
		"auto": &builtin{name: "auto", call: func(a *arguments) any {
			a.positionalOnly(0, 0)
			return auto
		}},
	}}
}

// plain returns the value of a member that also has the type of its value, otherwise v.
func plain(v any) any {
	if e, ok := v.(*member); ok && e.class.enum.mixin != nil {
		return e.value
	}
	return v
}

// defineClass executes the definition of an enumeration.
func (m *machine) defineClass(f *frame, s *syntax.Class) *class {
	e := &enumeration{aliases: make(map[string]*member)}
	c := &class{name: s.Name.ID, enum: e, construct: enumMember}
	for _, base := range s.Bases {
		of, _ := m.eval(f, base).(*class)
		switch {
		case of == enumClass || of == intEnum || of == strEnum:
			c.base = of
		case of != nil && (of == m.types["str"] || of == m.types["int"] || of == m.types["float"]):
			e.mixin = of
		default:
			panic(raise("TypeError", "a class is an enumeration here; its bases are str, int or float, and Enum, IntEnum or StrEnum"))
		}
	}
	switch c.base {
	case nil:
		panic(raise("TypeError", "a class is an enumeration here; derive it from Enum"))
	case intEnum:
		e.mixin, e.transparent = m.types["int"], true
	case strEnum:
		e.mixin, e.transparent, e.lower = m.types["str"], true, true
	}
	inner := newFrame(len(s.Scope.Names), f)
	m.block(inner, s.Body)
	for slot, name := range s.Scope.Names {
		value := inner.vars[slot]
		if value == absent || strings.HasPrefix(name, "_") && strings.HasSuffix(name, "_") {
			continue
		}
		m.addMember(c, name, value)
	}
	return c
}

// addMember adds a member, or another name of the member with that value.
func (m *machine) addMember(c *class, name string, value any) {
	e := c.enum
	m.allocItems(4)
	if value == auto {
		value = m.nextValue(e, name)
	}
	if e.mixin != nil && m.classFor(value) != e.mixin {
		panic(raise("TypeError", "the members of %s are of type %s, not %s", c.name, e.mixin.name, typeName(value)))
	}
	added := e.withValue(m, value)
	if added == nil {
		added = &member{c, name, value}
		e.members = append(e.members, added)
	}
	e.names = append(e.names, name)
	e.aliases[name] = added
}

// nextValue is the value of auto(): the name in lower case, or one more than the highest so far.
func (m *machine) nextValue(e *enumeration, name string) any {
	if e.lower {
		return strings.ToLower(name)
	}
	highest := any(0)
	for _, other := range e.members {
		if _, _, isInt := integer(other.value); isInt && m.less(">", other.value, highest, 0) {
			highest = other.value
		}
	}
	return m.binary("+", highest, 1)
}

// withValue returns the member with a value, nil if there is none.
func (e *enumeration) withValue(m *machine, value any) *member {
	for _, member := range e.members {
		if m.equal(member.value, value, 0) {
			return member
		}
	}
	return nil
}

// enumMember returns the member with a value: it is the constructor of enumerations.
func enumMember(a *arguments) any {
	c, ok := a.self.(*class)
	if !ok {
		panic(raise("TypeError", "no enumeration"))
	}
	value := a.bind(1, "value")[0]
	if e, ok := value.(*member); ok && e.class == c {
		return e
	}
	if found := c.enum.withValue(a.machine, value); found != nil {
		return found
	}
	panic(raise("ValueError", "%s is not a valid %s", a.repr(value), c.name))
}

func (e *enumeration) items() []any {
	items := make([]any, len(e.members))
	for i, member := range e.members {
		items[i] = member
	}
	return items
}

// attribute returns a member, or all by name.
func (e *enumeration) attribute(name string) (any, error) {
	if member := e.aliases[name]; member != nil {
		return member, nil
	}
	if name != "__members__" {
		return nil, raise("AttributeError", "%s", name)
	}
	d := &dict{}
	for _, name := range e.names {
		d.put(name, name, e.aliases[name])
	}
	return d, nil
}

// named returns the member with a name.
func (e *enumeration) named(name any) any {
	if text, ok := name.(string); ok && e.aliases[text] != nil {
		return e.aliases[text]
	}
	panic(raiseValue("KeyError", name))
}

// contains reports whether a value is a member of the class.
func (e *enumeration) contains(v any, c *class) bool {
	if of, ok := v.(*member); ok {
		return of.class == c
	}
	panic(raise("TypeError", "unsupported operand type(s) for 'in': '%s' and 'EnumType'", typeName(v)))
}

func (e *member) kind() *class { return e.class }

func (e *member) attribute(_ *machine, name string) any {
	switch name {
	case "name", "_name_":
		return e.name
	case "value", "_value_":
		return e.value
	}
	return absent
}

func (e *member) repr(m *machine) string {
	return "<" + e.class.name + "." + e.name + ": " + m.repr(e.value) + ">"
}

func (e *member) str(m *machine) string {
	if e.class.enum.transparent {
		return m.str(e.value)
	}
	return e.class.name + "." + e.name
}

// formatted returns the value that format formats.
func (e *member) formatted(m *machine) any {
	if e.class.enum.transparent {
		return e.value
	}
	return e.str(m)
}

// toParam converts an argument to the hint of its parameter.
func (m *machine) toParam(f *syntax.Function, name string, v any) any {
	for i := range f.Params {
		if f.Params[i].Name == name && f.Params[i].Hint != nil {
			return m.toHint(f.Params[i].Hint, v)
		}
	}
	return v
}

// toHint converts a value to the member of the enumeration that a hint names, also in a list, a
// dict or a union. It returns other values unchanged.
func (m *machine) toHint(hint syntax.Expr, v any) any {
	switch hint := hint.(type) {
	case *syntax.Name:
		if c := m.enumerationOf(hint); c != nil {
			if found := c.enum.withValue(m, v); found != nil {
				return found
			}
		}
	case *syntax.Binary:
		return m.toHint(hint.Y, m.toHint(hint.X, v))
	case *syntax.Subscript:
		return m.toParts(hint, v)
	}
	return v
}

// toParts is toHint for a union or a container.
func (m *machine) toParts(hint *syntax.Subscript, v any) any {
	parts := []syntax.Expr{hint.Index}
	if several, ok := hint.Index.(*syntax.Sequence); ok {
		parts = several.Items
	}
	switch v := v.(type) {
	case *list:
		if len(parts) == 1 && !isUnion(hint) {
			for i := range v.items {
				v.items[i] = m.toHint(parts[0], v.items[i])
			}
			return v
		}
	case *dict:
		if len(parts) == 2 && !isUnion(hint) {
			for i := range v.entries {
				v.entries[i].value = m.toHint(parts[1], v.entries[i].value)
			}
			return v
		}
	}
	if !isUnion(hint) {
		return v
	}
	for _, part := range parts {
		v = m.toHint(part, v)
	}
	return v
}

func isUnion(hint *syntax.Subscript) bool {
	name := ""
	switch x := hint.X.(type) {
	case *syntax.Name:
		name = x.ID
	case *syntax.Attribute:
		name = x.Name
	}
	return name == "Optional" || name == "Union"
}

// enumerationOf returns the enumeration of the file with a name, nil if it is none.
func (m *machine) enumerationOf(name *syntax.Name) *class {
	if name.Binding != syntax.BindingGlobal || name.Slot >= len(m.module.vars) {
		return nil
	}
	if c, ok := m.module.vars[name.Slot].(*class); ok && c.enum != nil {
		return c
	}
	return nil
}

// Choices returns the values of the members of an enumeration of the file that a hint names.
func (p *Program) Choices(hint syntax.Expr) (values []python.Value, ok bool) {
	name, isName := hint.(*syntax.Name)
	if !isName {
		return nil, false
	}
	m := p.machine(context.Background(), nil)
	c := m.enumerationOf(name)
	if c == nil {
		return nil, false
	}
	for _, member := range c.enum.members {
		values = append(values, python.ValueOf(member.value))
	}
	return slices.Clip(values), len(values) > 0
}

// MemberNames returns the names of an enumeration of the file, nil if a name is none.
func (p *Program) MemberNames(name *syntax.Name) (names []string) {
	if !p.enums {
		return nil
	}
	if c := p.machine(context.Background(), nil).enumerationOf(name); c != nil {
		names = slices.Sorted(maps.Keys(c.enum.aliases))
	}
	return names
}

// Member returns the value of an expression such as Color.RED, a member of an enumeration of the
// file.
func (p *Program) Member(x syntax.Expr) (value python.Value, ok bool) {
	attribute, isAttribute := x.(*syntax.Attribute)
	if !isAttribute {
		return value, false
	}
	name, isName := attribute.X.(*syntax.Name)
	if !isName {
		return value, false
	}
	c := p.machine(context.Background(), nil).enumerationOf(name)
	if c == nil || c.enum.aliases[attribute.Name] == nil {
		return value, false
	}
	return python.ValueOf(c.enum.aliases[attribute.Name].value), true
}
