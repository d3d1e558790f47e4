package interchange

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/toolsandbox/toolsandbox/runs/statistics"
)

// eeeVersion is the version of the schema.
const eeeVersion = "0.3.0"

// eeeRecord is the aggregate record of a run.
type eeeRecord struct {
	SchemaVersion string           `json:"schema_version"`
	ID            string           `json:"evaluation_id"`
	Evaluated     string           `json:"evaluation_timestamp"`
	Retrieved     string           `json:"retrieved_timestamp"`
	Source        map[string]any   `json:"source_metadata"`
	Library       map[string]any   `json:"eval_library"`
	Model         map[string]any   `json:"model_info"`
	Results       []eeeResult      `json:"evaluation_results"`
	Details       eeeDetailedFiles `json:"detailed_evaluation_results"`
}

type eeeDetailedFiles struct {
	Format        string `json:"format"`
	Path          string `json:"file_path"`
	HashAlgorithm string `json:"hash_algorithm"`
	Checksum      string `json:"checksum"`
	Rows          int    `json:"total_rows"`
}

type eeeResult struct {
	ID     string         `json:"evaluation_result_id"`
	Name   string         `json:"evaluation_name"`
	Data   map[string]any `json:"source_data"`
	Metric map[string]any `json:"metric_config"`
	Score  eeeScore       `json:"score_details"`
}

type eeeScore struct {
	Score       float64           `json:"score"`
	Uncertainty map[string]any    `json:"uncertainty,omitempty"`
	Details     map[string]string `json:"details"`
}

// eeeInstance is the record of a rollout.
type eeeInstance struct {
	SchemaVersion string            `json:"schema_version"`
	EvaluationID  string            `json:"evaluation_id"`
	ModelID       string            `json:"model_id"`
	Name          string            `json:"evaluation_name"`
	ResultID      string            `json:"evaluation_result_id"`
	SampleID      string            `json:"sample_id"`
	Interaction   string            `json:"interaction_type"`
	Input         eeeInput          `json:"input"`
	Output        any               `json:"output"`
	Messages      []eeeMessage      `json:"messages"`
	Attribution   []any             `json:"answer_attribution"`
	Evaluation    eeeEvaluation     `json:"evaluation"`
	Usage         *eeeUsage         `json:"token_usage"`
	Performance   eeePerformance    `json:"performance"`
	Error         *string           `json:"error"`
	Metadata      map[string]string `json:"metadata"`
}

type eeeInput struct {
	Raw       string   `json:"raw"`
	Reference []string `json:"reference"`
}

type eeeMessage struct {
	Turn    int       `json:"turn_idx"`
	Role    string    `json:"role"`
	Content *string   `json:"content"`
	Calls   []eeeCall `json:"tool_calls,omitempty"`
	CallIDs []string  `json:"tool_call_id,omitempty"`
}

type eeeCall struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
}

type eeeEvaluation struct {
	Score   float64 `json:"score"`
	Correct bool    `json:"is_correct"`
	Turns   int     `json:"num_turns"`
	Calls   int     `json:"tool_calls_count"`
}

type eeeUsage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
}

type eeePerformance struct {
	LatencyMillis float64 `json:"latency_ms"`
}

// writeEEE writes the records below data/, where the data store of Every Eval Ever has them. A
// rollout without a score has no record. The names follow from the sweep's id.
func (e *exporter) writeEEE() error {
	model, name := modelName(e.run.Agent), eeeName(e.run.SweepID)
	developer, short, _ := strings.Cut(model, "/")
	folder := path.Join("data", "toolsandbox", developer, strings.ReplaceAll(short, "/", "_"))
	record := e.eeeRecord(model)
	details := path.Join(folder, name+"_samples.jsonl")
	sum, rows := sha256.New(), 0
	var scores []statistics.Observation
	err := e.files.Add(details, func(w io.Writer) error {
		buffered := bufio.NewWriter(io.MultiWriter(w, sum))
		err := e.each(func(r rollout) error {
			if r.score() == nil {
				e.leave(r.entry.Name, "no score")
				return nil
			}
			rows++
			scores = append(scores, statistics.Observation{Cluster: r.name.Base, Value: *r.score()})
			return writeJSON(e.eeeInstance(record, r))(buffered)
		})
		if err == nil && rows == 0 {
			err = errNoScores
		}
		if err != nil {
			return err
		}
		return buffered.Flush()
	})
	if err != nil {
		return err
	}
	record.Details = eeeDetailedFiles{"jsonl", details, "sha256", hex.EncodeToString(sum.Sum(nil)), rows}
	record.Results[0].Score = eeeScoreOf(scores, len(e.summary.Scenarios))
	return e.files.Add(path.Join(folder, name+".json"), writeJSON(record))
}

// eeeName returns the UUID of version 4's form that names the files of a sweep.
func eeeName(sweep string) string {
	sum := sha256.Sum256([]byte("toolsandbox sweep " + sweep))
	id, _ := uuid.FromBytes(sum[:16]) // sixteen bytes are one
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id.String()
}

func (e *exporter) eeeRecord(model string) *eeeRecord {
	at := strconv.FormatInt(e.run.Started.Unix(), 10)
	dataset := datasetName(e.run)
	info := map[string]string{"deployment_type": "unknown", "model_availability": "unknown", "user": e.run.User.Name, "agent": e.run.Agent.Name}
	return &eeeRecord{
		SchemaVersion: eeeVersion, ID: path.Join("toolsandbox", model, at), Evaluated: at, Retrieved: at,
		Source:  map[string]any{"source_name": "ToolSandbox", "source_type": "evaluation_run", "source_organization_name": "unknown", "evaluator_relationship": "other"},
		Library: map[string]any{"name": "toolsandbox", "version": e.run.Program.Version},
		Model:   map[string]any{"name": model, "id": model, "additional_details": info},
		Results: []eeeResult{{
			ID: scorer, Name: "ToolSandbox",
			Data: map[string]any{"dataset_name": dataset, "source_type": "other", "additional_details": map[string]string{"digest": e.run.Catalogue.Digest}},
			Metric: map[string]any{
				"metric_id": "toolsandbox.similarity", "metric_name": "similarity", "metric_unit": "proportion", "lower_is_better": false,
				"score_type": "continuous", "min_score": 0, "max_score": 1,
				"evaluation_description": "Mean similarity of trajectories with milestones, 0 where a minefield was hit",
			},
		}},
	}
}

// eeeScoreOf returns the mean of the scores, of which there is one, with the interval that report
// prints.
func eeeScoreOf(scores []statistics.Observation, rollouts int) eeeScore {
	mean := statistics.MeanOf(scores)
	score := eeeScore{Details: map[string]string{
		"rollouts": strconv.Itoa(rollouts), "scored": strconv.Itoa(mean.Count), "base_scenarios": strconv.Itoa(mean.Clusters),
	}}
	score.Score = mean.Mean
	score.Uncertainty = map[string]any{"num_samples": mean.Count}
	const clustered = ", clustered by base scenario"
	if mean.StandardError > 0 {
		score.Uncertainty["standard_error"] = map[string]any{"value": mean.StandardError, "method": "analytic" + clustered}
	}
	if interval, by, ok := statistics.ScoreInterval(scores, 0, 1); ok {
		score.Uncertainty["confidence_interval"] = map[string]any{
			"lower": interval.Low, "upper": interval.High, "confidence_level": statistics.Confidence, "method": string(by) + clustered,
		}
	}
	return score
}

func (e *exporter) eeeInstance(record *eeeRecord, r rollout) eeeInstance {
	line := eeeInstance{
		SchemaVersion: eeeVersion, EvaluationID: record.ID, ModelID: modelName(e.run.Agent), Name: record.Results[0].Name, ResultID: record.Results[0].ID,
		SampleID: r.name.Scenario, Interaction: "agentic", Input: eeeInput{firstRequest(r.steps), []string{}}, Attribution: []any{},
		Evaluation:  eeeEvaluation{Score: *r.score(), Correct: *r.score() == 1, Turns: r.entry.TurnCount, Calls: r.outcome.Calls},
		Performance: eeePerformance{1000 * r.outcome.Seconds}, Error: r.entry.ExceptionType,
		Metadata: map[string]string{"categories": strings.Join(r.entry.Categories, " "), "end": r.outcome.End, "rollout_id": r.outcome.ID, "trial": strconv.Itoa(r.trial)},
	}
	if u := r.outcome.Usage; u != nil && u.Agent != nil && u.Agent.InputTokens != nil && u.Agent.OutputTokens != nil {
		line.Usage = &eeeUsage{*u.Agent.InputTokens, *u.Agent.OutputTokens, *u.Agent.InputTokens + *u.Agent.OutputTokens}
	}
	for _, s := range r.steps {
		for _, m := range s.inspect() {
			written := eeeMessage{Turn: len(line.Messages), Role: m.Role, Content: &m.Content}
			for _, c := range m.Calls {
				written.Calls = append(written.Calls, eeeCall{c.ID, c.Function, texts(c.Arguments)})
			}
			if m.ToolCallID != "" {
				written.CallIDs = []string{m.ToolCallID}
			}
			line.Messages = append(line.Messages, written)
		}
	}
	return line
}

// texts returns the values of a JSON object as texts: a text as it is, another value as JSON.
func texts(object json.RawMessage) map[string]string {
	values := map[string]json.RawMessage{}
	_ = json.Unmarshal(object, &values) // it is an object
	all := make(map[string]string, len(values))
	for name, value := range values {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		all[name] = text
	}
	return all
}
