package tool

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

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
		Modules: setup.GetToolModules(), Servers: setup.GetToolServers(), Backend: setup.GetToolBackend(), Schema: world.SchemaOrBuiltin(setup.GetSchema()),
	}
}

// Extend returns the catalogue with the tools of a pack. They follow the built-in ones by module
// and function; tools of servers are last. Of several implementations it contains that of the
// preferred backend, otherwise of DEFAULT, otherwise the first. The error is source.Mistakes.
func (c *Catalogue) Extend(pack Pack) (*Catalogue, error) {
	if !pack.Schema.HasBuiltin() {
		c = New(slices.DeleteFunc(slices.Clone(c.tools), func(t *Tool) bool { return !t.User }))
	}
	if len(pack.Modules) == 0 && len(pack.Servers) == 0 {
		return c, nil
	}
	tools, taken, confirm, size := slices.Clone(c.tools), make(map[implementation]string), make(map[string]bool), 0
	var mistakes source.Mistakes
	actions := make(map[string]string)
	for _, t := range c.tools {
		taken[implementation{t.Name, t.Backend}] = "a built-in tool"
		if t.ConsentAction != "" {
			actions[actionKey(t.ConsentAction)] = t.Name
		}
	}
	for i, file := range pack.Modules {
		m := &module{name: file.GetName(), source: file.GetSource(), schema: pack.Schema, owners: taken, confirm: confirm, actions: actions}
		size += len(m.source)
		switch {
		case size > maxSource || i >= maxModules:
			m.fail(0, "", "with this file, the pack's tools exceed %d bytes or %d files; remove or shorten files", maxSource, maxModules)
		case slices.ContainsFunc(pack.Modules[:i], func(other *setupv1.ToolModule) bool { return other.GetName() == m.name }):
			m.fail(0, "", "another file has the name %s; rename one of them", m.name)
		case slices.ContainsFunc(c.tools, func(t *Tool) bool { return t.Module == m.name }):
			m.fail(0, "", "built-in tools have the module %s; rename the file", m.name)
		default:
			m.compile()
		}
		tools, mistakes = append(tools, m.tools...), append(mistakes, m.mistakes...)
	}
	served, serverMistakes := serverTools(pack.Servers, pack.Schema, taken)
	tools, mistakes = append(tools, served...), append(mistakes, serverMistakes...)
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return New(preferBackend(tools, pack.Backend)), nil
}

// implementation identifies an implementation of a tool by its backend.
type implementation struct{ tool, backend string }

// preferBackend returns one implementation of each tool, at the position of the first.
func preferBackend(tools []*Tool, backend string) []*Tool {
	indices := make(map[string]int, len(tools))
	var preferred []*Tool
	for _, t := range tools {
		at, twice := indices[t.Name]
		switch {
		case !twice:
			indices[t.Name] = len(preferred)
			preferred = append(preferred, t)
		case t.Backend == backend || t.Backend == "" && preferred[at].Backend != backend:
			preferred[at] = t
		}
	}
	return preferred
}

// toolName matches the function names that model providers accept.
var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,59}$`)

// module is the state of reading a file of tools.
type module struct {
	name, source string
	schema       *world.Schema
	// owners maps each implementation to its owner for messages.
	owners map[implementation]string
	// confirm maps each tool to whether it needs consent. actions maps what the user allows, as
	// actionKey, to its tool.
	confirm map[string]bool
	actions map[string]string
	// builtin reports that the file is one of the pack phone.
	builtin  bool
	program  *syntax.Module
	prepared *interp.Program
	defs     map[string]*syntax.Def
	tools    []*Tool
	mistakes source.Mistakes
	// foreign are the names that imports of other modules bind, with their modules. contexts are the
	// variables that hold the original's context. replaced are expressions that are reported.
	foreign  map[string]string
	contexts map[string]bool
	replaced map[syntax.Expr]bool
}

// fail records a mistake at an offset of the source.
func (m *module) fail(at int, function, format string, args ...any) {
	m.mistakes.Add("tools/"+m.name+".py", m.source, at, function, format, args...)
}

// compile converts the public functions to tools.
func (m *module) compile() {
	m.program, m.defs = source.Parse(m.source, refusal, m.fail)
	if m.program == nil {
		return
	}
	m.prepared = library().Prepare(m.program)
	m.foreign, m.contexts, m.replaced = foreignNames(m.program), make(map[string]bool), make(map[syntax.Expr]bool)
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
	if len(m.mistakes) == 0 {
		source.Start(m.prepared, topLevel{}, m.fail)
	}
	m.mistakes.Sort()
}

// hint returns a suggestion for an unknown name.
func hint(name string, known []string) string {
	if nearest := spelling.Nearest(name, known, 2); nearest != "" {
		return fmt.Sprintf("; did you mean %q?", nearest)
	}
	return "; expected one of " + strings.Join(known, ", ")
}
