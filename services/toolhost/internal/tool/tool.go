// Package tool holds the tools that act on a session's world. Each tool is declared in one place, with everything that is
// known about it; one file holds the tools of one module.
package tool

import (
	"github.com/toolsandbox/toolsandbox/internal/python"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// funcPrefix begins the qualified name of every tool's function in Python's messages.
const funcPrefix = "tool_sandbox.tools."

// Need is something that must be on for a tool to work.
type Need string

// The needs.
const (
	NeedWifi            Need = "wifi"
	NeedCellular        Need = "cellular"
	NeedLocationService Need = "location_service"
)

// Param is one parameter of a tool.
type Param struct {
	Name string
	Type Type
	// Optional parameters may be left out; Default is then their value, or NotGiven where the type has that.
	Optional bool
	Default  python.Value
	// Description is what an agent reads.
	Description string
}

// Tool is one tool.
type Tool struct {
	Name   string
	Module string
	// Description is what an agent reads.
	Description string
	Params      []Param
	// User says that the user may call it; otherwise the agent may.
	User  bool
	Needs []Need
	// Unchecked tools leave type checks to what they do with their arguments.
	Unchecked bool
	// CheckLate lets the tool check types itself, in its own order, by calling Args.Check.
	CheckLate bool
	// Run executes the call. The error is a *python.Exception.
	Run func(w *session.World, args Args) (python.Value, error)

	signature python.Signature
}

// VisibleTo returns the role that may call the tool.
func (t *Tool) VisibleTo() worldv1.Role {
	if t.User {
		return worldv1.Role_ROLE_USER
	}
	return worldv1.Role_ROLE_AGENT
}

// Args are the bound arguments of a call.
type Args struct {
	tool  *Tool
	bound []python.Arg
}

// Value returns an argument, given or default.
func (a Args) Value(name string) python.Value {
	for i := range a.bound {
		if a.bound[i].Name == name {
			return a.bound[i].Value
		}
	}
	return python.None()
}

// Given says whether the call named the argument.
func (a Args) Given(name string) bool {
	for i := range a.bound {
		if a.bound[i].Name == name {
			return a.bound[i].Given
		}
	}
	return false
}

// Str returns an argument as text; empty if it is none.
func (a Args) Str(name string) string {
	s, _ := a.Value(name).AsStr()
	return s
}

// Bool returns an argument as a truth value; false if it is none.
func (a Args) Bool(name string) bool {
	b, _ := a.Value(name).AsBool()
	return b
}

// Check checks the types in parameter order, in Python's words.
func (a Args) Check() error {
	for i := range a.tool.Params {
		param := &a.tool.Params[i]
		if param.Optional && !a.bound[i].Given {
			continue
		}
		if value := a.bound[i].Value; !param.Type.accepts(value) {
			return raise("TypeError", "Parameter '"+param.Name+"' is of type '"+value.ClassName()+"', but expected '"+param.Type.Annotation+"'.")
		}
	}
	return nil
}

// Trace returns the arguments as a tool trace shows them: all bound ones in signature order, without those that were not
// given and have no default.
func (a Args) Trace() python.Value {
	dict := &python.Dict{}
	for i := range a.bound {
		if a.bound[i].Given || !a.tool.Params[i].Type.NotGiven {
			dict.Set(a.bound[i].Name, a.bound[i].Value)
		}
	}
	return dict.Value()
}

// Bind binds the arguments of a call by name and position.
func (t *Tool) Bind(positional []python.Value, keyword *python.Dict) (Args, error) {
	bound, err := t.signature.Bind(positional, keyword)
	return Args{tool: t, bound: bound}, err
}

// BindMapping binds the arguments of a call of the form tool(**arguments).
func (t *Tool) BindMapping(arguments python.Value) (Args, error) {
	bound, err := t.signature.BindMapping(arguments)
	return Args{tool: t, bound: bound}, err
}

// Call checks types where the tool wants that and runs it.
func (t *Tool) Call(w *session.World, args Args) (python.Value, error) {
	if !t.Unchecked && !t.CheckLate {
		if err := args.Check(); err != nil {
			return python.Value{}, err
		}
	}
	return t.Run(w, args)
}

// raise returns a Python exception.
func raise(kind, text string) error { return &python.Exception{Type: kind, Text: text} }
