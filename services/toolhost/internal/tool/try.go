package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/python/syntax"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// Try calls the tools in Python of a pack, or the built-in ones without any, with made-up
// arguments: once with all and once with the required ones, each in a copy of the world. It returns
// the tools' defects. An exception that a tool raises on purpose is none, nor is one that depends
// on the arguments, such as ValueError, KeyError or AssertionError. The error is the context's.
func (c *Catalogue) Try(ctx context.Context, start session.World) (source.Mistakes, error) {
	var faults source.Mistakes
	own := slices.ContainsFunc(c.tools, (*Tool).IsPackTool)
	for _, t := range c.tools {
		if t.def == nil || own && !t.fromPack {
			continue
		}
		all, required := t.madeUp(&start)
		before := len(faults)
		for i, args := range [][]python.Arg{all, required} {
			if i > 0 && (len(args) == len(all) || len(faults) > before) {
				continue
			}
			if err := t.try(ctx, start, args, &faults); err != nil {
				return nil, err
			}
		}
	}
	return faults, nil
}

// try calls the function once in a copy of the world.
func (t *Tool) try(ctx context.Context, copied session.World, args []python.Arg, faults *source.Mistakes) error {
	at, file := syntax.Stmt(t.def), "tools/"+t.Module+".py"
	result, outcome := t.program.Call(ctx, t.def, args, moduleWorld{ctx, &copied})
	if outcome.Statement != nil {
		at = outcome.Statement
	}
	exception, raised := errors.AsType[*python.Exception](outcome.Err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case raised && isDefect(exception, outcome.Statement):
		faults.Add(file, t.source, at.Offset(), t.Name, "%v, when called as %s", exception, callText(t.Name, args))
	case outcome.Err == nil && t.result != nil && !t.result.acceptsAll(result):
		hint, _ := syntax.Unparse(t.def.Function.Returns)
		faults.Add(file, t.source, at.Offset(), t.Name, "it returns %s, but the hint says %s, when called as %s", shorten(python.Repr(result)), hint, callText(t.Name, args))
	}
	return nil
}

// isDefect reports whether an exception shows a mistake in a function rather than in its arguments.
// at is the statement that raised it.
func isDefect(exception *python.Exception, at syntax.Stmt) bool {
	if _, onPurpose := at.(*syntax.Raise); onPurpose {
		return false
	}
	return slices.Contains([]string{"NameError", "UnboundLocalError", "TypeError", "AttributeError", "ImportError", "ModuleNotFoundError",
		"RecursionError", "MemoryError", "TimeoutError", "SystemError", columnNotFoundError}, exception.Type)
}

// madeUp returns values for all parameters, and for the required ones.
func (t *Tool) madeUp(w *session.World) (all, required []python.Arg) {
	for i := range t.Params {
		p := &t.Params[i]
		arg := python.Arg{Name: p.Name, Value: p.madeUp(w), Given: true}
		all = append(all, arg)
		if !p.Optional {
			required = append(required, arg)
		}
	}
	return all, required
}

// madeUp returns a value of a parameter: its first choice, a cell of the column with its name, or
// one that suits its type.
func (p *Param) madeUp(w *session.World) python.Value {
	if len(p.Choices) > 0 {
		return python.Str(p.Choices[0])
	}
	for _, table := range w.Tables() {
		for column, of := range table.Columns {
			if p.Name != of.Name && (column > 0 || !strings.HasSuffix(p.Name, "_"+of.Name)) {
				continue
			}
			for _, row := range w.Rows(table.Name) {
				if cell := row[column]; !cell.IsNone() && p.Type.accepts(cell) {
					return cell
				}
			}
		}
	}
	if len(p.Type.alternatives) == 0 {
		return python.None()
	}
	first := p.Type.alternatives[0]
	switch {
	case len(first.choices) == 0 && first.kind == python.KindStr && strings.HasSuffix(p.Name, "phone_number"):
		return python.Str("+14155550132")
	case len(first.choices) == 0 && first.kind == python.KindFloat && strings.Contains(p.Name, "timestamp"):
		return python.Float(w.Now())
	}
	return first.madeUp()
}

// madeUp returns a value of a type, its first choice if it has some.
func (a *alternative) madeUp() python.Value {
	if len(a.choices) > 0 {
		return a.choices[0]
	}
	var items []python.Value
	if a.items != nil && len(a.items.alternatives) > 0 {
		items = append(items, a.items.alternatives[0].madeUp())
	}
	switch a.kind {
	case python.KindStr:
		return python.Str("text")
	case python.KindBool:
		return python.Bool(true)
	case python.KindInt:
		return python.Int(1)
	case python.KindFloat:
		return python.Float(1)
	case python.KindList:
		return python.List(items...)
	case python.KindDict:
		dict := &python.Dict{}
		for _, item := range items {
			dict.Set("text", item)
		}
		return dict.Value()
	default:
		return python.None()
	}
}

// callText returns a call in Python.
func callText(name string, args []python.Arg) string {
	parts := make([]string, len(args))
	for i, arg := range args {
		parts[i] = arg.Name + "=" + python.Repr(arg.Value)
	}
	return shorten(fmt.Sprintf("%s(%s)", name, strings.Join(parts, ", ")))
}

// shorten cuts a text for a message.
func shorten(text string) string {
	const most = 200
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
