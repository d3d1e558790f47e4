package source

import (
	"slices"

	"go.starlark.net/starlark"
)

// class is a type of Python: a value that can be called and compared with what type() returns.
type class struct {
	name string
	new  function
}

func (c *class) String() string        { return "<class '" + c.name + "'>" }
func (c *class) Type() string          { return "type" }
func (c *class) Freeze()               {}
func (c *class) Truth() starlark.Bool  { return true }
func (c *class) Hash() (uint32, error) { return starlark.String(c.name).Hash() }
func (c *class) Name() string          { return c.name }

// CallInternal makes an object of the type.
func (c *class) CallInternal(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if c.new == nil {
		return nil, raisef("TypeError", "cannot create '%s' instances", c.name)
	}
	return c.new(arguments{name: c.name, positional: args, keyword: kwargs})
}

// function is a builtin.
type function func(arguments) (starlark.Value, error)

// arguments are those of a call of a builtin.
type arguments struct {
	name       string
	positional starlark.Tuple
	keyword    []starlark.Tuple
}

// bind assigns the arguments to parameters; those that were not given are nil. The first required ones must be given.
func (a arguments) bind(required int, params ...string) ([]starlark.Value, error) {
	bound := make([]starlark.Value, len(params))
	if given := len(a.positional); required == 1 && len(params) == 1 && given != 1 && len(a.keyword) == 0 {
		return nil, raisef("TypeError", "%s() takes exactly one argument (%d given)", a.name, given)
	}
	if len(a.positional) > len(params) {
		return nil, raisef("TypeError", "%s() takes at most %d arguments (%d given)", a.name, len(params), len(a.positional))
	}
	copy(bound, a.positional)
	for _, pair := range a.keyword {
		name, _ := starlark.AsString(pair[0])
		i := slices.Index(params, name)
		if i < 0 {
			return nil, raisef("TypeError", "%s() got an unexpected keyword argument '%s'", a.name, name)
		}
		if bound[i] != nil {
			return nil, raisef("TypeError", "%s() got multiple values for argument '%s'", a.name, name)
		}
		bound[i] = pair[1]
	}
	for i := range required {
		if bound[i] == nil {
			return nil, raisef("TypeError", "%s() missing required argument '%s' (pos %d)", a.name, params[i], i+1)
		}
	}
	return bound, nil
}

// text returns an argument that must be a text; an empty one if it was not given.
func (a arguments) text(v starlark.Value) (string, error) {
	if v == nil {
		return "", nil
	}
	text, ok := v.(starlark.String)
	if !ok {
		return "", raisef("TypeError", "%s() argument must be str, not %s", a.name, typeName(v))
	}
	return string(text), nil
}

// wrap makes a value of a builtin.
func wrap(name string, f function) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return f(arguments{name: name, positional: args, keyword: kwargs})
	})
}

// builtin returns what a name means in every program; nil if it means nothing.
func (r *run) builtin(name string) starlark.Value {
	switch name {
	case "None", "#none":
		return starlark.None
	case "True":
		return starlark.True
	case "False":
		return starlark.False
	case "__name__":
		return starlark.String("__console__")
	case jsonModule:
		return &module{name: jsonModule, members: map[string]function{"dumps": r.dumps, "loads": r.loads}}
	}
	if c := r.class(name); c != nil {
		return c
	}
	if name[0] == '#' {
		return r.hidden(name)
	}
	if f := r.function(name); f != nil {
		return wrap(name, f)
	}
	return nil
}

// class returns the type of a name, always the same one in a run.
func (r *run) class(name string) *class {
	if r.classes == nil {
		r.classes = make(map[string]*class)
		for _, c := range []*class{
			{"str", r.newStr}, {"int", r.newInt}, {"float", r.newFloat}, {"bool", newBool}, {"list", r.newList},
			{"dict", r.newDict}, {"tuple", r.newTuple}, {"type", r.typeOf},
		} {
			r.classes[c.name] = c
		}
	}
	return r.classes[name]
}

// typeOf returns type(x).
func (r *run) typeOf(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "object")
	if err != nil {
		return nil, err
	}
	name := typeName(args[0])
	if c := r.class(name); c != nil {
		return c, nil
	}
	r.classes[name] = &class{name: name} // no name that a program can write without having the value
	return r.classes[name], nil
}

// function returns the builtin function of a name.
func (r *run) function(name string) function {
	switch name {
	case "print":
		return r.print
	case "repr", "ascii":
		return r.reprOf
	case "len":
		return r.length
	case "range":
		return r.newRange
	case "sorted":
		return r.sorted
	case "reversed":
		return r.reversed
	case "min", "max":
		return r.extreme
	case "sum":
		return r.sum
	case "abs":
		return r.abs
	case "round":
		return r.round
	case "any", "all":
		return r.anyAll
	case "enumerate":
		return r.enumerate
	case "zip":
		return r.zip
	case "map", "filter":
		return r.mapFilter
	case "isinstance":
		return r.isInstance
	case "format":
		return r.formatOf
	case "next":
		return r.advance
	default:
		return nil
	}
}

// word returns the text at a place, which the rewriter put there.
func (a arguments) word(i int) string {
	text, _ := starlark.AsString(a.positional[i])
	return text
}

// hidden returns a builtin that the rewriter puts in place of an operator or of another part of the syntax.
func (r *run) hidden(name string) starlark.Value {
	operator := name[1:]
	if f := r.syntax(operator); f != nil {
		return wrap(name, f)
	}
	return wrap(name, func(a arguments) (starlark.Value, error) {
		switch operator {
		case "==", "!=", "<", "<=", ">", ">=", "in", "not in", "is":
			holds, err := r.compare(operator, a.positional)
			return starlark.Bool(holds), err
		default:
			return r.binary(operator, a.positional[0], a.positional[1])
		}
	})
}

// syntax returns what does the work of a part of the syntax that is no operator between two values.
func (r *run) syntax(name string) function {
	switch name {
	case "unary":
		return func(a arguments) (starlark.Value, error) { return r.unary(a.word(1), a.positional[0]) }
	case "power":
		return func(a arguments) (starlark.Value, error) { return r.power(a.positional[0], a.positional[1]) }
	case "augment":
		return func(a arguments) (starlark.Value, error) {
			return r.augment(a.positional[0], a.positional[1], a.word(2))
		}
	case "setitem":
		return func(a arguments) (starlark.Value, error) {
			return starlark.None, r.setItem(a.positional[0], a.positional[1], a.positional[2], a.word(3))
		}
	case "item":
		return func(a arguments) (starlark.Value, error) { return r.item(a.positional[0], a.positional[1]) }
	case "slice":
		return func(a arguments) (starlark.Value, error) {
			return r.slice(a.positional[0], a.positional[1], a.positional[2], a.positional[3])
		}
	case "attribute":
		return func(a arguments) (starlark.Value, error) { return r.attribute(a.positional[0], a.word(1)) }
	case "iter":
		return func(a arguments) (starlark.Value, error) { return r.iter(a.positional[0]) }
	case "unpack":
		return func(a arguments) (starlark.Value, error) { return r.unpack(a.positional[0]) }
	case "key":
		return func(a arguments) (starlark.Value, error) { return r.key(a.positional[0]) }
	case "generator":
		return r.newGenerator
	case "more":
		return r.newList
	case "dict":
		return r.dictOf
	case "tuple":
		return r.newTuple
	case "concatenate":
		return r.concatenation
	case "join":
		return r.joinParts
	case "field":
		return r.field
	case "missing":
		return func(a arguments) (starlark.Value, error) {
			return nil, raisef("ModuleNotFoundError", "No module named '%s'", a.word(0))
		}
	default:
		return nil
	}
}

// compare returns x operator y.
func (r *run) compare(operator string, args starlark.Tuple) (bool, error) {
	x, y := args[0], args[1]
	switch operator {
	case "==":
		return r.equal(x, y, 0)
	case "!=":
		equal, err := r.equal(x, y, 0)
		return !equal, err
	case "in":
		return r.contains(x, y)
	case "not in":
		inside, err := r.contains(x, y)
		return !inside, err
	case "is": // of texts and numbers, whether they are equal and of one type
		_, isText := x.(starlark.String)
		_, isNumber := x.(starlark.Int)
		identical := same(x, y)
		if isText || isNumber {
			equal, err := r.equal(x, y, 0)
			if err != nil {
				return false, err
			}
			identical = equal && typeName(x) == typeName(y)
		}
		return identical == (args[2] == starlark.String("==")), nil
	default:
		return r.less(operator, x, y, 0)
	}
}

// unary returns operator x.
func (r *run) unary(operator string, x starlark.Value) (starlark.Value, error) {
	i, f, isFloat, ok := number(x)
	switch {
	case !ok || isFloat && operator == "~":
		return nil, raisef("TypeError", "bad operand type for unary %s: '%s'", operator, typeName(x))
	case isFloat && operator == "-":
		return starlark.Float(-f), nil
	case isFloat:
		return x, nil
	case operator == "-":
		return starlark.MakeInt(0).Sub(i), nil
	case operator == "~":
		return starlark.MakeInt(-1).Sub(i), nil
	default:
		return i, nil
	}
}

// dictOf returns the dict of keys and values in turn.
func (r *run) dictOf(a arguments) (starlark.Value, error) {
	items, err := r.items(a.positional[0])
	if err != nil {
		return nil, err
	}
	dict := starlark.NewDict(len(items) / 2)
	for i := 0; i < len(items); i += 2 {
		key, err := r.key(items[i])
		if err != nil {
			return nil, err
		}
		if err := r.set(dict, key, items[i+1]); err != nil {
			return nil, err
		}
	}
	return dict, nil
}

// concatenation puts the pieces of a long list together.
func (r *run) concatenation(a arguments) (starlark.Value, error) {
	var items []starlark.Value
	for _, piece := range a.positional {
		more, err := r.items(piece)
		if err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	return starlark.NewList(items), nil
}
