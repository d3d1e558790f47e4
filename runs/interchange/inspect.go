package interchange

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

const (
	// inspectVersion is the version of Inspect's log format.
	inspectVersion = 2
	// scorer is the name of the score in logs and records.
	scorer = "toolsandbox"
)

// inspectLog is the header of a log.
type inspectLog struct {
	Version int             `json:"version"`
	Status  string          `json:"status"`
	Eval    inspectEval     `json:"eval"`
	Plan    struct{}        `json:"plan"`
	Results *inspectResults `json:"results,omitempty"`
	Stats   inspectStats    `json:"stats"`
}

type inspectEval struct {
	EvalID      string         `json:"eval_id"`
	RunID       string         `json:"run_id"`
	Created     string         `json:"created"`
	Task        string         `json:"task"`
	TaskID      string         `json:"task_id"`
	TaskVersion string         `json:"task_version"`
	Dataset     inspectDataset `json:"dataset"`
	Model       string         `json:"model"`
	Config      inspectConfig  `json:"config"`
	Packages    any            `json:"packages"`
	Metadata    map[string]any `json:"metadata"`
}

type inspectDataset struct {
	Name    string `json:"name"`
	Samples int    `json:"samples"`
}

type inspectConfig struct {
	Epochs int `json:"epochs"`
}

type inspectResults struct {
	Total     int            `json:"total_samples"`
	Completed int            `json:"completed_samples"`
	Scores    []inspectScore `json:"scores"`
}

type inspectScore struct {
	Name     string                   `json:"name"`
	Scorer   string                   `json:"scorer"`
	Scored   int                      `json:"scored_samples"`
	Unscored int                      `json:"unscored_samples"`
	Metrics  map[string]inspectMetric `json:"metrics"`
}

type inspectMetric struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

type inspectStats struct {
	Started   string                  `json:"started_at"`
	Completed string                  `json:"completed_at"`
	Usage     map[string]inspectUsage `json:"model_usage"`
}

// inspectUsage is the usage of a model. Input has no tokens of a cache, total has all.
type inspectUsage struct {
	Input     int64    `json:"input_tokens"`
	Output    int64    `json:"output_tokens"`
	Total     int64    `json:"total_tokens"`
	Cached    int64    `json:"input_tokens_cache_read"`
	Reasoning int64    `json:"reasoning_tokens"`
	Cost      *float64 `json:"total_cost,omitempty"`
}

// inspectSample is one rollout.
type inspectSample struct {
	ID       string                  `json:"id"`
	Epoch    int                     `json:"epoch"`
	Input    string                  `json:"input"`
	Target   string                  `json:"target"`
	Messages []inspectMessage        `json:"messages,omitempty"`
	Scores   map[string]inspectValue `json:"scores,omitempty"`
	Metadata map[string]any          `json:"metadata"`
	Usage    map[string]inspectUsage `json:"model_usage"`
	Time     float64                 `json:"total_time"`
	Error    *inspectError           `json:"error,omitempty"`
}

type inspectError struct {
	Message       string `json:"message"`
	Traceback     string `json:"traceback"`
	TracebackANSI string `json:"traceback_ansi"`
}

type inspectValue struct {
	Value    float64        `json:"value"`
	Metadata map[string]any `json:"metadata"`
}

type inspectMessage struct {
	Role       string            `json:"role"`
	Content    string            `json:"content"`
	Calls      []inspectCall     `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
	Function   string            `json:"function,omitempty"`
	Error      *inspectToolError `json:"error,omitempty"`
}

type inspectCall struct {
	ID         string          `json:"id"`
	Function   string          `json:"function"`
	Arguments  json.RawMessage `json:"arguments"`
	ParseError string          `json:"parse_error,omitempty"`
	Type       string          `json:"type"`
}

type inspectToolError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// writeInspect writes one log.
func (e *exporter) writeInspect() error {
	return e.files.Add(e.run.SweepID+".eval", func(w io.Writer) error {
		archive := zip.NewWriter(w)
		return errors.Join(e.writeLog(archive), archive.Close())
	})
}

// writeLog writes the samples, their summaries, and last the header.
func (e *exporter) writeLog(archive *zip.Writer) error {
	member := func(name string, value any) error {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return err
		}
		return writeJSON(value)(w)
	}
	header := e.inspectHeader()
	if err := member("_journal/start.json", map[string]any{"version": inspectVersion, "eval": header.Eval, "plan": header.Plan}); err != nil {
		return err
	}
	var summaries []inspectSample
	err := e.each(func(r rollout) error {
		sample := e.inspectSample(r)
		header.Results.Completed++
		if err := member(fmt.Sprintf("samples/%s_epoch_%d.json", sample.ID, sample.Epoch), sample); err != nil {
			return err
		}
		sample.Messages, sample.Error = nil, nil
		summaries = append(summaries, sample)
		return nil
	})
	if err != nil {
		return err
	}
	if err := member("summaries.json", summaries); err != nil {
		return err
	}
	return member("header.json", header)
}

func (e *exporter) inspectHeader() inspectLog {
	scored, sum := 0, 0.0
	for i := range e.summary.Scenarios {
		if score := e.summary.Scenarios[i].Similarity.Pointer(); score != nil {
			scored++
			sum += *score
		}
	}
	total := len(e.summary.Scenarios)
	started, ended := e.run.Started, e.run.Started
	status := "started"
	if e.run.Ended != nil {
		ended, status = *e.run.Ended, "success"
	}
	if e.run.NotPlayed() > 0 {
		status = "cancelled"
	}
	log := inspectLog{
		Version: inspectVersion, Status: status, Stats: inspectStats{Started: moment(started), Completed: moment(ended), Usage: e.inspectUsage(nil)},
		Eval: inspectEval{
			EvalID: e.run.SweepID, RunID: e.run.SweepID, Created: moment(started), Task: "toolsandbox", TaskID: e.run.Catalogue.Digest,
			TaskVersion: e.run.Program.Version, Dataset: inspectDataset{datasetName(e.run), total}, Model: modelName(e.run.Agent), Config: inspectConfig{e.run.Trials},
			Packages: map[string]string{"toolsandbox": e.run.Program.Version},
			Metadata: map[string]any{"agent": e.run.Agent.Name, "user": e.run.User.Name, "seed": e.run.Seed, "packs": e.run.Packs},
		},
	}
	if e.run.Totals != nil {
		log.Stats.Usage = e.inspectUsage(e.run.Totals.Usage)
	}
	log.Results = &inspectResults{Total: total, Scores: []inspectScore{{
		Name: scorer, Scorer: scorer, Scored: scored, Unscored: total - scored, Metrics: map[string]inspectMetric{},
	}}}
	if scored > 0 {
		log.Results.Scores[0].Metrics["mean"] = inspectMetric{"mean", sum / float64(scored)}
	}
	return log
}

// datasetName names the packs of a run.
func datasetName(run *results.Run) string {
	name := ""
	for _, pack := range run.Packs {
		if name != "" {
			name += "+"
		}
		name += pack.Name
	}
	if name == "" {
		return "toolsandbox"
	}
	return name
}

// moment returns a time as Inspect writes it.
func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (e *exporter) inspectSample(r rollout) inspectSample {
	sample := inspectSample{
		ID: r.name.Scenario, Epoch: r.trial, Input: firstRequest(r.steps), Time: r.outcome.Seconds, Usage: e.inspectUsage(r.outcome.Usage),
		Metadata: map[string]any{"categories": r.entry.Categories, "end": r.outcome.End, "rollout_id": r.outcome.ID, "seed": r.outcome.Seed},
	}
	for _, s := range r.steps {
		sample.Messages = append(sample.Messages, s.inspect()...)
	}
	if score := r.score(); score != nil {
		sample.Scores = map[string]inspectValue{scorer: {*score, map[string]any{
			"milestone_similarity": r.entry.MilestoneSimilarity.Pointer(), "minefield_similarity": r.entry.MinefieldSimilarity.Pointer(), "causes": r.outcome.Causes,
		}}}
	}
	if r.entry.ExceptionType != nil {
		sample.Error = &inspectError{Message: *r.entry.ExceptionType}
		if r.entry.Traceback != nil {
			sample.Error.Traceback, sample.Error.TracebackANSI = *r.entry.Traceback, *r.entry.Traceback
		}
	}
	return sample
}

// inspectUsage returns the usage by model, of those whose tokens are all known. A model that plays
// both roles has the sum.
func (e *exporter) inspectUsage(of *results.Usage) map[string]inspectUsage {
	all, inPart := make(map[string]inspectUsage), make(map[string]bool)
	add := func(player results.Player, used *results.RoleUsage) {
		if used == nil {
			return
		}
		name, dollars := modelName(player), used.CostUSD
		input, output, ok := used.Tokens()
		if !ok || inPart[name] { // readers take a part for the whole
			inPart[name] = true
			delete(all, name)
			return
		}
		sum, twice := all[name]
		if twice && dollars != nil && sum.Cost != nil {
			both := *dollars + *sum.Cost
			dollars = &both
		} else if twice {
			dollars = nil
		}
		cached, reasoning := int64(0), int64(0)
		if used.CachedTokens != nil {
			cached = *used.CachedTokens
		}
		if used.ReasoningTokens != nil {
			reasoning = *used.ReasoningTokens
		}
		all[name] = inspectUsage{
			sum.Input + input - cached, sum.Output + output, sum.Total + input + output,
			sum.Cached + cached, sum.Reasoning + reasoning, dollars,
		}
	}
	if of != nil {
		add(e.run.Agent, of.Agent)
		add(e.run.User, of.User)
	}
	return all
}

// firstRequest returns the first text of the user.
func firstRequest(steps []step) string {
	for _, s := range steps {
		if s.role == user {
			return s.text
		}
	}
	return ""
}

// inspect returns the messages of a step.
func (s step) inspect() []inspectMessage {
	if s.role != agent {
		return []inspectMessage{{Role: string(s.role), Content: s.text}}
	}
	turn := inspectMessage{Role: "assistant", Content: s.text}
	var answers []inspectMessage
	for _, c := range s.calls {
		answer := inspectMessage{Role: "tool", Content: c.answer, ToolCallID: c.id, Function: c.tool}
		if c.failed {
			answer.Error = &inspectToolError{"unknown", c.answer}
		}
		if !s.code {
			of := inspectCall{ID: c.id, Function: c.tool, Arguments: c.arguments, Type: "function"}
			if c.unreadable != "" {
				of.ParseError = "no JSON object: " + c.unreadable
			}
			turn.Calls = append(turn.Calls, of)
		}
		if c.answered {
			answers = append(answers, answer)
		}
	}
	return append([]inspectMessage{turn}, answers...)
}
