package interp

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// builtin returns the value of a name that a program has not assigned.
func (m *machine) builtin(name string) (any, bool) {
	if v, ok := m.names[name]; ok {
		return v, true
	}
	if v, ok := m.library[name]; ok {
		return v, true
	}
	if m.host != nil && m.host.Callable(name) {
		return &tool{name}, true
	}
	return nil, false
}

// splitNames returns functions by name. A key of its argument may hold several names.
func splitNames(functions map[string]native) map[string]native {
	all := make(map[string]native)
	for names, f := range functions {
		for name := range strings.FieldsSeq(names) {
			all[name] = f
		}
	}
	return all
}

// builtins holds the builtin functions, types and constants by name.
var builtins = newBuiltins()

func newBuiltins() map[string]any {
	all := map[string]any{"__name__": "__console__", "__debug__": true, "Ellipsis": syntax.Ellipsis, "object": types["object"]}
	for name, c := range exceptionTree {
		if !strings.Contains(name, ".") {
			all[name] = c
		}
	}
	for name, c := range types {
		if c.construct != nil {
			all[name] = c
		}
	}
	for name, f := range splitNames(map[string]native{
		"print": printOf, "repr": reprOf, "ascii": asciiOf, "len": lenOf, "sorted": sortedOf, "min": minOf, "max": maxOf, "sum": sumOf,
		"abs": absOf, "round": roundOf, "any": anyOf, "all": allOf, "isinstance": isInstance, "issubclass": isSubclass, "format": formatOf,
		"next": nextOf, "iter": iterOf, "divmod": divmodOf, "pow": powOf, "chr": chrOf, "ord": ordOf, "hex oct bin": hexOctBinOf,
		"callable": callableOf, "getattr": getattrOf, "hasattr": hasattrOf,
	}) {
		all[name] = &builtin{name: name, call: f}
	}
	return all
}

// types holds the types by name. A program can name object and the types with a constructor.
var types = newTypes()

func newTypes() map[string]*class {
	all := make(map[string]*class)
	for _, name := range []string{
		"object", "NoneType", "function", "module", "builtin_function_or_method", "generator", "ellipsis", "slice", "dict_keys", "dict_values",
		"dict_items", "list_iterator", "tuple_iterator", "range_iterator", "str_iterator", "set_iterator", "dict_keyiterator", "dict_valueiterator",
		"dict_itemiterator", "list_reverseiterator",
	} {
		all[name] = &class{name: name}
	}
	for name, construct := range map[string]native{
		"str": newStr, "int": newInt, "float": newFloat, "bool": newBool, "list": newList, "dict": newDict, "tuple": newTuple, "set": newSet,
		"frozenset": newFrozenSet, "range": newRange, "type": typeOf, "zip": newZip, "map": newMap, "filter": newFilter,
		"enumerate": newEnumerate, "reversed": newReversed,
	} {
		all[name] = &class{name: name, construct: construct}
	}
	all["bool"].base = all["int"]
	for name, methods := range map[string]map[string]native{
		"str": {
			"join": strJoin, "format": strFormat, "format_map": strFormatMap, "replace": strReplace, "find rfind index rindex count": strFind,
			"startswith endswith": strStartsEndsWith, "zfill ljust rjust center": strPad, "split rsplit": strSplit, "splitlines": strSplitLines,
			"partition rpartition": strPartition, "strip lstrip rstrip": strStrip, "removeprefix removesuffix": strRemove,
			"upper lower casefold swapcase capitalize title": strCase, "expandtabs": strExpandTabs,
			"isnumeric isdecimal isdigit isalpha isalnum isspace islower isupper istitle isascii isidentifier isprintable": strIs,
		},
		"tuple": {"index": indexOf, "count": countOf},
		"list": {
			"index": indexOf, "count": countOf, "append": listAppend, "extend": listExtend, "insert": listInsert, "pop": listPop,
			"remove": listRemove, "clear reverse copy": listNoArgument, "sort": listSort,
		},
		"dict": {"get pop setdefault": dictAccess, "keys values items": dictView, "clear copy popitem": dictNoArgument, "update": dictUpdate},
		"set": {
			"union intersection difference symmetric_difference copy": setCombine, "issubset issuperset isdisjoint": setRelation,
			"add discard remove": setItem, "clear pop": setNoArgument,
			"update intersection_update difference_update symmetric_difference_update": setUpdate,
		},
		"frozenset": {"union intersection difference symmetric_difference copy": setCombine, "issubset issuperset isdisjoint": setRelation},
		"float":     {"is_integer": isInteger},
		"int":       {"bit_length": bitLength},
	} {
		all[name].methods = splitNames(methods)
	}
	return all
}

// constructor returns the constructor of a type, nil if a program cannot create instances.
func (c *class) constructor() native {
	if c.isSubclass(exceptionClass("BaseException")) {
		return newException
	}
	return c.construct
}

// method returns a method of a type or its bases, nil if it is missing.
func (c *class) method(name string) native {
	for ; c != nil; c = c.base {
		if f := c.methods[name]; f != nil {
			return f
		}
		if c.enum != nil {
			if f := c.enum.mixin.method(name); f != nil {
				return f
			}
		}
	}
	return nil
}

// typeOf is type(x).
func typeOf(a *arguments) any { return a.classFor(a.one()) }

func (m *machine) classFor(v any) *class {
	switch v := v.(type) {
	case *exception:
		return v.class
	case object:
		return v.kind()
	case *class:
		if v.enum != nil {
			return enumType
		}
	}
	if c := m.types[typeName(v)]; c != nil {
		return c
	}
	return m.types["object"]
}

// attribute returns x.name.
func (m *machine) attribute(x any, name string) (any, error) {
	c := m.classFor(x)
	if f := c.method(name); f != nil {
		return &builtin{name: name, self: plain(x), call: f}, nil
	}
	switch x := x.(type) {
	case object:
		if v := x.attribute(m, name); v != absent {
			return v, nil
		}
		if v, ok := c.attributes[name]; ok {
			return v, nil
		}
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
		return m.classAttribute(x, name)
	case *function:
		switch {
		case name == "__name__":
			return x.code.Name, nil
		case name == "__doc__" && x.code.Doc == "":
			return nil, nil
		case name == "__doc__":
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
	case *rangeValue:
		if i := slices.Index([]string{"start", "stop", "step"}, name); i >= 0 {
			return []int{x.start, x.stop, x.step}[i], nil
		}
	}
	if name == "__class__" {
		return c, nil
	}
	return nil, raise("AttributeError", "'%s' object has no attribute '%s'", typeName(x), name)
}

// classAttribute returns an attribute of a type: its name, or a method without its object.
func (m *machine) classAttribute(c *class, name string) (any, error) {
	switch f := c.method(name); {
	case name == "__name__" || name == "__qualname__":
		return c.short(), nil
	case c == m.types["dict"] && name == "fromkeys":
		return &builtin{name: name, call: fromKeys}, nil
	case f != nil:
		return &builtin{name: name, call: unbound(c, name, f)}, nil
	case c.enum != nil:
		return c.enum.attribute(name)
	}
	for of := c; of != nil; of = of.base {
		if v, ok := of.attributes[name]; ok {
			return v, nil
		}
	}
	return nil, raise("AttributeError", "type object '%s' has no attribute '%s'", c.short(), name)
}

// unbound converts a method to a function whose first argument is the object.
func unbound(c *class, name string, f native) native {
	return func(a *arguments) any {
		if len(a.positional) == 0 {
			panic(raise("TypeError", "unbound method %s.%s() needs an argument", c.name, name))
		}
		if !a.classFor(a.positional[0]).isSubclass(c) {
			panic(raise("TypeError", "descriptor '%s' for '%s' objects doesn't apply to a '%s' object", name, c.name, typeName(a.positional[0])))
		}
		return f(&arguments{a.machine, name, plain(a.positional[0]), a.positional[1:], a.named})
	}
}

func getattrOf(a *arguments) any {
	args := a.positionalOnly(2, 3)
	name := requireString(args[1], "getattr(): attribute name must be string")
	v, missing := a.attribute(args[0], name)
	switch {
	case missing == nil:
		return v
	case args[2] != absent:
		refuseSpecial(a.name, name)
		return args[2]
	}
	panic(missing)
}

// refuseSpecial panics for a special name such as __len__, which values lack here although Python's
// have it: a program must not take that for an answer.
func refuseSpecial(function, name string) {
	if len(name) > 4 && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") {
		panic(raise("TypeError", "%s() knows no special names such as %s here; ask with isinstance() or callable()", function, name))
	}
}

func hasattrOf(a *arguments) any {
	args := a.positionalOnly(2, 2)
	name := requireString(args[1], "hasattr(): attribute name must be string")
	_, missing := a.attribute(args[0], name)
	if missing != nil {
		refuseSpecial(a.name, name)
	}
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

// instanceOf reports whether a class derives from a class, or from one of a tuple of classes.
func (a *arguments) instanceOf(c *class, kind any, depth int) bool {
	switch kind := kind.(type) {
	case *class:
		return kind == a.types["object"] || c.isSubclass(kind)
	case *tuple:
		if depth > 0 && len(kind.items) > 100 || depth > 10 {
			panic(tooDeep())
		}
		return slices.ContainsFunc(kind.items, func(one any) bool { return a.instanceOf(c, one, depth+1) })
	}
	if a.name == "issubclass" {
		panic(raise("TypeError", "issubclass() arg 2 must be a class or tuple of classes"))
	}
	panic(raise("TypeError", "isinstance() arg 2 must be a type or tuple of types"))
}

func isInstance(a *arguments) any {
	args := a.positionalOnly(2, 2)
	return a.instanceOf(a.classFor(args[0]), args[1], 0)
}

func isSubclass(a *arguments) any {
	args := a.positionalOnly(2, 2)
	c, ok := args[0].(*class)
	if !ok {
		panic(raise("TypeError", "issubclass() arg 1 must be a class"))
	}
	return a.instanceOf(c, args[1], 0)
}
