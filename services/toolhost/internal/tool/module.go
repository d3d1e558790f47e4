package tool

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python/source"
	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// Mistake is a mistake in a pack's tools.
type Mistake struct {
	// Module is the base name of the file, Server that of a tool server. One of them is empty.
	Module, Server string
	// Line and Column count from 1. A column is a character.
	Line, Column int
	// Function is the function with the mistake, if any.
	Function string
	// Reason states the mistake and the remedy.
	Reason string
}

// Mistakes are all mistakes of a pack's tools, sorted by file and line. It is never empty.
type Mistakes []Mistake

// Error returns one line per mistake.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i := range m {
		if m[i].Server != "" {
			lines[i] = fmt.Sprintf("tool server %s: %s: %s", m[i].Server, m[i].Function, m[i].Reason)
			continue
		}
		lines[i] = fmt.Sprintf("tools/%s.py:%d:%d: %s: %s", m[i].Module, m[i].Line, m[i].Column, cmp.Or(m[i].Function, "file"), m[i].Reason)
	}
	return strings.Join(lines, "\n")
}

// These are limits of a pack's files, which are part of every setup.
const (
	maxModules = 64
	maxSource  = 1 << 17 // bytes of all files
)

// Pack is a pack's part of a session's tools.
type Pack struct {
	Modules []*setupv1.ToolModule
	// Servers are the pack's tool servers.
	Servers []*setupv1.ToolServer
	// Backend is the preferred backend. Empty means DEFAULT.
	Backend string
	// Schema has the tables that tools may use. Without the built-in tables, only the pack's tools and
	// the user's built-in ones are available.
	Schema *world.Schema
}

// PackOf returns the pack of a setup. The setup's tables must be valid.
func PackOf(setup *setupv1.Setup) Pack {
	return Pack{
		Modules: setup.GetToolModules(), Servers: setup.GetToolServers(), Backend: setup.GetToolBackend(), Schema: world.SchemaOf(setup.GetSchema()),
	}
}

// Extend returns the catalogue with the tools of a pack. They follow the built-in ones by module
// and function; tools of servers are last. Of several implementations it contains that of the
// preferred backend, otherwise of DEFAULT, otherwise the first. The error is Mistakes.
func (c *Catalogue) Extend(pack Pack) (*Catalogue, error) {
	if !pack.Schema.HasBuiltin() {
		c = New(slices.DeleteFunc(slices.Clone(c.tools), func(t *Tool) bool { return !t.User }))
	}
	if len(pack.Modules) == 0 && len(pack.Servers) == 0 {
		return c, nil
	}
	tools, taken, confirm, size := slices.Clone(c.tools), make(map[implementation]string), make(map[string]bool), 0
	var mistakes Mistakes
	for _, t := range c.tools {
		taken[implementation{t.Name, t.Backend}] = "a built-in tool"
	}
	for i, source := range pack.Modules {
		m := &module{name: source.GetName(), source: source.GetSource(), schema: pack.Schema, taken: taken, confirm: confirm}
		size += len(m.source)
		switch {
		case size > maxSource || i >= maxModules:
			m.fail(0, "", "with this file, the pack's tools have more than %d bytes or files than %d, which are the most", maxSource, maxModules)
		case slices.ContainsFunc(pack.Modules[:i], func(other *setupv1.ToolModule) bool { return other.GetName() == m.name }):
			m.fail(0, "", "another file has the name %s; rename one of them", m.name)
		case slices.ContainsFunc(c.tools, func(t *Tool) bool { return t.Module == m.name }):
			m.fail(0, "", "built-in tools have the module %s; rename the file", m.name)
		default:
			m.compile()
		}
		tools, mistakes = append(tools, m.tools...), append(mistakes, m.mistakes...)
	}
	served, wrong := serverTools(pack.Servers, pack.Schema, taken)
	tools, mistakes = append(tools, served...), append(mistakes, wrong...)
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return New(preferBackend(tools, pack.Backend)), nil
}

// implementation identifies an implementation of a tool by its backend.
type implementation struct{ tool, backend string }

// preferBackend returns one implementation of each tool, at the position of the first.
func preferBackend(tools []*Tool, backend string) []*Tool {
	places := make(map[string]int, len(tools))
	var chosen []*Tool
	for _, t := range tools {
		at, twice := places[t.Name]
		switch {
		case !twice:
			places[t.Name] = len(chosen)
			chosen = append(chosen, t)
		case t.Backend == backend || t.Backend == "" && chosen[at].Backend != backend:
			chosen[at] = t
		}
	}
	return chosen
}

// toolName matches the function names that model providers accept.
var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,59}$`)

// module is the state of reading a file of tools.
type module struct {
	name, source string
	schema       *world.Schema
	// taken maps each implementation to its owner for messages.
	taken map[implementation]string
	// confirm maps each tool to whether it needs consent.
	confirm  map[string]bool
	program  *syntax.Module
	defs     map[string]*syntax.Def
	tools    []*Tool
	mistakes Mistakes
}

// fail records a mistake at an offset of the source.
func (m *module) fail(at int, function, format string, args ...any) {
	line, column := source.Place(m.source, at)
	m.mistakes = append(m.mistakes, Mistake{
		Module: m.name, Line: line, Column: column, Function: function,
		Reason: fmt.Sprintf(format, args...),
	})
}

// compile converts the public functions to tools.
func (m *module) compile() {
	m.program, m.defs = source.Read(m.source, "tools may import json and typing; the world is there as world", m.fail)
	if m.program == nil {
		return
	}
	for _, s := range m.program.Body {
		def, ok := s.(*syntax.Def)
		if !ok {
			m.names("", []syntax.Stmt{s})
			continue
		}
		m.decorators(def)
		m.names(def.Name.ID, []syntax.Stmt{def})
		if !strings.HasPrefix(def.Name.ID, "_") && m.defs[def.Name.ID] == def {
			m.tools = append(m.tools, m.tool(def))
		}
	}
	if len(m.tools) == 0 && len(m.mistakes) == 0 {
		m.fail(0, "", "there is no tool: a tool is a function whose name begins with a letter")
	}
	slices.SortStableFunc(m.mistakes, func(a, b Mistake) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
}

// hint returns a suggestion for an unknown name.
func hint(name string, known []string) string {
	if near := spelling.Nearest(name, known, 2); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; expected one of " + strings.Join(known, ", ")
}
