package interp

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// signal is how a statement ends.
type signal uint8

const (
	signalNext signal = iota
	signalBreak
	signalContinue
	signalReturn
)

// block executes statements.
func (m *machine) block(f *frame, body []syntax.Stmt) signal {
	for _, s := range body {
		if sig := m.exec(f, s); sig != signalNext {
			return sig
		}
	}
	return signalNext
}

func (m *machine) exec(f *frame, s syntax.Stmt) signal {
	m.step()
	m.statement = s
	switch s := s.(type) {
	case *syntax.ExprStmt:
		m.eval(f, s.X)
		return signalNext
	case *syntax.Assign:
		v := m.eval(f, s.X)
		for _, target := range s.Targets {
			m.assign(f, target, v)
		}
		return signalNext
	case *syntax.AugAssign:
		m.augment(f, s)
		return signalNext
	case *syntax.If:
		return m.ifStmt(f, s)
	case *syntax.While:
		return m.while(f, s)
	case *syntax.For:
		return m.loop(f, s)
	case *syntax.Return:
		f.result = nil
		if s.X == nil {
			return signalReturn
		}
		f.result = m.eval(f, s.X)
		return signalReturn
	case *syntax.Branch:
		return map[string]signal{"break": signalBreak, "continue": signalContinue}[s.Keyword]
	case *syntax.Try:
		return m.try(f, s)
	default:
		m.simpleStmt(f, s)
		return signalNext
	}
}

// simpleStmt executes a statement that contains no others.
func (m *machine) simpleStmt(f *frame, s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Def:
		m.store(f, s.Name, m.decorated(f, s))
	case *syntax.Class:
		m.store(f, s.Name, m.defineClass(f, s))
	case *syntax.AnnAssign:
		if s.X == nil {
			return
		}
		m.assign(f, s.Target, m.eval(f, s.X))
	case *syntax.Delete:
		for _, target := range s.Targets {
			m.remove(f, target)
		}
	case *syntax.Assert:
		if truth(m.eval(f, s.Test)) {
			return
		}
		if s.Message == nil {
			panic(raiseValue("AssertionError"))
		}
		message := m.eval(f, s.Message)
		panic(raiseValue("AssertionError", message))
	case *syntax.Raise:
		m.raise(f, s)
	case *syntax.Import:
		m.imports(f, s)
	case *syntax.ImportFrom:
		m.importsFrom(f, s)
	}
}

// ifStmt executes an if statement with its elif branches.
func (m *machine) ifStmt(f *frame, s *syntax.If) signal {
	for {
		m.statement = s
		if truth(m.eval(f, s.Test)) {
			return m.block(f, s.Then)
		}
		if len(s.Else) == 1 {
			if next, ok := s.Else[0].(*syntax.If); ok {
				s = next
				continue
			}
		}
		return m.block(f, s.Else)
	}
}

func (m *machine) while(f *frame, s *syntax.While) signal {
	for {
		m.step()
		m.statement = s // not the last one of the body
		if !truth(m.eval(f, s.Test)) {
			return m.block(f, s.Else)
		}
		if sig := m.block(f, s.Body); sig == signalReturn {
			return sig
		} else if sig == signalBreak {
			return signalNext
		}
	}
}

func (m *machine) loop(f *frame, s *syntax.For) signal {
	items := m.iter(m.eval(f, s.Iterable))
	for {
		m.step()
		m.statement = s // not the last one of the body
		item, ok := m.advance(items)
		if !ok {
			return m.block(f, s.Else)
		}
		m.assign(f, s.Target, item)
		if sig := m.block(f, s.Body); sig == signalReturn {
			return sig
		} else if sig == signalBreak {
			return signalNext
		}
	}
}

// recoverPanic runs f and returns the value of its panic, nil without one.
func recoverPanic(f func()) (failure any) {
	defer func() { failure = recover() }()
	f()
	return nil
}

// catch runs f and returns the exception that it raises, nil if none. It repeats any other panic.
func (m *machine) catch(f func()) *raised {
	calls, stack, handling := m.calls, m.stack, len(m.handled)
	failure := recoverPanic(f)
	if failure == nil {
		return nil
	}
	r, ok := failure.(*raised)
	if !ok {
		panic(failure)
	}
	m.calls, m.stack, m.handled = calls, stack, m.handled[:handling]
	return r
}

// try executes a try statement. Panics other than exceptions skip handlers and finally.
func (m *machine) try(f *frame, s *syntax.Try) (sig signal) {
	if s.Finally == nil {
		return m.tryExceptElse(f, s)
	}
	r := m.catch(func() { sig = m.tryExceptElse(f, s) })
	result, raising, handling := f.result, m.statement, len(m.handled)
	if r != nil {
		m.handled = append(m.handled, r.exception) // that a bare raise repeats
	}
	last := m.block(f, s.Finally)
	if m.handled = m.handled[:handling]; last != signalNext {
		return last
	}
	if r != nil {
		m.statement = raising
		panic(r)
	}
	f.result = result
	return sig
}

// tryExceptElse executes a try statement without its finally.
func (m *machine) tryExceptElse(f *frame, s *syntax.Try) (sig signal) {
	r := m.catch(func() { sig = m.block(f, s.Body) })
	switch {
	case r != nil:
		return m.handle(f, s.Handlers, r)
	case sig == signalNext:
		return m.block(f, s.Else)
	}
	return sig
}

// handle runs the first handler that catches an exception.
func (m *machine) handle(f *frame, handlers []syntax.Handler, r *raised) signal {
	for i := range handlers {
		h := &handlers[i]
		caught := h.Type == nil
		if !caught {
			m.handled = append(m.handled, r.exception)
			kind := m.eval(f, h.Type)
			m.handled = m.handled[:len(m.handled)-1]
			caught = catches(kind, r.exception)
		}
		if !caught {
			continue
		}
		if h.Name != nil {
			m.store(f, h.Name, r.exception)
			defer m.store(f, h.Name, absent)
		}
		m.handled = append(m.handled, r.exception)
		sig := m.block(f, h.Body)
		m.handled = m.handled[:len(m.handled)-1]
		return sig
	}
	panic(r)
}

// catches reports whether a class, or one of a tuple of classes, catches an exception.
func catches(kind any, e *exception) bool {
	kinds := []any{kind}
	if several, ok := kind.(*tuple); ok {
		kinds = several.items
	}
	for _, kind := range kinds {
		c, ok := kind.(*class)
		if !ok || !c.isSubclass(exceptionClass("BaseException")) {
			panic(raise("TypeError", "catching classes that do not inherit from BaseException is not allowed"))
		}
		if e.class.isSubclass(c) {
			return true
		}
	}
	return false
}

// raise returns the exception that a raise statement raises.
func (m *machine) raise(f *frame, s *syntax.Raise) {
	if s.X == nil {
		if n := len(m.handled); n > 0 {
			panic(&raised{m.handled[n-1]})
		}
		panic(raise("RuntimeError", "No active exception to reraise"))
	}
	v := m.eval(f, s.X)
	if c, ok := v.(*class); ok && c.isSubclass(exceptionClass("BaseException")) {
		v = &exception{class: c}
	}
	e, ok := v.(*exception)
	if !ok {
		panic(raise("TypeError", "exceptions must derive from BaseException"))
	}
	if s.Cause != nil {
		cause := m.eval(f, s.Cause)
		kind, isClass := cause.(*class)
		_, isException := cause.(*exception)
		if cause != nil && !isException && !(isClass && kind.isSubclass(exceptionClass("BaseException"))) {
			panic(raise("TypeError", "exception causes must derive from BaseException"))
		}
	}
	panic(&raised{e})
}

const jsonModule = "json"

// modules holds the modules that files of functions may import. Programs may import json alone.
var modules = newModules()

func newModules() map[string]*module {
	all := make(map[string]*module)
	for _, m := range []*module{newJSON(), newEnumModule(), newMath(), newDatetime(), newRegex()} {
		all[m.name] = m
	}
	return all
}

// imported returns a module that the program may import, nil if there is none.
func (m *machine) imported(name string) *module {
	if m.modules == nil && name == jsonModule {
		return newJSON()
	}
	return m.modules[name]
}

// isOriginalModule reports whether a module is one of ToolSandbox that contains only tools and
// types.
func isOriginalModule(module string) bool {
	first, _, _ := strings.Cut(module, ".")
	return first == "tool_sandbox" || first == "typing" || module == "__future__"
}

func missingModule(name string) error {
	first, _, _ := strings.Cut(name, ".")
	return raise("ModuleNotFoundError", "No module named '%s'", first)
}

func (m *machine) imports(f *frame, s *syntax.Import) {
	switch imported := m.imported(s.Module); {
	case imported != nil:
		m.store(f, s.Name, imported)
	case isOriginalModule(s.Module):
		m.store(f, s.Name, &module{name: s.Module})
	default:
		panic(missingModule(s.Module))
	}
}

// importsFrom binds a member of a module. It ignores imports from ToolSandbox's modules: their
// tools are predefined.
func (m *machine) importsFrom(f *frame, s *syntax.ImportFrom) {
	switch imported := m.imported(s.Module); {
	case s.Name == nil && (imported != nil || isOriginalModule(s.Module)):
		return
	case imported != nil:
		member, ok := imported.members[s.Member]
		if !ok {
			panic(raise("ImportError", "cannot import name '%s' from '%s'", s.Member, s.Module))
		}
		m.store(f, s.Name, member)
	case isOriginalModule(s.Module) && m.host.Callable(s.Member):
		m.store(f, s.Name, &tool{s.Member})
	case !isOriginalModule(s.Module):
		panic(missingModule(s.Module))
	}
}

// decorated defines a function and applies its decorators.
func (m *machine) decorated(f *frame, s *syntax.Def) any {
	decorators := make([]any, len(s.Decorators))
	for i, decorator := range s.Decorators {
		decorators[i] = m.eval(f, decorator)
	}
	value := m.define(f, s.Function)
	for _, decorator := range slices.Backward(decorators) {
		value = m.call(decorator, []any{value}, nil)
	}
	return value
}

// define creates the function object of a def or lambda.
func (m *machine) define(f *frame, code *syntax.Function) any {
	m.alloc(64 + 16*len(code.Params))
	fn := &function{code: code, closure: f, defaults: newVars(len(code.Params))}
	for i := range code.Params {
		if code.Params[i].Default == nil {
			continue
		}
		v := m.eval(f, code.Params[i].Default)
		fn.defaults[i] = v
	}
	return fn
}
