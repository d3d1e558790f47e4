// Package scenario builds and checks scenarios: a task, its world and its scoring. Shared builds
// those that authors describe in YAML; Validate checks one from any source.
package scenario

import (
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/phone"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// Options define what scenarios may use. OptionsFor returns those for a list of tools. The zero
// value accepts every tool.
type Options struct {
	// Known reports whether a tool exists, by its real name. Nil accepts every name.
	Known func(tool string) bool
	// Tools are names to suggest in a message about an unknown tool. It may be empty.
	Tools []string

	// Categories are the pack's own categories.
	Categories []string
	// Backends are the backends of known tools, except the default one.
	Backends []string

	// ConsentTools are built-in tools that need the user's consent if a scenario requests it.
	ConsentTools []*setupv1.ConsentTool

	// AllowUnreachable accepts targets that no call of the agent reaches. One of the original's
	// scenarios has them.
	AllowUnreachable bool

	// Compile returns the tools of a setup. It uses the pack's Python files, tables and backend: the
	// result contains the files' tools and, unless the pack is standalone, the built-in ones. It also
	// returns the files' tools that always need the user's consent. Errors are mistakes in the files.
	// Nil accepts every file.
	Compile func(setup *setupv1.Setup) ([]*toolhostv1.ToolInfo, []*setupv1.ConsentTool, document.Errors)

	// modules and servers are those whose tools are known. standalone is that of their pack, and
	// backend the preferred backend.
	modules    []*setupv1.ToolModule
	servers    []*setupv1.ToolServer
	standalone bool
	backend    string
	// moduleConsentTools are the modules' tools that need consent.
	moduleConsentTools []*setupv1.ConsentTool
	// packMeasures are the pack's measures.
	packMeasures packMeasures
	// shapes describes tools. Calls of other tools are not checked.
	shapes map[string]*toolShape
	// phones caches valid phone numbers.
	phones *sync.Map
}

// phone reports whether a text is a phone number in international form.
func (o Options) phone(number string) bool {
	if o.phones != nil {
		if _, ok := o.phones.Load(number); ok {
			return true
		}
	}
	valid := phone.Check(number) == nil
	if valid && o.phones != nil {
		o.phones.Store(number, true)
	}
	return valid
}

// isKnownTool reports whether a tool name is accepted.
func (o Options) isKnownTool(tool string) bool { return o.Known == nil || o.Known(tool) }
