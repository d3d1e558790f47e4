package interp

import (
	"context"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// Program is a file whose functions are called. It is immutable and safe for concurrent use.
type Program struct {
	library *Library
	// vars are the variables of the file after the statements that give the same values in every
	// call. perCall are the others, such as lists, which a call can change.
	vars    []any
	perCall []syntax.Stmt
	// enums reports that the file may define enumerations, to whose members arguments are converted.
	enums bool
}

// Prepare returns the program of a file that Parse of package source accepts.
func (l *Library) Prepare(file *syntax.Module) *Program {
	p := &Program{library: l, vars: newVars(len(file.Scope.Names))}
	m := p.machine(context.Background(), nil)
	bound := make(map[int]bool)
	for _, s := range file.Body {
		_, isClass := s.(*syntax.Class)
		p.enums = p.enums || isClass
		slots, constant := binding(s)
		again := false
		for _, slot := range slots {
			again = again || bound[slot]
			bound[slot] = true
		}
		if again { // the order of the statements matters
			return &Program{library: l, vars: newVars(len(file.Scope.Names)), perCall: file.Body, enums: true}
		}
		if !constant || recoverPanic(func() { m.block(&m.module, []syntax.Stmt{s}) }) != nil {
			p.perCall = append(p.perCall, s)
		}
	}
	p.vars = m.module.vars
	return p
}

// binding returns the variables of the file that a statement binds. constant reports whether it
// gives them the same immutable values in every call.
func binding(s syntax.Stmt) (slots []int, constant bool) {
	switch s := s.(type) {
	case *syntax.Def:
		constant = true
		for i := range s.Function.Params {
			constant = constant && isConstant(s.Function.Params[i].Default)
		}
		return []int{s.Name.Slot}, constant
	case *syntax.Class:
		return []int{s.Name.Slot}, true // package source lets members be constants alone
	case *syntax.Assign:
		constant = isConstant(s.X)
		for _, target := range s.Targets {
			name, ok := target.(*syntax.Name)
			if !ok {
				return nil, false
			}
			slots = append(slots, name.Slot)
		}
		return slots, constant
	case *syntax.Import:
		return nameSlot(s.Name), true
	case *syntax.ImportFrom:
		return nameSlot(s.Name), true
	case *syntax.ExprStmt:
		return nil, isConstant(s.X)
	default:
		return nil, false
	}
}

func nameSlot(name *syntax.Name) []int {
	if name == nil {
		return nil
	}
	return []int{name.Slot}
}

// isConstant reports whether an expression is missing, an immutable literal, or the name of a
// predefined value.
func isConstant(x syntax.Expr) bool {
	switch x := x.(type) {
	case nil, *syntax.Constant:
		return true
	case *syntax.Name:
		return x.Binding == syntax.BindingBuiltin
	case *syntax.Unary:
		return isConstant(x.X)
	case *syntax.Sequence:
		if x.Kind == syntax.KindList || x.Kind == syntax.KindSet {
			return false
		}
		for _, item := range x.Items {
			if !isConstant(item) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// Start runs the statements that precede each call. What fails in them fails in every call. The
// host is that of Call.
func (p *Program) Start(ctx context.Context, host Host) Outcome {
	m := p.machine(ctx, host)
	return m.outcome(recoverPanic(func() { m.block(&m.module, p.perCall) }))
}

// Call calls a function of the file. args are named arguments; missing ones get the parameters'
// defaults. Calls share no state, so Call is safe for concurrent use.
func (p *Program) Call(ctx context.Context, function *syntax.Def, args []python.Arg, host Host) (result python.Value, outcome Outcome) {
	m := p.machine(ctx, host)
	failure := recoverPanic(func() {
		m.block(&m.module, p.perCall)
		named := make([]namedArgument, 0, len(args))
		for i := range args {
			if !args[i].Given {
				continue
			}
			value := m.fromPython(args[i].Value)
			if p.enums {
				value = m.toParam(function.Function, args[i].Name, value)
			}
			named = append(named, namedArgument{args[i].Name, value})
		}
		result = m.toPython(m.call(m.module.vars[function.Name.Slot], nil, named), 0)
	})
	return result, m.outcome(failure)
}

// outcome returns the outcome of a run that a panic ended, or none.
func (m *machine) outcome(failure any) Outcome {
	outcome := Outcome{Output: string(m.out), Err: m.outcomeError(failure), Steps: m.steps}
	if failure != nil {
		outcome.Statement = m.statement
	}
	return outcome
}

func (p *Program) machine(ctx context.Context, host Host) *machine {
	return &machine{
		ctx: ctx, host: host, names: builtins, types: types, modules: modules, library: p.library.names, catchable: p.library.classes,
		module: frame{vars: append([]any(nil), p.vars...)},
	}
}
