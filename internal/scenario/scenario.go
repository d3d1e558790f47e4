// Package scenario reads scenarios as people write them, YAML files that describe a task, its world and its scoring, and
// checks them. docs/scenarios.md describes the format.
package scenario

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
)

// Options say what scenarios are checked against.
type Options struct {
	// Known says whether a tool exists, by its real name. Nil accepts every name.
	Known func(tool string) bool
	// Tools are the names that a message about an unknown tool may suggest. May be empty.
	Tools []string
}

// known says whether a tool's name passes.
func (o Options) known(tool string) bool { return o.Known == nil || o.Known(tool) }

// Loaded is one scenario with the place where it is written.
type Loaded struct {
	// Scenario is the canonical form. It has passed Validate.
	Scenario *scenariov1.Scenario
	// Position is the first field of its document.
	Position Position
}

// LoadDir loads the catalogue in a directory; see Load.
func LoadDir(dir string, opts Options) ([]Loaded, error) {
	return Load(os.DirFS(dir), opts)
}

// Load reads every *.yaml file at the top of fsys, each with one scenario per document, and the worlds they start from
// in worlds/*.yaml. The scenarios are sorted by name. All mistakes of all files are collected: the error then is of type
// Errors and nothing else is returned. Other errors are those of fsys. Load keeps no state and may run concurrently.
func Load(fsys fs.FS, opts Options) ([]Loaded, error) {
	worlds, mistakes, err := loadWorlds(fsys)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list scenarios: %w", err)
	}
	slices.Sort(names)
	var loaded []Loaded
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("read scenarios: %w", err)
		}
		got, wrong := readFile(name, data, worlds, opts)
		loaded = append(loaded, got...)
		mistakes = append(mistakes, wrong...)
	}
	slices.SortStableFunc(loaded, func(a, b Loaded) int {
		return cmp.Compare(a.Scenario.GetSetup().GetName(), b.Scenario.GetSetup().GetName())
	})
	mistakes = append(mistakes, duplicates(loaded)...)
	if len(mistakes) > 0 {
		mistakes.sort()
		return nil, mistakes
	}
	return loaded, nil
}

// readFile reads the scenarios of one file. It returns those that could be built, also when there are mistakes.
func readFile(name string, data []byte, worlds map[string]*startWorld, opts Options) ([]Loaded, Errors) {
	r := &reader{file: name}
	var loaded []Loaded
	for _, doc := range r.documents(data) {
		before := len(r.errors)
		b := &builder{reader: r, worlds: worlds, places: map[string]*value{}}
		built := b.scenario(doc)
		if built == nil {
			continue
		}
		b.report(Validate(built, opts), doc, slices.Clone(r.errors[before:]))
		loaded = append(loaded, Loaded{built, Position{name, doc.line, doc.column}})
	}
	return loaded, r.errors
}

// duplicates reports names that more than one scenario has; loaded is sorted by name.
func duplicates(loaded []Loaded) Errors {
	var mistakes Errors
	for i := 1; i < len(loaded); i++ {
		name := loaded[i].Scenario.GetSetup().GetName()
		if name == "" || name != loaded[i-1].Scenario.GetSetup().GetName() {
			continue
		}
		at, first := loaded[i].Position, loaded[i-1].Position
		mistakes = append(mistakes, &Error{
			File: at.File, Line: at.Line, Column: at.Column, Field: "name",
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
