package interp

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
)

// builtin returns what a name means in every program.
func (m *machine) builtin(name string) (any, bool) {
	if c := classOf(name); c != nil {
		return c, true
	}
	if f := builtinFunction(name); f != nil {
		return &builtin{name: name, call: f}, true
	}
	if c := exceptionClass(name); c != nil && !strings.Contains(name, ".") {
		return c, true
	}
	switch name {
	case "__name__":
		return "__console__", true
	case "Ellipsis":
		return syntax.Ellipsis, true
	case "__debug__":
		return true, true
	}
	if v, ok := m.given[name]; ok {
		return v, true
	}
	if m.host != nil && m.host.Callable(name) {
		return &tool{name}, true
	}
	return nil, false
}

// types is the types that have a name.
var types = newTypes()

func newTypes() map[string]*class {
	all := make(map[string]*class)
	for _, name := range []string{
		"str", "int", "float", "bool", "list", "dict", "tuple", "set", "frozenset", "range", "type", "object", "zip", "map", "filter", "enumerate",
		"reversed", "NoneType", "function", "module", "builtin_function_or_method", "generator", "ellipsis", "slice", "dict_keys", "dict_values",
		"dict_items", "list_iterator", "tuple_iterator", "range_iterator", "str_iterator", "set_iterator", "dict_keyiterator", "dict_valueiterator",
		"dict_itemiterator", "list_reverseiterator",
	} {
		all[name] = &class{name: name}
	}
	all["bool"].base = all["int"]
	return all
}

// constructor returns what makes an object of a type, nil if a program cannot.
func (c *class) constructor() native {
	if c.within(exceptionClass("BaseException")) {
		return newException
	}
	switch c.name {
	case "str":
		return newStr
	case "int":
		return newInt
	case "float":
		return newFloat
	case "bool":
		return newBool
	case "list":
		return newList
	case "dict":
		return newDict
	case "tuple":
		return newTuple
	case "set":
		return newSet
	case "frozenset":
		return newFrozenSet
	case "range":
		return newRange
	case "type":
		return typeOf
	case "zip":
		return newZip
	case "map":
		return newMap
	case "filter":
		return newFilter
	case "enumerate":
		return newEnumerate
	case "reversed":
		return newReversed
	default:
		return nil
	}
}

// classOf returns the type that a program can name so.
func classOf(name string) *class {
	switch name {
	case "str", "int", "float", "bool", "list", "dict", "tuple", "set", "frozenset", "range", "type", "object", "zip", "map", "filter", "enumerate", "reversed":
		return types[name]
	default:
		return nil
	}
}

// typeOf is type(x).
func typeOf(a *arguments) any {
	return classFor(a.one())
}

func classFor(v any) *class {
	if e, ok := v.(*exception); ok {
		return e.class
	}
	if c := types[typeName(v)]; c != nil {
		return c
	}
	return types["object"]
}

// builtinFunction returns the builtin function of a name.
func builtinFunction(name string) native {
	switch name {
	case "print":
		return printOf
	case "repr":
		return reprOf
	case "ascii":
		return asciiOf
	case "len":
		return lenOf
	case "sorted":
		return sortedOf
	case "min":
		return minOf
	case "max":
		return maxOf
	case "sum":
		return sumOf
	case "abs":
		return absOf
	case "round":
		return roundOf
	case "any":
		return anyOf
	case "all":
		return allOf
	case "isinstance":
		return isInstance
	case "issubclass":
		return isSubclass
	case "format":
		return formatOf
	case "next":
		return nextOf
	case "iter":
		return iterOf
	case "divmod":
		return divmodOf
	case "pow":
		return powOf
	case "chr":
		return chrOf
	case "ord":
		return ordOf
	case "hex", "oct", "bin":
		return basedOf
	case "callable":
		return callableOf
	case "getattr":
		return getattrOf
	case "hasattr":
		return hasattrOf
	default:
		return nil
	}
}

// attribute returns x.name.
func attribute(x any, name string) (any, error) {
	var f native
	switch x := x.(type) {
	case string:
		f = strMethod(name)
	case *list:
		f = listMethod(name)
	case *tuple:
		f = tupleMethod(name)
	case *dict:
		f = dictMethod(name)
	case *set:
		f = setMethod(name, x.frozen)
	case bool, int, float64:
		f = numberMethod(name, x)
	case *module:
		if v, ok := x.members[name]; ok {
			return v, nil
		}
		return nil, raise("AttributeError", "module '%s' has no attribute '%s'", x.name, name)
	case *exception:
		if v := exceptionAttribute(x, name); v != nil {
			return v, nil
		}
	case *class:
		return classAttribute(x, name)
	case *function:
		switch name {
		case "__name__":
			return x.code.Name, nil
		case "__doc__":
			if x.code.Doc == "" {
				return nil, nil
			}
			return x.code.Doc, nil
		}
	case *builtin:
		if name == "__name__" {
			return x.name, nil
		}
	case *tool:
		if name == "__name__" {
			return x.name, nil
		}
	case *span:
		if i := slices.Index([]string{"start", "stop", "step"}, name); i >= 0 {
			return []int{x.start, x.stop, x.step}[i], nil
		}
	}
	switch {
	case f != nil:
		return &builtin{name: name, self: x, call: f}, nil
	case name == "__class__":
		return classFor(x), nil
	}
	return nil, raise("AttributeError", "'%s' object has no attribute '%s'", typeName(x), name)
}

// classAttribute returns an attribute of a type: its name, or a method without its object.
func classAttribute(c *class, name string) (any, error) {
	if name == "__name__" || name == "__qualname__" {
		return c.short(), nil
	}
	if c == types["dict"] && name == "fromkeys" {
		return &builtin{name: name, call: fromKeys}, nil
	}
	methods := map[string]func(string) native{"str": strMethod, "list": listMethod, "dict": dictMethod, "tuple": tupleMethod,
		"set": func(name string) native { return setMethod(name, false) }}
	if of, ok := methods[c.name]; ok {
		if f := of(name); f != nil {
			return &builtin{name: name, call: unbound(c, name, f)}, nil
		}
	}
	return nil, raise("AttributeError", "type object '%s' has no attribute '%s'", c.short(), name)
}

// unbound makes a function of a method whose first argument is the object.
func unbound(c *class, name string, f native) native {
	return func(a *arguments) any {
		if len(a.positional) == 0 {
			panic(raise("TypeError", "unbound method %s.%s() needs an argument", c.name, name))
		}
		if !classFor(a.positional[0]).within(c) {
			panic(raise("TypeError", "descriptor '%s' for '%s' objects doesn't apply to a '%s' object", name, c.name, typeName(a.positional[0])))
		}
		return f(&arguments{a.machine, name, a.positional[0], a.positional[1:], a.named})
	}
}

func getattrOf(a *arguments) any {
	args := a.positionalOnly(2, 3)
	name, ok := args[1].(string)
	if !ok {
		panic(raise("TypeError", "getattr(): attribute name must be string"))
	}
	v, missing := attribute(args[0], name)
	switch {
	case missing == nil:
		return v
	case args[2] != absent:
		return args[2]
	}
	panic(missing)
}

func hasattrOf(a *arguments) any {
	args := a.positionalOnly(2, 2)
	name, ok := args[1].(string)
	if !ok {
		panic(raise("TypeError", "hasattr(): attribute name must be string"))
	}
	_, missing := attribute(args[0], name)
	return missing == nil
}

func callableOf(a *arguments) any {
	v := a.one()
	switch v.(type) {
	case *function, *builtin, *class, *tool:
		return true
	default:
		return false
	}
}

// instanceOf says whether a class is a kind, or one of a tuple of kinds.
func instanceOf(c *class, kind any, function string, depth int) bool {
	switch kind := kind.(type) {
	case *class:
		return kind == types["object"] || c.within(kind)
	case *tuple:
		if depth > 0 && len(kind.items) > 100 || depth > 10 {
			panic(tooDeep())
		}
		for _, one := range kind.items {
			if instanceOf(c, one, function, depth+1) {
				return true
			}
		}
		return false
	}
	if function == "issubclass" {
		panic(raise("TypeError", "issubclass() arg 2 must be a class or tuple of classes"))
	}
	panic(raise("TypeError", "isinstance() arg 2 must be a type or tuple of types"))
}

func isInstance(a *arguments) any {
	args := a.positionalOnly(2, 2)
	return instanceOf(classFor(args[0]), args[1], a.name, 0)
}

func isSubclass(a *arguments) any {
	args := a.positionalOnly(2, 2)
	c, ok := args[0].(*class)
	if !ok {
		panic(raise("TypeError", "issubclass() arg 1 must be a class"))
	}
	return instanceOf(c, args[1], a.name, 0)
}
