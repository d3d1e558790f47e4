package pack

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// Loaded is a scenario with its position.
type Loaded struct {
	// Scenario is the canonical form, which scenario.Validate accepts.
	Scenario *scenariov1.Scenario
	// Position is the position of its first field.
	Position document.Position
	// World is the name of the starting world, empty without one.
	World string
	// Base holds that world's tables at the scenario's time, without the scenario's changes. It is nil
	// for a scenario in canonical form.
	Base []*worldv1.Table
}

// name returns the scenario's name.
func (l *Loaded) name() string { return l.Scenario.GetSetup().GetName() }

// duplicates reports names of several scenarios. loaded is sorted by name.
func duplicates(loaded []Loaded) document.Errors {
	var mistakes document.Errors
	for i := 1; i < len(loaded); i++ {
		name := loaded[i].name()
		if name == "" || name != loaded[i-1].name() {
			continue
		}
		at, first := loaded[i].Position, loaded[i-1].Position
		mistakes = append(mistakes, &document.Error{
			File: at.File, Line: at.Line, Column: at.Column, Field: name,
			Reason: fmt.Sprintf("another scenario is called %q too, at %v; names must be unique", name, first),
		})
	}
	return mistakes
}

// batchSize is the number of sections per batch. It does not depend on the machine, so a pack
// exceeds a limit at the same place on every machine.
const batchSize = 32

// sectionResult is the content of a section.
type sectionResult struct {
	loaded   []Loaded
	mistakes document.Errors
	budget   *scenario.Budget
	// seeds are the names of the scenarios that extend none, extensions are the others.
	seeds      []string
	extensions []*extension
}

func (l *loader) loadScenarios() {
	var batch []document.Section
	l.each(".", func(r *document.Reader, data []byte) {
		for _, s := range scenarioSections(r, data) {
			if s.name != "" && l.opts.Skip != nil && l.opts.Skip(s.name) {
				l.skipped++
				continue
			}
			if batch = append(batch, s.Section); len(batch) == batchSize {
				l.loadBatch(batch)
				batch = batch[:0]
			}
			if l.budget.Stopped() {
				return
			}
		}
	})
	l.loadBatch(batch)
	l.loadExtensions()
}

// loadBatch reads sections concurrently and adds their contents in order.
func (l *loader) loadBatch(batch []document.Section) {
	results := make([]sectionResult, len(batch))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(batch)) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(batch) {
					return
				}
				results[i] = l.loadSection(batch[i])
			}
		})
	}
	workers.Wait()
	for i := range results {
		l.keep(batch[i], &results[i])
		l.addSeeds(batch[i], &results[i])
		l.extensions = append(l.extensions, results[i].extensions...)
	}
}

// loadSection reads the scenarios of a section. It does not change the loader and is safe for
// concurrent use.
func (l *loader) loadSection(s document.Section) sectionResult {
	out := sectionResult{budget: l.budget.Part()}
	r := &document.Reader{File: s.File}
	for _, f := range scenarioFields(r, s) {
		if scenario.Extends(f) != nil {
			out.extensions = append(out.extensions, &extension{Field: f, section: s})
			continue
		}
		out.seeds = append(out.seeds, f.Key)
		l.build(r, &out, scenario.Extended{Field: f})
		if out.budget.Stopped() || len(r.Errors) > document.MaxMistakes {
			break
		}
	}
	out.mistakes = r.Errors
	return out
}

// build adds a scenario to out, with its mistakes to r.
func (l *loader) build(r *document.Reader, out *sectionResult, of scenario.Extended) {
	built, base := l.shared.Build(r, out.budget, of.Field)
	if built == nil {
		return
	}
	built.Lineage = of.Lineage
	out.loaded = append(out.loaded, Loaded{Scenario: built, Position: r.At(of.Position), World: r.Text(of.Value.Get("world")), Base: base})
}

// keep adds the content of a section unless the pack has exceeded a limit.
func (l *loader) keep(s document.Section, found *sectionResult) {
	if l.budget.Stopped() {
		return
	}
	r, at := &document.Reader{File: s.File}, &document.Value{Line: s.Before + 1, Column: 1}
	for _, loaded := range found.loaded {
		l.add(r, &document.Value{Line: loaded.Position.Line, Column: loaded.Position.Column}, loaded)
	}
	l.budget.Add(r, at, found.budget)
	l.addMistakes(slices.Concat(found.mistakes, r.Errors))
}
