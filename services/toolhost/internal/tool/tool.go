// Package tool holds the tools that act on a session's world. Each tool is declared in one place,
// with everything that is known about it; one file holds the tools of one module.
package tool

import (
	"context"
	"math"

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
	// Optional parameters may be left out; Default is then their value, or NotGiven where the type
	// has that.
	Optional bool
	Default  python.Value
	// Choices are the values that its schema lists; empty lists none.
	Choices []string
	// Description is what an agent reads.
	Description string
	// Property is the JSON Schema that a server states for the parameter; nil in other tools.
	Property *python.Dict
}

// Tool is one tool.
type Tool struct {
	Name   string
	Module string
	// Description is what an agent reads.
	Description string
	Params      []Param
	// Definitions are those that a server's schemas of the parameters refer to.
	Definitions []python.Item
	// User says that the user may call it; otherwise the agent may.
	User bool
	// Needs is what must be on for every call, DefaultNeeds what must be on as well if the optional
	// arguments are left out.
	Needs, DefaultNeeds []Need
	// Backend tells implementations of one tool apart; empty is DEFAULT.
	Backend string
	// Confirm is what the tool does, as the user allows it: send a text message. A tool that has it
	// needs the user's consent where a setup says so; see Catalogue.Gate.
	Confirm string
	// ReadOnly tools never change the world, whatever their arguments.
	ReadOnly bool
	// Unchecked tools leave type checks to what they do with their arguments.
	Unchecked bool
	// CheckLate lets the tool check types itself, in its own order, by calling Args.Check.
	CheckLate bool
	// Check looks at the arguments for what no world can change, once their types are known to be
	// right; it may be nil. It is called once for each call, Run perhaps many times.
	Check func(args Args) error
	// KeepsArgs tools keep their argument descriptions where they are scrambled away, a quirk of
	// the original.
	KeepsArgs bool
	// Run executes the call. The text of an error is the last line of Python's traceback. Once ctx
	// has ended, what it returns means nothing: the caller must look.
	Run func(ctx context.Context, w *session.World, args Args) (python.Value, error)
	// Answer stands instead of Run in a tool that only looks: with arguments that passed Check no
	// world makes it raise.
	Answer func(w *session.World, args Args) python.Value

	signature python.Signature
	// program says that the tool is a function of a pack.
	program bool
}

// OfPack says whether the tool is a function of a pack.
func (t *Tool) OfPack() bool { return t.program }

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
	// steps is how much work the last run was; nil unless the tool is a program.
	steps *int
}

// Steps returns how many steps of the interpreter the last run took, 0 for a built-in tool.
func (a Args) Steps() int {
	if a.steps == nil {
		return 0
	}
	return *a.steps
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

// InRange raises ValueError for a number outside of its valid range. An argument that is null or
// was not given is in range.
func (a Args) InRange(name string, low, high float64) error {
	value := a.Value(name)
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

// Trace returns the arguments as a tool trace shows them: all bound ones in signature order,
// without those that were not given and have no default.
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

// BindMapping binds the arguments of a call of the form tool(**arguments).
func (t *Tool) BindMapping(arguments python.Value) (Args, error) {
	bound, err := t.signature.BindMapping(arguments)
	return t.args(bound), err
}

// sign makes the signature that calls are bound by.
func (t *Tool) sign() {
	t.signature = python.Signature{Func: funcPrefix + t.Module + "." + t.Name}
	for _, param := range t.Params {
		t.signature.Params = append(t.signature.Params, python.Param{Name: param.Name, HasDefault: param.Optional, Default: param.Default})
	}
}

func (t *Tool) args(bound []python.Arg) Args {
	args := Args{tool: t, bound: bound}
	if t.program {
		args.steps = new(int)
	}
	return args
}

// CheckArgs returns what the arguments raise in any world. Call must not be called then.
func (t *Tool) CheckArgs(args Args) error {
	if !t.Unchecked && !t.CheckLate {
		if err := args.Check(); err != nil {
			return err
		}
	}
	if t.Check == nil {
		return nil
	}
	return t.Check(args)
}

// Call executes the call, with arguments that passed CheckArgs. What holds for Run holds for it.
func (t *Tool) Call(ctx context.Context, w *session.World, args Args) (python.Value, error) {
	if t.Answer != nil {
		return t.Answer(w, args), nil
	}
	return t.Run(ctx, w, args)
}

// raise returns a Python exception.
func raise(kind, text string) error { return &python.Exception{Type: kind, Text: text} }
