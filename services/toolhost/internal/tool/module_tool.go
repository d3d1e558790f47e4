package tool

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// These are the decorators of tools.
const (
	// userDecorator marks a tool of the user.
	userDecorator = "user"
	// visibleDecorator names the roles that have a tool.
	visibleDecorator = "visible_to"
	// confirmDecorator marks a tool that needs the user's consent, and may say to what.
	confirmDecorator = "confirm"
	// needsDecorator names the services that must be on, defaultNeedsDecorator those that must be on
	// if optional arguments are omitted.
	needsDecorator        = "needs"
	defaultNeedsDecorator = "needs_by_default"
	// uncheckedDecorator disables type checks of arguments.
	uncheckedDecorator = "unchecked"
	// backendDecorator sets the backend of an implementation.
	backendDecorator = "backend"
	defaultBackend   = "DEFAULT"
)

func decorators() []string {
	return []string{backendDecorator, confirmDecorator, needsDecorator, defaultNeedsDecorator, uncheckedDecorator, userDecorator, visibleDecorator}
}

// decorators checks the decorators of a function.
func (m *module) decorators(def *syntax.Def) {
	for _, x := range def.Decorators {
		name, texts, called := decorator(x)
		switch {
		case m.originalDecorator(def, x):
		case name == nil, name.Binding != syntax.BindingBuiltin, library().Has(name.ID) && !slices.Contains(decorators(), name.ID):
			m.unknownDecorator(def, x)
		case !library().Has(name.ID): // reported by names
		case name.ID == backendDecorator:
			if !called || len(texts) != 1 || !backendName.MatchString(texts[0]) {
				m.fail(x.Offset(), def.Name.ID, `write @backend("NAME") with up to 60 capital letters, digits and underscores`)
			}
		case name.ID == needsDecorator, name.ID == defaultNeedsDecorator:
			if len(texts) == 0 || slices.ContainsFunc(texts, func(text string) bool { return !slices.Contains(services(), Need(text)) }) {
				m.fail(x.Offset(), def.Name.ID, `write @%s with one or more of "wifi", "cellular" and "location_service"`, name.ID)
			}
		case name.ID == visibleDecorator:
			m.visible(def, x, texts)
		case name.ID == confirmDecorator && called:
			if len(texts) != 1 || actionKey(texts[0]) == "" {
				m.fail(x.Offset(), def.Name.ID, `write @confirm("ACTION") with what the user allows, e.g. "send a text message"`)
			}
		case called:
			m.unknownDecorator(def, x)
		}
	}
}

// visible checks the roles that a decorator gives a tool to.
func (m *module) visible(def *syntax.Def, x syntax.Expr, roles []string) {
	if len(roles) == 0 || slices.ContainsFunc(roles, func(role string) bool { return role != toAgent && role != toUser }) {
		m.fail(x.Offset(), def.Name.ID, `write @visible_to("agent"), @visible_to("user") or @visible_to("agent", "user")`)
	}
	if decorated(def, userDecorator) {
		m.fail(x.Offset(), def.Name.ID, "@visible_to says the same as @user, or otherwise; remove one of them")
	}
}

func (m *module) unknownDecorator(def *syntax.Def, x syntax.Expr) {
	m.fail(x.Offset(), def.Name.ID, `unknown decorator; expected one of @confirm, @unchecked, @user, @backend("NAME"), @confirm("ACTION"), @needs("SERVICE"), @needs_by_default("SERVICE"), @visible_to("ROLE")`)
}

// decorator returns the name of a decorator, nil for other expressions, and its arguments, which
// are nil unless all are literal texts.
func decorator(x syntax.Expr) (name *syntax.Name, texts []string, called bool) {
	call, called := x.(*syntax.Call)
	if called {
		x = call.Func
		for _, arg := range call.Args {
			text, ok := literalText(arg.X)
			if !ok || arg.Name != "" || arg.Stars > 0 {
				texts = nil
				break
			}
			texts = append(texts, text)
		}
	}
	name, _ = x.(*syntax.Name)
	return name, texts, called
}

// decoratorTexts returns the arguments of a function's decorator. ok reports whether it has it.
func decoratorTexts(def *syntax.Def, of string) (texts []string, ok bool) {
	for _, x := range def.Decorators {
		if name, texts, _ := decorator(x); name != nil && name.ID == of {
			return texts, true
		}
	}
	return nil, false
}

var backendName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,59}$`)

// backendOf returns the backend in a function's decorator, empty without one.
func backendOf(def *syntax.Def) string {
	if names, _ := decoratorTexts(def, backendDecorator); len(names) == 1 && names[0] != defaultBackend {
		return names[0]
	}
	return ""
}

func decorated(def *syntax.Def, with string) bool {
	_, ok := decoratorTexts(def, with)
	return ok
}

// needsOf returns the services in a function's decorator.
func needsOf(def *syntax.Def, of string) (needs []Need) {
	names, _ := decoratorTexts(def, of)
	for _, name := range names {
		needs = append(needs, Need(name))
	}
	return needs
}

// tool converts a function to a tool.
func (m *module) tool(def *syntax.Def) *Tool {
	f, name := def.Function, def.Name.ID
	backend := backendOf(def)
	switch owner := m.owners[implementation{name, backend}]; {
	case !toolName.MatchString(name):
		m.fail(def.Offset(), name, "the name has to be up to 60 letters, digits and underscores of ASCII")
	case library().Has(name), name == world.AllowTool:
		m.fail(def.Offset(), name, "%s means something in Python or to tools already; rename the function", name)
	case owner != "":
		m.fail(def.Offset(), name, "the name is that of %s; rename the function, or give it a @backend of its own", owner)
	default:
		m.owners[implementation{name, backend}] = "a tool in tools/" + m.name + ".py"
	}
	if f.Args >= 0 || f.Kwargs >= 0 || f.PositionalOnly > 0 || f.Positional < len(f.Params) {
		m.fail(def.Offset(), name, "parameters of tools are plain ones: no *, ** or /")
	}
	if f.Returns == nil {
		m.fail(def.Offset(), name, "there is no hint of what it returns; write -> None if that is nothing")
	}
	doc := m.docstring(def)
	roles, _ := decoratorTexts(def, visibleDecorator)
	forUser := decorated(def, userDecorator) || slices.Contains(roles, toUser)
	t := &Tool{
		Name: name, Module: m.name, Description: doc.description, User: forUser, Shared: forUser && slices.Contains(roles, toAgent), Unchecked: decorated(def, uncheckedDecorator),
		Backend: backend, Needs: needsOf(def, needsDecorator), DefaultNeeds: needsOf(def, defaultNeedsDecorator), ReadOnly: !m.changesWorld(name, make(map[string]bool)), fromPack: !m.builtin,
		result: m.result(def), def: def, program: m.prepared, source: m.source,
	}
	m.confirmed(def, t)
	for i := range f.Params {
		t.Params = append(t.Params, m.param(def, &f.Params[i], doc))
	}
	for _, entry := range doc.args {
		if entry.name != "" && !hasParam(def, entry.name) {
			m.fail(entry.at, name, "Args: there is no parameter %s; take the entry out or rename it", entry.name)
		}
	}
	t.Run = func(ctx context.Context, w *session.World, args Args) (python.Value, error) {
		result, outcome := t.program.Call(ctx, def, args.bound, moduleWorld{ctx, w})
		*args.steps = outcome.Steps
		return result, outcome.Err
	}
	return t
}

func hasParam(def *syntax.Def, name string) bool {
	return slices.ContainsFunc(def.Function.Params, func(p syntax.Param) bool { return p.Name == name })
}

// confirmed sets whether a tool needs consent.
func (m *module) confirmed(def *syntax.Def, t *Tool) {
	action, confirm := decoratorTexts(def, confirmDecorator)
	switch {
	case len(action) == 1:
		t.ConsentAction = action[0]
	case confirm:
		t.ConsentAction = strings.ReplaceAll(t.Name, "_", " ")
	}
	if confirm && t.User && !t.Shared {
		m.fail(def.Offset(), t.Name, "the user's own calls need no consent; take @%s away, or give the tool to the agent too", confirmDecorator)
	}
	if other, twice := m.confirm[t.Name]; twice && other != confirm {
		m.fail(def.Offset(), t.Name, "the implementations of a tool all have @%s, or none has; add it, or take it away", confirmDecorator)
	}
	m.confirm[t.Name] = confirm
	if !confirm || actionKey(t.ConsentAction) == "" {
		return
	}
	key := actionKey(t.ConsentAction)
	if other := m.actions[key]; other != "" && other != t.Name {
		m.fail(def.Offset(), t.Name, "the user already allows %q for %s; write @%s with other words", t.ConsentAction, other, confirmDecorator)
	}
	m.actions[key] = t.Name
}

// param converts a parameter of a function to one of a tool.
func (m *module) param(def *syntax.Def, p *syntax.Param, doc docstring) Param {
	name := def.Name.ID
	out := Param{Name: p.Name, Optional: p.Default != nil}
	if entry := doc.arg(p.Name); entry != nil {
		out.Description = entry.text
	}
	misspelt := slices.ContainsFunc(doc.args, func(entry docArg) bool { return entry.name != "" && !hasParam(def, entry.name) })
	if out.Description == "" && doc.description != "" && !misspelt {
		m.fail(doc.at, name, "the docstring does not describe %s; add an entry under Args:", p.Name)
	}
	if p.Hint == nil {
		m.fail(def.Offset(), name, "parameter %s has no type hint; write %s: str, bool, int, float, List[…] or Dict[str, …]", p.Name, p.Name)
		return out
	}
	var ok bool
	if out.Type, ok = (hints{program: m.prepared}).read(p.Hint); !ok || out.Type.anything {
		m.fail(p.Hint.Offset(), name, "the type of %s is none that a model can give; write str, bool, int, float, Literal[…], an Enum of this file, List[…] or Dict[str, …], perhaps in Optional[…] or Union[…, NotGiven]", p.Name)
		return out
	}
	if out.Optional {
		m.parseDefault(def, p, &out)
	} else if out.Type.NotGiven {
		m.fail(p.Hint.Offset(), name, "%s may be left out; give it the default NOT_GIVEN", p.Name)
	}
	return out
}

// parseDefault parses the default of a parameter.
func (m *module) parseDefault(def *syntax.Def, p *syntax.Param, out *Param) {
	at, name := p.Default.Offset(), def.Name.ID
	if word, ok := p.Default.(*syntax.Name); ok && word.ID == "NOT_GIVEN" {
		if !out.Type.NotGiven {
			m.fail(at, name, "%s has the default NOT_GIVEN; write its type as Union[…, NotGiven]", p.Name)
		}
		return
	}
	if out.Type.NotGiven {
		m.fail(at, name, "%s may be NotGiven; its default is NOT_GIVEN", p.Name)
		return
	}
	var ok bool
	if out.Default, ok = constant(p.Default); !ok && m.prepared != nil {
		if out.Default, ok = m.prepared.Member(p.Default); !ok && m.missingMember(p.Default) != nil {
			return // reported by names
		}
	}
	if !ok || !out.Type.accepts(out.Default) {
		m.fail(at, name, "the default of %s does not fit its type, or is no constant; write one that does, or Optional[…] and None", p.Name)
	}
}
