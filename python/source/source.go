// Package source parses Python files whose functions are called and whose top level is not run by
// itself: tools and measures of a pack. It makes the checks that they share.
package source

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// Importable lists the modules that files may import.
const Importable = "datetime, enum, json, math, re and typing"

// Fail records a mistake at an offset of a file, in a function unless the name is empty.
type Fail func(at int, function, format string, args ...any)

// LineColumn returns line and column of an offset, both from 1; a column is a character.
func LineColumn(source string, at int) (line, column int) {
	before := source[:min(at, len(source))]
	lastLine := before[strings.LastIndexByte(before, '\n')+1:]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(lastLine)
}

// Parse parses a file and checks its top level, which runs anew before each call. It returns the
// functions by name. The program is nil after a syntax error. refuse gives the reason for which a
// module cannot be imported.
func Parse(source string, refuse func(module string) string, fail Fail) (program *syntax.Module, defs map[string]*syntax.Def) {
	program, err := syntax.ParseFile(source)
	var syntaxError *syntax.Error
	if errors.As(err, &syntaxError) {
		fail(syntaxError.Offset, "", "Python cannot read this: %s", syntaxError.Reason)
		return nil, nil
	}
	f := &file{refuse: refuse, fail: fail, defs: make(map[string]*syntax.Def), modules: make(map[string]bool), refused: -1}
	for _, s := range program.Body {
		f.statement(s)
	}
	return program, f.defs
}

// Start runs the top level of a file as each call does, and reports the statement that fails.
func Start(program *interp.Program, host interp.Host, fail Fail) {
	if outcome := program.Start(context.Background(), host); outcome.Err != nil {
		fail(outcome.Statement.Offset(), "", "this fails before each call of a function of the file: %v", outcome.Err)
	}
}

// file is one while its top level is checked.
type file struct {
	refuse func(module string) string
	fail   Fail
	defs   map[string]*syntax.Def
	// modules are the names that imports at the top bind.
	modules map[string]bool
	// refused is the offset of the last import that was refused. One of several names is one import.
	refused int
}

// statement checks one of the top level.
func (f *file) statement(s syntax.Stmt) {
	const only = "only imports, constants, enumerations and functions stand at the top of a file; move it into a function"
	switch s := s.(type) {
	case *syntax.Def:
		name := s.Name.ID
		if f.defs[name] != nil {
			f.fail(s.Offset(), name, "there are two functions %s; rename one of them", name)
			return
		}
		f.defs[name] = s
		syntax.Walk(s.Function.Body, func(node syntax.Expr) bool {
			f.imports(node, name)
			if _, isClass := node.(*syntax.Class); isClass {
				f.fail(node.Offset(), name, "a class stands at the top of a file; move it there")
				return false
			}
			return true
		})
	case *syntax.Import:
		f.imports(s, "")
		f.modules[s.Name.ID] = true
	case *syntax.ImportFrom:
		f.imports(s, "")
		if s.Name != nil {
			f.modules[s.Name.ID] = true
		}
	case *syntax.Class:
		f.class(s)
	case *syntax.Assign:
		if !f.constant(s.X) || slices.ContainsFunc(s.Targets, func(x syntax.Expr) bool { return !variable(x) }) {
			f.fail(s.Offset(), "", only)
		}
	case *syntax.AnnAssign:
		if !variable(s.Target) || s.X != nil && !f.constant(s.X) {
			f.fail(s.Offset(), "", only)
		}
	case *syntax.ExprStmt:
		if _, text := s.X.(*syntax.Constant); !text {
			f.fail(s.Offset(), "", only)
		}
	case *syntax.Branch:
	default:
		f.fail(s.Offset(), "", only)
	}
}

// class checks an enumeration.
func (f *file) class(s *syntax.Class) {
	name := s.Name.ID
	if len(s.Bases) == 0 || slices.ContainsFunc(s.Bases, func(base syntax.Expr) bool { return !slices.Contains(enumBases(), lastName(base)) }) {
		f.fail(s.Offset(), name, "a class is an enumeration here; write class %s(str, Enum) with from enum import Enum, or use a dict", name)
		return
	}
	members := 0
	taken := make(map[string]bool)
	for _, s := range s.Body {
		switch s := s.(type) {
		case *syntax.ExprStmt:
			if _, text := s.X.(*syntax.Constant); text {
				continue
			}
		case *syntax.Branch:
			continue
		case *syntax.Assign:
			target, isName := s.Targets[0].(*syntax.Name)
			if isName && len(s.Targets) == 1 && memberValue(s.X) && !taken[target.ID] {
				taken[target.ID] = true
				members++
				continue
			}
		}
		f.fail(s.Offset(), name, "an enumeration holds its members alone, NAME = \"value\" with a text, a number or auto(), each name once; move it into a function")
	}
	if members == 0 {
		f.fail(s.Offset(), name, "the enumeration has no members; add NAME = \"value\"")
	}
}

func enumBases() []string {
	return []string{"Enum", "IntEnum", "StrEnum", "str", "int", "float"}
}

// lastName returns the name of a name or an attribute.
func lastName(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Name:
		return x.ID
	case *syntax.Attribute:
		return x.Name
	default:
		return ""
	}
}

// memberValue reports whether an expression can be the value of a member.
func memberValue(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Constant:
		return x.Value != nil && x.Value != syntax.Ellipsis
	case *syntax.Unary:
		return memberValue(x.X)
	case *syntax.Call:
		return lastName(x.Func) == "auto" && len(x.Args) == 0
	default:
		return false
	}
}

// imports checks a node that is an import, in a function or at the top level.
func (f *file) imports(node syntax.Expr, function string) {
	var module, member string
	switch s := node.(type) {
	case *syntax.Import:
		module = s.Module
	case *syntax.ImportFrom:
		module, member = s.Module, s.Member
	default:
		return
	}
	if strings.HasPrefix(module, "tool_sandbox") || !interp.Importable(module) {
		if f.refused != node.Offset() {
			f.fail(node.Offset(), function, "%s", f.refuse(module))
		}
		f.refused = node.Offset()
		return
	}
	if known := interp.Members(module); member != "" && member != "*" && known != nil && !slices.Contains(known, member) {
		f.fail(node.Offset(), function, "%s has no %s here, only %s", module, member, strings.Join(known, ", "))
	}
}

// variable reports whether a target is a name, or several.
func variable(target syntax.Expr) bool {
	if several, ok := target.(*syntax.Sequence); ok {
		return !slices.ContainsFunc(several.Items, func(x syntax.Expr) bool { return !variable(x) })
	}
	_, ok := target.(*syntax.Name)
	return ok
}

// constant reports whether an expression has the same value in every call: it consists of literals,
// of names that are imported, such as math.pi, and of calls of these, such as re.compile("a+").
func (f *file) constant(x syntax.Expr) bool {
	all := func(list []syntax.Expr) bool {
		return !slices.ContainsFunc(list, func(x syntax.Expr) bool { return x == nil || !f.constant(x) })
	}
	switch x := x.(type) {
	case *syntax.Constant:
		return true
	case *syntax.Name:
		return f.modules[x.ID]
	case *syntax.Attribute:
		return f.constant(x.X) && !slices.Contains([]string{"now", "today", "utcnow"}, x.Name)
	case *syntax.Call:
		name, _ := x.Func.(*syntax.Name)
		attribute, _ := x.Func.(*syntax.Attribute)
		args := make([]syntax.Expr, len(x.Args))
		for i := range x.Args {
			args[i] = x.Args[i].X
		}
		return (name != nil || attribute != nil) && f.constant(x.Func) && all(args)
	case *syntax.Binary:
		return f.constant(x.X) && f.constant(x.Y)
	case *syntax.Unary:
		return f.constant(x.X)
	case *syntax.Sequence:
		return all(x.Items)
	case *syntax.Dict:
		return all(x.Keys) && all(x.Values)
	default:
		return false
	}
}

// Walk visits the expressions of statements as syntax.Walk does. field is the offset of the
// f-string that contains an expression, because these expressions have no offset of their own, or
// -1.
func Walk(body []syntax.Stmt, visit func(node syntax.Expr, field int) bool) {
	syntax.Walk(body, func(node syntax.Expr) bool { return walk(node, -1, visit) })
}

func walk(node syntax.Expr, field int, visit func(node syntax.Expr, field int) bool) bool {
	joined, ok := node.(*syntax.JoinedStr)
	if !ok {
		return visit(node, field)
	}
	if field < 0 {
		field = joined.Offset()
	}
	for _, part := range joined.Parts {
		syntax.WalkExpr(part, func(node syntax.Expr) bool { return walk(node, field, visit) })
	}
	return false
}

// TypeName returns the name of a type in a hint, without the module typing, and empty for other
// expressions.
func TypeName(hint syntax.Expr) string {
	if attribute, ok := hint.(*syntax.Attribute); ok {
		if of, ok := attribute.X.(*syntax.Name); ok && of.ID == "typing" {
			return attribute.Name
		}
		return ""
	}
	name, ok := hint.(*syntax.Name)
	if !ok {
		return ""
	}
	return name.ID
}

// UnionTypes appends the types that a hint is a union of.
func UnionTypes(hint syntax.Expr, to []syntax.Expr) (parts []syntax.Expr, ok bool) {
	switch hint := hint.(type) {
	case *syntax.Constant, *syntax.Name, *syntax.Attribute:
		return append(to, hint), true
	case *syntax.Binary:
		if hint.Op != "|" {
			return nil, false
		}
		if to, ok = UnionTypes(hint.X, to); !ok {
			return nil, false
		}
		return UnionTypes(hint.Y, to)
	case *syntax.Subscript:
		switch TypeName(hint.X) {
		case "Optional":
			to, ok = UnionTypes(hint.Index, to)
			return append(to, &syntax.Constant{}), ok
		case "Union":
			items := []syntax.Expr{hint.Index}
			if several, is := hint.Index.(*syntax.Sequence); is {
				items = several.Items
			}
			for _, item := range items {
				if to, ok = UnionTypes(item, to); !ok {
					return nil, false
				}
			}
			return to, true
		}
		return append(to, hint), true
	}
	return nil, false
}
