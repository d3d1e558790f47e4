package interp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

type namedArgument struct {
	name  string
	value any
}

func (m *machine) evalCall(f *frame, x *syntax.Call) any {
	fn := m.eval(f, x.Func)
	positional := make([]any, 0, len(x.Args))
	var named []namedArgument
	for i := range x.Args {
		arg := &x.Args[i]
		v := m.eval(f, arg.X)
		switch {
		case arg.Name != "":
			if named == nil {
				named = make([]namedArgument, 0, len(x.Args)-i)
			}
			named = addKeyword(named, fn, arg.Name, v)
		case arg.Stars == 1:
			if !iterable(v) {
				panic(raise("TypeError", "%s argument after * must be an iterable, not %s", callableName(fn), typeName(v)))
			}
			positional = m.collect(positional, v)
		case arg.Stars == 2:
			named = m.addKeywords(named, fn, v)
		default:
			positional = append(positional, v)
		}
	}
	return m.call(fn, positional, named)
}

// callableName returns the name of a callable for messages about its arguments.
func callableName(fn any) string {
	switch fn := fn.(type) {
	case *function:
		return "__console__." + fn.code.Name + "()"
	case *builtin:
		if fn.self != nil {
			return typeName(fn.self) + "." + fn.name + "()"
		}
		return fn.name + "()"
	case *tool:
		return fn.name + "()"
	case *class:
		return fn.name + "()"
	default:
		return typeName(fn) + " object"
	}
}

func addKeyword(named []namedArgument, fn any, name string, v any) []namedArgument {
	if slices.ContainsFunc(named, func(k namedArgument) bool { return k.name == name }) {
		panic(raise("TypeError", "%s got multiple values for keyword argument '%s'", callableName(fn), name))
	}
	return append(named, namedArgument{name, v})
}

func (m *machine) addKeywords(named []namedArgument, fn, v any) []namedArgument {
	d, ok := v.(*dict)
	if !ok {
		panic(raise("TypeError", "%s argument after ** must be a mapping, not %s", callableName(fn), typeName(v)))
	}
	m.allocItems(d.live)
	for _, e := range d.all() {
		name := requireString(e.key, "keywords must be strings")
		m.chargeSteps(len(named) / 8)
		named = addKeyword(named, fn, name, e.value)
	}
	return named
}

// call calls a function, a type or a tool.
func (m *machine) call(fn any, positional []any, named []namedArgument) any {
	switch fn := fn.(type) {
	case *function:
		return m.callFunction(fn, positional, named)
	case *builtin:
		return m.callNative(fn.call, &arguments{m, fn.name, fn.self, positional, named})
	case *class:
		if construct := fn.constructor(); construct != nil {
			return m.callNative(construct, &arguments{m, fn.name, fn, positional, named})
		}
		panic(raise("TypeError", "cannot create '%s' instances", fn.name))
	case *tool:
		return m.callTool(fn.name, positional, named)
	default:
		panic(raise("TypeError", "'%s' object is not callable", typeName(fn)))
	}
}

// callNative calls a builtin. It limits the depth of builtins that call each other.
func (m *machine) callNative(call native, a *arguments) any {
	if m.calls++; m.calls > limit.CallDepth {
		m.calls--
		panic(tooDeep())
	}
	v := call(a)
	m.calls--
	return v
}

func (m *machine) callFunction(fn *function, positional []any, named []namedArgument) any {
	code := fn.code
	n := len(code.Scope.Names)
	m.alloc(64 + 16*n)
	f := newFrame(n, fn.closure)
	m.bind(f, fn, positional, named)
	if m.calls >= limit.CallDepth || m.stack+code.Nesting > limit.StackDepth {
		panic(tooDeep())
	}
	m.calls++
	m.stack += code.Nesting
	calling := m.statement
	sig := m.block(f, code.Body)
	m.statement = calling
	m.calls--
	m.stack -= code.Nesting
	if sig != signalReturn {
		return nil
	}
	return f.result
}

// bind assigns the arguments of a call to the parameters' variables.
func (m *machine) bind(f *frame, fn *function, positional []any, named []namedArgument) {
	code := fn.code
	n := min(len(positional), code.Positional)
	copy(f.vars, positional[:n])
	if code.Args >= 0 {
		rest := slices.Clone(positional[n:])
		m.allocItems(len(rest))
		f.vars[code.Args] = &tuple{rest}
	}
	var more *dict
	if code.Kwargs >= 0 {
		more = &dict{}
		f.vars[code.Kwargs] = more
	}
	for _, k := range named {
		i := slices.IndexFunc(code.Params, func(p syntax.Param) bool { return p.Name == k.name })
		switch {
		case i >= code.PositionalOnly && f.vars[i] == absent:
			f.vars[i] = k.value
		case i >= code.PositionalOnly:
			panic(raise("TypeError", "%s() got multiple values for argument '%s'", code.Name, k.name))
		case more != nil:
			m.put(&more.table, k.name, k.value)
		case i >= 0:
			panic(raise("TypeError", "%s() got some positional-only arguments passed as keyword arguments: '%s'", code.Name, k.name))
		default:
			panic(raise("TypeError", "%s() got an unexpected keyword argument '%s'", code.Name, k.name))
		}
	}
	if len(positional) > code.Positional && code.Args < 0 {
		panic(tooMany(fn, len(positional)))
	}
	for i := range code.Params {
		if f.vars[i] == absent {
			f.vars[i] = fn.defaults[i]
		}
	}
	requireParameters(f, code)
}

func tooMany(fn *function, count int) error {
	code, minimum := fn.code, 0
	for i := range code.Positional {
		if code.Params[i].Default == nil {
			minimum++
		}
	}
	limits, plural, were := fmt.Sprint(code.Positional), "s", "were"
	if minimum < code.Positional {
		limits = fmt.Sprintf("from %d to %d", minimum, code.Positional)
	} else if minimum == 1 {
		plural = ""
	}
	if count == 1 {
		were = "was"
	}
	return raise("TypeError", "%s() takes %s positional argument%s but %d %s given", code.Name, limits, plural, count, were)
}

// requireParameters panics with the TypeError for parameters without a value.
func requireParameters(f *frame, code *syntax.Function) {
	for _, part := range []struct {
		low, high int
		what      string
	}{{0, code.Positional, "positional"}, {code.Positional, len(code.Params), "keyword-only"}} {
		var names []string
		for i := part.low; i < part.high; i++ {
			if f.vars[i] == absent {
				names = append(names, "'"+code.Params[i].Name+"'")
			}
		}
		n := len(names)
		if n == 0 {
			continue
		}
		text, plural := names[0], ""
		if n > 1 {
			text, plural = strings.Join(names[:n-1], ", ")+" and "+names[n-1], "s"
		}
		if n > 2 {
			text = strings.Join(names[:n-1], ", ") + ", and " + names[n-1]
		}
		panic(raise("TypeError", "%s() missing %d required %s argument%s: %s", code.Name, n, part.what, plural, text))
	}
}

// callTool calls a function of the host.
func (m *machine) callTool(name string, positional []any, named []namedArgument) any {
	m.chargeSteps(limit.CallSteps)
	if m.ctx.Err() != nil {
		m.step()
		return nil
	}
	values := make([]python.Value, len(positional))
	for i, arg := range positional {
		values[i] = m.toPython(arg, 0)
	}
	var keywords *python.Dict
	if len(named) > 0 {
		keywords = &python.Dict{}
		keywords.Grow(len(named))
	}
	for _, k := range named {
		if k.value != notGiven {
			keywords.Set(k.name, m.toPython(k.value, 0))
		}
	}
	result, err := m.host.Call(name, values, keywords)
	if err != nil {
		panic(m.hostException(err))
	}
	return m.fromPython(result)
}

// hostException converts an exception of the host to one that the program can catch. It returns
// other errors unchanged.
func (m *machine) hostException(err error) error {
	var failure *python.Exception
	if !errors.As(err, &failure) {
		return err
	}
	kind := exceptionClass(failure.Type)
	if kind == nil {
		kind = m.catchable[failure.Type]
	}
	if kind == nil {
		if kind = m.classes[failure.Type]; kind == nil {
			kind = &class{name: failure.Type, base: exceptionClass("Exception")}
			if m.classes == nil {
				m.classes = make(map[string]*class)
			}
			m.classes[failure.Type] = kind
		}
	}
	m.alloc(len(failure.Text))
	return &raised{&exception{class: kind, args: []any{failure.Text}, cause: err}}
}

// arguments are the arguments of a call of a builtin. self is the object of a method.
type arguments struct {
	*machine
	name       string
	self       any
	positional []any
	named      []namedArgument
}

// bind assigns the arguments to parameters. The first required parameters need an argument; other
// parameters without one are absent.
func (a *arguments) bind(required int, params ...string) []any {
	bound := newVars(len(params))
	count := len(a.positional)
	switch {
	case required == 1 && len(params) == 1 && count != 1 && len(a.named) == 0:
		panic(raise("TypeError", "%s() takes exactly one argument (%d given)", a.name, count))
	case len(params) == 0 && count+len(a.named) > 0:
		panic(raise("TypeError", "%s() takes no arguments (%d given)", a.name, count))
	case count > len(params) && required == len(params):
		panic(raise("TypeError", "%s() takes exactly %d arguments (%d given)", a.name, required, count))
	case count > len(params):
		plural := "s"
		if len(params) == 1 {
			plural = ""
		}
		panic(raise("TypeError", "%s() takes at most %d argument%s (%d given)", a.name, len(params), plural, count))
	}
	copy(bound, a.positional)
	for _, k := range a.named {
		i := slices.Index(params, k.name)
		if i < 0 {
			panic(raise("TypeError", "'%s' is an invalid keyword argument for %s()", k.name, a.name))
		}
		if bound[i] != absent {
			panic(raise("TypeError", "%s() got multiple values for argument '%s'", a.name, k.name))
		}
		bound[i] = k.value
	}
	for i := range required {
		if bound[i] == absent {
			if count == 0 && len(a.named) == 0 && required > 1 {
				panic(raise("TypeError", "%s expected at least %d arguments, got 0", a.name, required))
			}
			panic(raise("TypeError", "%s() missing required argument '%s' (pos %d)", a.name, params[i], i+1))
		}
	}
	return bound
}

// self returns the object whose method was called, and the positional arguments.
func self[T any](a *arguments, minimum, maximum int) (of T, args []any) {
	of, _ = a.self.(T)
	return of, a.positionalOnly(minimum, maximum)
}

// one returns the only argument of a builtin, which must be positional.
func (a *arguments) one() any { return a.positionalOnly(1, 1)[0] }

// positionalOnly returns the arguments of a builtin that takes only positional ones. Its error
// texts are those of such builtins.
func (a *arguments) positionalOnly(minimum, maximum int) []any {
	n := len(a.positional)
	name := a.name
	if _, isClass := a.self.(*class); a.self != nil && !isClass {
		name = typeName(a.self) + "." + name
	}
	switch {
	case len(a.named) > 0:
		panic(raise("TypeError", "%s() takes no keyword arguments", name))
	case n == maximum: // the slice belongs to this call alone
		return a.positional
	case n >= minimum && n < maximum:
		bound := newVars(maximum)
		copy(bound, a.positional)
		return bound
	case minimum == maximum && maximum == 0:
		panic(raise("TypeError", "%s() takes no arguments (%d given)", name, n))
	case minimum == maximum && maximum == 1:
		panic(raise("TypeError", "%s() takes exactly one argument (%d given)", name, n))
	case minimum == maximum:
		panic(raise("TypeError", "%s expected %d arguments, got %d", a.name, minimum, n))
	}
	bound, words := minimum, "at least"
	if n > maximum {
		bound, words = maximum, "at most"
	}
	plural := "s"
	if bound == 1 {
		plural = ""
	}
	panic(raise("TypeError", "%s expected %s %d argument%s, got %d", a.name, words, bound, plural, n))
}
