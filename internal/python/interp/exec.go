package interp

import (
	"errors"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
)

// signal says how a statement ends.
type signal uint8

const (
	signalNext signal = iota
	signalBreak
	signalContinue
	signalReturn
)

// block executes statements.
func (m *machine) block(f *frame, body []syntax.Stmt) (signal, error) {
	for _, s := range body {
		if sig, err := m.exec(f, s); err != nil || sig != signalNext {
			return sig, err
		}
	}
	return signalNext, nil
}

func (m *machine) exec(f *frame, s syntax.Stmt) (signal, error) {
	if err := m.step(); err != nil {
		return signalNext, err
	}
	switch s := s.(type) {
	case *syntax.Do:
		_, err := m.eval(f, s.X)
		return signalNext, err
	case *syntax.Assign:
		v, err := m.eval(f, s.X)
		for _, target := range s.Targets {
			if err == nil {
				err = m.assign(f, target, v)
			}
		}
		return signalNext, err
	case *syntax.Augment:
		return signalNext, m.augment(f, s)
	case *syntax.If:
		return m.choose(f, s)
	case *syntax.While:
		return m.while(f, s)
	case *syntax.For:
		return m.loop(f, s)
	case *syntax.Return:
		f.result = nil
		if s.X == nil {
			return signalReturn, nil
		}
		var err error
		f.result, err = m.eval(f, s.X)
		return signalReturn, err
	case *syntax.Branch:
		return map[string]signal{"break": signalBreak, "continue": signalContinue}[s.Word], nil
	case *syntax.Try:
		return m.try(f, s)
	default:
		return signalNext, m.declare(f, s)
	}
}

// declare executes the statements that neither branch nor compute much.
func (m *machine) declare(f *frame, s syntax.Stmt) error {
	switch s := s.(type) {
	case *syntax.Def:
		v, err := m.define(f, s.Function)
		if err != nil {
			return err
		}
		m.store(f, s.Name, v)
	case *syntax.Annotate:
		if s.X == nil {
			return nil
		}
		v, err := m.eval(f, s.X)
		if err != nil {
			return err
		}
		return m.assign(f, s.Target, v)
	case *syntax.Delete:
		for _, target := range s.Targets {
			if err := m.remove(f, target); err != nil {
				return err
			}
		}
	case *syntax.Assert:
		v, err := m.eval(f, s.Test)
		if err != nil || truth(v) {
			return err
		}
		if s.Message == nil {
			return raiseValue("AssertionError")
		}
		message, err := m.eval(f, s.Message)
		if err != nil {
			return err
		}
		return raiseValue("AssertionError", message)
	case *syntax.Raise:
		return m.raise(f, s)
	case *syntax.Import:
		return m.imports(f, s)
	case *syntax.ImportFrom:
		return m.importsFrom(f, s)
	}
	return nil
}

// choose executes an if with its elifs.
func (m *machine) choose(f *frame, s *syntax.If) (signal, error) {
	for {
		v, err := m.eval(f, s.Test)
		if err != nil {
			return signalNext, err
		}
		if truth(v) {
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

func (m *machine) while(f *frame, s *syntax.While) (signal, error) {
	for {
		if err := m.step(); err != nil {
			return signalNext, err
		}
		v, err := m.eval(f, s.Test)
		if err != nil {
			return signalNext, err
		}
		if !truth(v) {
			return m.block(f, s.Else)
		}
		if sig, err := m.block(f, s.Body); err != nil || sig == signalReturn {
			return sig, err
		} else if sig == signalBreak {
			return signalNext, nil
		}
	}
}

func (m *machine) loop(f *frame, s *syntax.For) (signal, error) {
	v, err := m.eval(f, s.Iterable)
	if err != nil {
		return signalNext, err
	}
	items, err := m.iter(v)
	if err != nil {
		return signalNext, err
	}
	for {
		if err := m.step(); err != nil {
			return signalNext, err
		}
		item, ok, err := m.advance(items)
		if err != nil {
			return signalNext, err
		}
		if !ok {
			return m.block(f, s.Else)
		}
		if err := m.assign(f, s.Target, item); err != nil {
			return signalNext, err
		}
		if sig, err := m.block(f, s.Body); err != nil || sig == signalReturn {
			return sig, err
		} else if sig == signalBreak {
			return signalNext, nil
		}
	}
}

// try executes a try statement. Only what the program can catch runs handlers and finally.
func (m *machine) try(f *frame, s *syntax.Try) (signal, error) {
	sig, err := m.block(f, s.Body)
	var r *raised
	switch {
	case err != nil && !errors.As(err, &r):
		return sig, err
	case err != nil:
		sig, err = m.handle(f, s.Handlers, r)
	case sig == signalNext:
		sig, err = m.block(f, s.Else)
	}
	if s.Finally == nil || err != nil && !errors.As(err, &r) {
		return sig, err
	}
	result := f.result
	if last, failure := m.block(f, s.Finally); failure != nil || last != signalNext {
		return last, failure
	}
	f.result = result
	return sig, err
}

// handle runs the first handler that catches an exception.
func (m *machine) handle(f *frame, handlers []syntax.Handler, r *raised) (signal, error) {
	for i := range handlers {
		h := &handlers[i]
		caught := h.Type == nil
		if !caught {
			m.handling = append(m.handling, r.exception)
			kind, err := m.eval(f, h.Type)
			m.handling = m.handling[:len(m.handling)-1]
			if err == nil {
				caught, err = catches(kind, r.exception)
			}
			if err != nil {
				return signalNext, err
			}
		}
		if !caught {
			continue
		}
		if h.Name != nil {
			m.store(f, h.Name, r.exception)
		}
		m.handling = append(m.handling, r.exception)
		sig, err := m.block(f, h.Body)
		m.handling = m.handling[:len(m.handling)-1]
		if h.Name != nil {
			m.store(f, h.Name, absent)
		}
		return sig, err
	}
	return signalNext, r
}

// catches says whether a class, or one of a tuple of classes, catches an exception.
func catches(kind any, e *exception) (bool, error) {
	kinds := []any{kind}
	if several, ok := kind.(*tuple); ok {
		kinds = several.items
	}
	for _, kind := range kinds {
		c, ok := kind.(*class)
		if !ok || !c.within(exceptionClass("BaseException")) {
			return false, raise("TypeError", "catching classes that do not inherit from BaseException is not allowed")
		}
		if e.class.within(c) {
			return true, nil
		}
	}
	return false, nil
}

// raise returns the exception that a raise statement raises.
func (m *machine) raise(f *frame, s *syntax.Raise) error {
	if s.X == nil {
		if n := len(m.handling); n > 0 {
			return &raised{m.handling[n-1]}
		}
		return raise("RuntimeError", "No active exception to reraise")
	}
	v, err := m.eval(f, s.X)
	if err != nil {
		return err
	}
	if c, ok := v.(*class); ok && c.within(exceptionClass("BaseException")) {
		v = &exception{class: c}
	}
	e, ok := v.(*exception)
	if !ok {
		return raise("TypeError", "exceptions must derive from BaseException")
	}
	if s.Cause != nil {
		cause, err := m.eval(f, s.Cause)
		if err != nil {
			return err
		}
		kind, isClass := cause.(*class)
		_, isException := cause.(*exception)
		if cause != nil && !isException && !(isClass && kind.within(exceptionClass("BaseException"))) {
			return raise("TypeError", "exception causes must derive from BaseException")
		}
	}
	return &raised{e}
}

const jsonModule = "json"

// known says whether a module holds nothing but the tools and types.
func known(module string) bool {
	first, _, _ := strings.Cut(module, ".")
	return first == "tool_sandbox" || first == "typing" || module == "__future__"
}

func missingModule(name string) error {
	first, _, _ := strings.Cut(name, ".")
	return raise("ModuleNotFoundError", "No module named '%s'", first)
}

func (m *machine) imports(f *frame, s *syntax.Import) error {
	switch {
	case s.Module == jsonModule:
		m.store(f, s.Name, newJSON())
	case known(s.Module):
		m.store(f, s.Name, &module{name: s.Module})
	default:
		return missingModule(s.Module)
	}
	return nil
}

// importsFrom binds a member of a module. What comes from the original's own modules is there
// anyway.
func (m *machine) importsFrom(f *frame, s *syntax.ImportFrom) error {
	switch {
	case s.Name == nil && (s.Module == jsonModule || known(s.Module)):
		return nil
	case s.Module == jsonModule:
		member, ok := newJSON().members[s.Member]
		if !ok {
			return raise("ImportError", "cannot import name '%s' from 'json'", s.Member)
		}
		m.store(f, s.Name, member)
	case known(s.Module) && m.host.Callable(s.Member):
		m.store(f, s.Name, &tool{s.Member})
	case !known(s.Module):
		return missingModule(s.Module)
	}
	return nil
}

// define makes a function.
func (m *machine) define(f *frame, code *syntax.Function) (any, error) {
	if err := m.alloc(64 + 16*len(code.Params)); err != nil {
		return nil, err
	}
	fn := &function{code: code, around: f, defaults: blank(len(code.Params))}
	for i := range code.Params {
		if code.Params[i].Default == nil {
			continue
		}
		v, err := m.eval(f, code.Params[i].Default)
		if err != nil {
			return nil, err
		}
		fn.defaults[i] = v
	}
	return fn, nil
}
