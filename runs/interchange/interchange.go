// Package interchange writes the rollouts of a run in the formats of other tools: trajectories as
// ATIF, a log of Inspect, and records of Every Eval Ever.
package interchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// These are the formats.
const (
	// ATIF is version 1.8 of the Agent Trajectory Interchange Format: a JSON file for each rollout.
	ATIF = "atif"
	// Inspect is a log of Inspect: one .eval file.
	Inspect = "inspect"
	// EEE is version 0.3.0 of Every Eval Ever's schema: a JSON file with a JSONL file of all rollouts.
	EEE = "eee"
)

// Formats returns the formats.
func Formats() []string { return []string{ATIF, Inspect, EEE} }

// errNoScores means that no rollout of a run has a score, of which a record would make a 0.
var errNoScores = errors.New("no rollout has a score")

// errNothing means that nothing of a run can be exported.
var errNothing = errors.New("no rollout has a trajectory")

// errNoRun means that a run lacks what the formats need.
var errNoRun = errors.New("it has no " + results.RunFile + ", so its agent and program are unknown")

// exporter writes one run.
type exporter struct {
	reader  *results.Reader
	run     *results.Run
	summary *resultfile.Summary
	files   *storage.Batch
	left    []string // rollouts that are left out, with the reason
}

// rollout is one rollout of the run.
type rollout struct {
	entry   *resultfile.ScenarioResult
	outcome results.Outcome
	name    analysis.RolloutName
	// trial is the number of its trial, from 1.
	trial    int
	messages []*worldv1.Message
	steps    []step
}

// Write writes a run in a format below dir, and returns the paths of its files: all, or none after
// an error. left names the rollouts that are left out, each with the reason. A file that exists is
// fs.ErrExist, and nothing is overwritten. A dir that is none is storage.ErrNoDirectory. Memory
// holds one rollout at a time.
func Write(format, dir string, reader *results.Reader, summary *resultfile.Summary) (paths, left []string, err error) {
	if reader.Run() == nil {
		return nil, nil, fmt.Errorf("export: %w", errNoRun)
	}
	e := &exporter{reader: reader, run: reader.Run(), summary: summary}
	write := map[string]func() error{ATIF: e.writeATIF, Inspect: e.writeInspect, EEE: e.writeEEE}[format]
	if write == nil {
		return nil, nil, fmt.Errorf("export: unknown format %q, expected one of %s", format, strings.Join(Formats(), ", "))
	}
	if e.files, err = storage.NewBatch(dir); err != nil {
		return nil, nil, fmt.Errorf("export: %w", err)
	}
	err = write()
	if err == nil && len(e.left) == len(summary.Scenarios) {
		err = errNothing
	}
	paths, err = e.files.End(err)
	return paths, e.left, err
}

// leave leaves a rollout out.
func (e *exporter) leave(name, reason string) { e.left = append(e.left, name+" ("+reason+")") }

const noMessages = "no trajectory"

// each reads the rollouts with a trajectory in the order of the summary.
func (e *exporter) each(do func(rollout) error) error {
	outcomes := make(map[string]results.Outcome, len(e.run.Rollouts))
	for _, o := range e.run.Rollouts {
		outcomes[o.Name] = o
	}
	for i, name := range analysis.NewRun("", e.summary, e.run).Names() {
		entry := &e.summary.Scenarios[i]
		messages, err := e.reader.Messages(entry.Name)
		if errors.Is(err, fs.ErrNotExist) {
			e.leave(entry.Name, noMessages)
			continue
		}
		if err != nil {
			return err
		}
		if err := do(rollout{entry, outcomes[entry.Name], name, trialOf(name), messages, conversation(messages)}); err != nil {
			return fmt.Errorf("export %s: %w", entry.Name, err)
		}
	}
	return nil
}

// trialOf returns the number of a rollout's trial, from 1. A run that was interrupted may lack the
// trials before.
func trialOf(name analysis.RolloutName) int {
	scenario, trial, ok := results.CutTrial(name.Rollout)
	if !ok || scenario != name.Scenario { // a run of one trial
		return 1
	}
	return trial + 1
}

// score returns the rollout's score, nil without one.
func (r rollout) score() *float64 { return r.entry.Similarity.Pointer() }

// modelName returns the name of a player's model, or of a player without one.
func modelName(p results.Player) string {
	if m := p.Model; m != nil {
		return m.Provider + "/" + m.Model
	}
	return "toolsandbox/" + strings.NewReplacer("/", "-", ":", "-").Replace(p.Name)
}

// writeJSON returns what writes a value as JSON.
func writeJSON(value any) func(io.Writer) error {
	return func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
}
