package scenario

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// batchSize is the number of sections per batch. It does not depend on the machine, so a pack
// exceeds a limit at the same place on every machine.
const batchSize = 32

// sectionResult is the content of a section.
type sectionResult struct {
	loaded   []Loaded
	mistakes document.Errors
	budget   *Budget
}

func (l *loader) loadScenarios() {
	var batch []document.Section
	l.each(".", func(r *document.Reader, data []byte) {
		for _, s := range scenarioSections(r, data) {
			if batch = append(batch, s); len(batch) == batchSize {
				l.loadBatch(batch)
				batch = batch[:0]
			}
			if l.budget.Stopped() {
				return
			}
		}
	})
	l.loadBatch(batch)
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
	}
}

// loadSection reads the scenarios of a section. It does not change the loader and is safe for
// concurrent use.
func (l *loader) loadSection(s document.Section) sectionResult {
	out := sectionResult{budget: l.budget.Part()}
	r := &document.Reader{File: s.File}
	for _, f := range scenarioFields(r, s) {
		scenario, base := l.shared.Build(r, out.budget, f)
		if scenario == nil {
			continue
		}
		out.loaded = append(out.loaded, Loaded{Scenario: scenario, Position: r.At(f.Position), World: r.Text(f.Value.Get("world")), Base: base})
		if out.budget.Stopped() || len(r.Errors) > document.MaxMistakes {
			break
		}
	}
	out.mistakes = r.Errors
	return out
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
