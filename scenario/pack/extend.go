package pack

import (
	"maps"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// extension is a scenario that extends another one.
type extension struct {
	document.Field
	section document.Section
	// started and done are set when extend has begun and ended. whole is nil after a mistake.
	started, done bool
	whole         *scenario.Extended
}

// seeds are the scenarios that extend none.
type seeds struct {
	// sections are where they are, by name. A section with mistakes is not among them, but in broken.
	sections map[string]document.Section
	broken   map[string]bool
	// read are those that others extend. Keeping all documents would need a multiple of the memory.
	read map[string]scenario.Extended
}

// addSeeds records where the scenarios of a section are.
func (l *loader) addSeeds(s document.Section, found *sectionResult) {
	for _, name := range found.seeds {
		if len(found.mistakes) > 0 {
			l.seeds.broken[name] = true
		} else {
			l.seeds.sections[name] = s
		}
	}
}

// loadExtensions builds the scenarios that extend others.
func (l *loader) loadExtensions() {
	byName := make(map[string]*extension, len(l.extensions))
	for _, e := range l.extensions {
		if byName[e.Key] == nil { // duplicates are reported
			byName[e.Key] = e
		}
	}
	for _, e := range l.extensions {
		l.extend(e, byName)
	}
}

// extend builds an extension after the scenario that it extends.
func (l *loader) extend(e *extension, byName map[string]*extension) {
	if e.started || l.budget.Stopped() {
		return
	}
	e.started = true
	found, r := sectionResult{budget: l.budget.Part()}, &document.Reader{File: e.section.File}
	if base := l.extended(r, found.budget, e, byName); base != nil {
		whole := scenario.Extend(r, found.budget, *base, e.Field)
		if len(r.Errors) == 0 {
			l.build(r, &found, scenario.Extended{Field: document.Field{Key: whole.Key, Position: whole.Position, Value: whole.Value.Copy()}, Lineage: whole.Lineage})
		}
		if len(r.Errors) == 0 {
			e.whole = &whole
		}
	}
	e.done, found.mistakes = true, r.Errors
	l.keep(e.section, &found)
}

// extended returns the scenario that e extends. It is nil after a mistake, which is one of e or
// reported elsewhere.
func (l *loader) extended(r *document.Reader, budget *scenario.Budget, e *extension, byName map[string]*extension) *scenario.Extended {
	at := scenario.Extends(e.Field)
	if !r.CheckShape(at, document.ShapeText) {
		return nil
	}
	name := at.Text
	if next := byName[name]; next != nil {
		if next.started && !next.done {
			r.Fail(at, "extends itself by way of %q", name)
			return nil
		}
		l.extend(next, byName)
		return next.whole
	}
	if _, known := l.seeds.read[name]; !known && l.seeds.sections[name].Text != "" {
		for _, f := range scenarioFields(&document.Reader{}, l.seeds.sections[name]) {
			budget.CountCopied(r, at, f.Value.Size())
			l.seeds.read[f.Key] = scenario.Extended{Field: f}
		}
	}
	if seed, known := l.seeds.read[name]; known {
		return &seed
	}
	if !l.seeds.broken[name] {
		names := slices.Concat(slices.Collect(maps.Keys(byName)), slices.Collect(maps.Keys(l.seeds.sections)))
		slices.Sort(names)
		r.Fail(at, "there is no scenario %q in the YAML files of this pack%s; those of other packs cannot be extended", name, spelling.Hint(name, names))
	}
	return nil
}
