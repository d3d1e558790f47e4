package syntax

import "github.com/toolsandbox/toolsandbox/python/limit"

// Scope is the variables of a module, function or comprehension.
type Scope struct {
	// Names are the variables, by slot.
	Names []string

	kind     scopeKind
	parent   *Scope
	children []*Scope
	slots    map[string]int
	declared map[string]Binding // by global (BindingGlobal) and nonlocal (BindingLocal)
	uses     []*Name
	used     map[string]bool
}

type scopeKind uint8

const (
	scopeModule scopeKind = iota
	scopeFunction
	scopeComprehension
)

func newScope(kind scopeKind, parent *Scope) *Scope {
	s := &Scope{kind: kind, parent: parent, slots: make(map[string]int)}
	if parent != nil {
		parent.children = append(parent.children, s)
	}
	return s
}

// bind makes a name a variable of the scope, unless it is declared to be another scope's.
func (s *Scope) bind(name string) int {
	switch s.declared[name] {
	case BindingGlobal:
		for s.kind != scopeModule {
			s = s.parent
		}
		return s.bind(name)
	case BindingLocal:
		return -1
	case BindingBuiltin:
	}
	slot, bound := s.slots[name]
	if !bound {
		slot = len(s.Names)
		s.slots[name] = slot
		s.Names = append(s.Names, name)
	}
	return slot
}

// use records a name to resolve.
func (s *Scope) use(n *Name) {
	s.uses = append(s.uses, n)
	if s.used == nil {
		s.used = make(map[string]bool)
	}
	s.used[n.ID] = true
}

// checkpoint is a position in the parsing of a scope.
type checkpoint struct{ uses, children int }

func (s *Scope) checkpoint() checkpoint { return checkpoint{len(s.uses), len(s.children)} }

// adopt moves what was read since the mark to an inner scope: it turned out to be the element of a
// comprehension.
func (s *Scope) adopt(inner *Scope, since checkpoint) {
	inner.uses = append(inner.uses, s.uses[since.uses:]...)
	s.uses = s.uses[:since.uses]
	for _, child := range s.children[since.children:] {
		if child != inner {
			child.parent = inner
			inner.children = append(inner.children, child)
		}
	}
	s.children = append(s.children[:since.children], inner)
}

// resolve gives every name of the scope and of those within it its variable.
func (s *Scope) resolve() *Error {
	if s.kind != scopeModule && len(s.Names) > limit.Locals {
		return errorWithoutPosition("more than 200 local variables cannot be executed here")
	}
	for name, binding := range s.declared {
		if binding == BindingLocal && s.lookup(name).Binding != BindingLocal {
			return errorWithoutPosition("no binding for nonlocal '" + name + "' found")
		}
	}
	for _, n := range s.uses {
		found := s.lookup(n.ID)
		n.Binding, n.Hops, n.Slot = found.Binding, found.Hops, found.Slot
	}
	for _, child := range s.children {
		if err := child.resolve(); err != nil {
			return err
		}
	}
	return nil
}

// lookup finds the variable of a name.
func (s *Scope) lookup(name string) Name {
	for hops := 0; ; hops++ {
		if s.kind == scopeModule || s.declared[name] == BindingGlobal {
			break
		}
		if slot, bound := s.slots[name]; bound && s.declared[name] != BindingLocal {
			return Name{Binding: BindingLocal, Hops: hops, Slot: slot}
		}
		s = s.parent
	}
	for s.kind != scopeModule {
		s = s.parent
	}
	if slot, bound := s.slots[name]; bound {
		return Name{Binding: BindingGlobal, Slot: slot}
	}
	return Name{Binding: BindingBuiltin}
}
