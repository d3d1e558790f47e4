// Package scenario reads scenarios as people write them, YAML files that describe a task, its world
// and its scoring, and checks them. docs/scenarios.md describes the format.
package scenario

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/phone"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Options say what scenarios are checked against; For makes them of tools. The zero value accepts
// every tool.
type Options struct {
	// Known says whether a tool exists, by its real name. Nil accepts every name.
	Known func(tool string) bool
	// Tools are the names that a message about an unknown tool may suggest. May be empty.
	Tools []string

	// Confirm are the built-in tools that need the user's consent where a scenario says so.
	Confirm []*setupv1.ConfirmedTool

	// Impossible accepts targets that no call of the agent reaches; one of the original's scenarios
	// has them.
	Impossible bool

	// Compile returns all tools of a setup, of which it reads the pack's files in Python, tables and
	// backend: those of the files, and the built-in ones unless the pack stands alone. It also returns
	// those of the files that always need the user's consent. Or it returns what is wrong with the
	// files. Nil accepts every file.
	Compile func(setup *setupv1.Setup) ([]*toolhostv1.ToolInfo, []*setupv1.ConfirmedTool, Errors)
	// Measures returns the measures and extractors of a pack's own, of which evaluation has the files
	// and nothing else, or what is wrong with them. Nil accepts every file.
	Measures func(evaluation *evaluationv1.Evaluation) ([]OwnMeasure, Errors)
	// ListTools asks a tool server of a pack for its tools. The error says that it cannot be asked, or
	// what is wrong with it. Nil asks none: packs need files with the lists then.
	ListTools func(server Server) ([]*toolsv1.Tool, error)
	// Thaw asks for them even where the pack holds the list.
	Thaw bool
	// Backend is the preferred one of tools that have several; empty is DefaultBackend.
	Backend string

	// categories are those of a pack's own.
	categories []string
	// modules and servers are those whose tools are known, alone says whether their pack stands
	// alone, and backend is the one that was preferred.
	modules []*setupv1.ToolModule
	servers []*setupv1.ToolServer
	alone   bool
	backend string
	// confirm are those of the modules' tools that need consent.
	confirm []*setupv1.ConfirmedTool
	// backends are those of the known tools, without DefaultBackend.
	backends []string
	// own are the pack's own measures.
	own ownMeasures
	// shapes describes tools; calls of those that are not there are not checked.
	shapes map[string]*toolShape
	// zones holds the names of time zones that exist, as far as they have been looked up. Nil looks
	// each one up again.
	zones *sync.Map
	// phones holds the numbers that have been found good, as zones holds time zones.
	phones *sync.Map
}

// DefaultBackend is the backend of tools that name none, as the original calls it.
const DefaultBackend = "DEFAULT"

// zone says whether there is a time zone of that name.
func (o Options) zone(name string) bool {
	if o.zones != nil {
		if _, known := o.zones.Load(name); known {
			return true
		}
	}
	_, err := time.LoadLocation(name)
	if err == nil && o.zones != nil {
		o.zones.Store(name, true)
	}
	return err == nil
}

// phone says whether a text is a phone number in international form.
func (o Options) phone(number string) bool {
	if o.phones != nil {
		if _, known := o.phones.Load(number); known {
			return true
		}
	}
	good := phone.Check(number) == nil
	if good && o.phones != nil {
		o.phones.Store(number, true)
	}
	return good
}

// known says whether a tool's name passes.
func (o Options) known(tool string) bool { return o.Known == nil || o.Known(tool) }

// Loaded is one scenario with the place where it is written.
type Loaded struct {
	// Scenario is the canonical form. It has passed Validate.
	Scenario *scenariov1.Scenario
	// Position is the first field of its document.
	Position Position
	// World is the name of the world that the scenario starts from, empty if it has none.
	World string
	// Base is that world's tables at the scenario's time, before the scenario changes them. Nil if
	// the scenario is read in its canonical form.
	Base []*worldv1.Table
}

// LoadDir loads the scenarios in a directory; see LoadPack.
func LoadDir(dir string, opts Options) ([]Loaded, error) {
	return Load(directory(dir), opts)
}

// Load returns the scenarios of a pack; see LoadPack.
func Load(fsys fs.FS, opts Options) ([]Loaded, error) {
	pack, err := LoadPack(fsys, opts)
	if err != nil {
		return nil, err
	}
	return pack.Scenarios, nil
}

// duplicates reports names that more than one scenario has; loaded is sorted by name.
func duplicates(loaded []packed) Errors {
	var mistakes Errors
	for i := 1; i < len(loaded); i++ {
		name := loaded[i].name
		if name == "" || name != loaded[i-1].name {
			continue
		}
		at, first := loaded[i].Position, loaded[i-1].Position
		mistakes = append(mistakes, &Error{
			File: at.File, Line: at.Line, Column: at.Column, Field: name,
			Reason: fmt.Sprintf("another scenario is called %q too, at %s:%d:%d; names must be unique", name, first.File, first.Line, first.Column),
		})
	}
	return mistakes
}

// sort orders mistakes by file, line, column and text.
func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Reason, b.Reason))
	})
}

// worldName returns the name of the world in a file of the worlds folder.
func worldName(file string) string {
	base := path.Base(file)
	return base[:len(base)-len(path.Ext(base))]
}
