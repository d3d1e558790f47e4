// Package tool contains the tools of a session's world: functions of Python files, with the Go
// functions that they call, tools of servers, and the tools of the simulated user.
package tool

import (
	"context"
	"math"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/syntax"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// funcPrefix is the prefix of qualified function names in Python's messages.
const funcPrefix = "tool_sandbox.tools."

// Need is a service that must be on for a tool to work.
type Need string

// These are the services.
const (
	NeedWifi            Need = "wifi"
	NeedCellular        Need = "cellular"
	NeedLocationService Need = "location_service"
)

func services() []Need { return []Need{NeedWifi, NeedCellular, NeedLocationService} }

// Param is one parameter of a tool.
type Param struct {
	Name string
	Type Type
	// Optional reports that the parameter may be omitted. Default is then its value, or NotGiven if
	// the type has it.
	Optional bool
	Default  python.Value
	// Choices are values that its schema enumerates beside the type; empty allows any.
	Choices []string
	// Description is what an agent reads.
	Description string
	// Property is the JSON Schema of a parameter of a server's tool, nil for other tools.
	Property *python.Dict
}

// Tool is a tool that a role can call.
type Tool struct {
	Name   string
	Module string
	// Description is what an agent reads.
	Description string
	Params      []Param
	// Definitions are the definitions to which a server's parameter schemas refer.
	Definitions []python.Item
	// User reports whether the user has the tool; otherwise the agent has it.
	User bool
	// Shared reports that the agent has a tool of the user as well.
	Shared bool
	// Needs are the services that every call needs. DefaultNeeds are additional ones if the optional
	// arguments are omitted.
	Needs, DefaultNeeds []Need
	// Backend is the backend of the implementation. Empty means DEFAULT.
	Backend string
	// ConsentAction is the action in the user's words, e.g. send a text message. A tool with an action
	// needs the user's consent if a setup says so; see Catalogue.RequireConsent.
	ConsentAction string
	// ReadOnly reports that the tool never changes the world.
	ReadOnly bool
	// Unchecked disables type checks of arguments.
	Unchecked bool
	// Check raises for arguments that are invalid in every world. It may be nil. Types are checked
	// before. It is called once per call, while Run may be called several times.
	Check func(args Args) error
	// Run executes the call. The text of an error is the last line of Python's traceback. If ctx has
	// ended, the caller must ignore the result.
	Run func(ctx context.Context, w *session.World, args Args) (python.Value, error)

	signature python.Signature
	// argumentNames are the real names of scrambled arguments, nil for others.
	argumentNames argumentNames
	// fromPack reports that the tool is a function of a pack.
	fromPack bool
	// These are nil and empty unless the tool is a function of a Python file: the function, its file,
	// and the type that it says to return.
	def     *syntax.Def
	program *interp.Program
	source  string
	result  *Type
}

// IsPackTool reports whether the tool is a function of a pack.
func (t *Tool) IsPackTool() bool { return t.fromPack }

// VisibleTo returns the roles that have the tool.
func (t *Tool) VisibleTo() []worldv1.Role {
	switch {
	case t.Shared:
		return []worldv1.Role{worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER}
	case t.User:
		return []worldv1.Role{worldv1.Role_ROLE_USER}
	default:
		return []worldv1.Role{worldv1.Role_ROLE_AGENT}
	}
}

// Args are the bound arguments of a call.
type Args struct {
	tool  *Tool
	bound []python.Arg
	// steps is the number of steps of the last run, nil unless arguments were bound.
	steps *int
}

// Steps returns the number of interpreter steps of the last run, 0 for a tool that is not Python.
func (a Args) Steps() int {
	if a.steps == nil {
		return 0
	}
	return *a.steps
}

// Value returns an argument or its default.
func (a Args) Value(name string) python.Value { return a.find(name).Value }

// Given reports whether the call gives an argument.
func (a Args) Given(name string) bool { return a.find(name).Given }

func (a Args) find(name string) python.Arg {
	for i := range a.bound {
		if a.bound[i].Name == name {
			return a.bound[i]
		}
	}
	return python.Arg{}
}

// Str returns an argument as text, empty for other types.
func (a Args) Str(name string) string {
	s, _ := a.Value(name).AsStr()
	return s
}

// Check checks the types in parameter order with Python's error texts.
func (a Args) Check() error {
	for i := range a.tool.Params {
		param := &a.tool.Params[i]
		if param.Optional && !a.bound[i].Given {
			continue
		}
		if value := a.bound[i].Value; !param.Type.accepts(value) {
			return param.Type.refuse(param.Name, value)
		}
	}
	return nil
}

// checkRange raises ValueError for a number outside its range. Other values are in range.
func checkRange(name string, value python.Value, low, high float64) error {
	number, ok := value.Number()
	if !ok {
		big, isInt := value.AsBigInt()
		if !isInt {
			return nil
		}
		number = math.Inf(big.Sign())
	}
	switch {
	case number < low:
		return raise("ValueError", "Parameter '"+name+"' is smaller than its valid range minimum of "+python.FormatFloat(low)+".")
	case number > high:
		return raise("ValueError", "Parameter '"+name+"' is larger than its valid range maximum of "+python.FormatFloat(high)+".")
	}
	return nil
}

// Trace returns the arguments of a tool trace: all bound ones in signature order, without missing
// ones that have no default.
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
	return t.args(bound), err
}

// BindMapping binds the arguments of a call tool(**arguments).
func (t *Tool) BindMapping(arguments python.Value) (Args, error) {
	bound, err := t.signature.BindMapping(arguments)
	return t.args(bound), err
}

// setSignature sets the signature for binding calls.
func (t *Tool) setSignature() {
	t.signature = python.Signature{Func: funcPrefix + t.Module + "." + t.Name}
	for _, param := range t.Params {
		t.signature.Params = append(t.signature.Params, python.Param{Name: param.Name, HasDefault: param.Optional, Default: param.Default})
	}
}

func (t *Tool) args(bound []python.Arg) Args {
	for i := range bound {
		for n, name := range t.argumentNames {
			if bound[i].Name == t.argumentNames.shown(name) {
				bound[i].Name = t.argumentNames[n]
				break
			}
		}
	}
	return Args{tool: t, bound: bound, steps: new(int)}
}

// CheckArgs returns the exception that the arguments raise in any world. Do not call Run after an
// exception.
func (t *Tool) CheckArgs(args Args) error {
	if !t.Unchecked {
		if err := args.Check(); err != nil {
			return err
		}
	}
	if t.Check == nil {
		return nil
	}
	return t.Check(args)
}

// raise returns a Python exception.
func raise(kind, text string) error { return &python.Exception{Type: kind, Text: text} }
