package scenario

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// batchSize is the number of sections per batch. It does not depend on the machine, so a pack
// exceeds a limit at the same place on every machine.
const batchSize = 32

// addShared adds the parts that all scenarios of the pack share.
func (l *loader) addShared(s *scenariov1.Scenario) {
	s.Setup.Tools.Descriptions, s.Setup.ToolModules, s.Setup.ToolBackend = l.texts, l.modules, l.backend
	s.Setup.ToolServers = l.servers
	s.Setup.Schema = l.declared
	if len(s.Setup.GetConsentTools()) > 0 {
		s.Setup.Schema = schemaWithConsents(l.declared)
	}
	s.Evaluation.Schema = s.Setup.Schema
	l.addMeasures(s)
}

// addMeasures adds the pack's measures to a scenario.
func (l *loader) addMeasures(s *scenariov1.Scenario) {
	if evaluation := s.GetEvaluation(); evaluation != nil && len(l.measures) > 0 {
		evaluation.MeasureModules = l.measures
	}
}

// sectionResult is the content of a section.
type sectionResult struct {
	loaded   []Loaded
	mistakes document.Errors
	usage    usage
}

func (l *loader) loadScenarios() {
	var batch []document.Section
	l.each(".", func(r *reader, data []byte) {
		for _, s := range r.scenarioSections(data) {
			if batch = append(batch, s); len(batch) == batchSize {
				l.loadBatch(batch)
				batch = batch[:0]
			}
			if l.stopped {
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
	out := sectionResult{usage: usage{limits: l.limits}}
	r := newReader(s.File, l.schema)
	for _, f := range r.scenarios(s) {
		before := len(r.Errors)
		b := &builder{
			reader: r, usage: &out.usage, worlds: l.worlds, recorded: l.recordings, sources: map[string]*document.Value{},
		}
		scenario := b.scenario(f)
		if scenario == nil {
			continue
		}
		l.addShared(scenario)
		requireConsent(scenario, l.opts.requiredConsents(scenario.GetSetup().GetTools()))
		b.report(Validate(scenario, l.opts), f.Value, slices.Clone(r.Errors[before:]))
		out.loaded = append(out.loaded, Loaded{
			Scenario: scenario, Position: r.At(f.Position), World: b.Text(f.Value.Get("world")), Base: b.base,
		})
		if out.usage.stopped || len(r.Errors) > document.MaxMistakes {
			break
		}
	}
	out.mistakes = r.Errors
	return out
}

// keep adds the content of a section unless the pack has exceeded a limit.
func (l *loader) keep(s document.Section, found *sectionResult) {
	if l.stopped {
		return
	}
	r, at := newReader(s.File, nil), &document.Value{Line: s.Before + 1, Column: 1}
	for _, loaded := range found.loaded {
		l.add(r, &document.Value{Line: loaded.Position.Line, Column: loaded.Position.Column}, loaded)
	}
	l.stopped = l.stopped || found.usage.stopped
	l.usedRows += found.usage.usedRows
	l.checkRows(r, at)
	l.visitRows(r, at, found.usage.usedRowVisits)
	l.mistakes = append(l.mistakes, slices.Concat(found.mistakes, r.Errors)...)
	l.stopped = l.stopped || len(l.mistakes) > l.limits.mistakes
}
