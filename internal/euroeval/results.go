package euroeval

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/toolsandbox/toolsandbox/python"
)

// ResultsName is the name of EuroEval's file of results.
const ResultsName = "euroeval_benchmark_results.jsonl"

const (
	// taskName and metricName are EuroEval's names of the task and its score.
	taskName   = "tool-calling"
	metricName = "tool_calling_accuracy"
	// euroevalRelease is the EuroEval release whose rules the figures follow. EuroEval compares
	// versions as dotted numbers.
	euroevalRelease = "18.0.0"
	// resultsSchema is the version of the "Every Eval Ever" format that this release writes.
	resultsSchema = "0.2.1"
	// unknownSize is EuroEval's value for an API model of unknown size.
	unknownSize = "-1"
)

// AppendResults writes a line for each data set in the format of EuroEval's file ResultsName.
// model is the model's name, preferably LiteLLM's, e.g. openai/gpt-4o. now is the time at which the
// evaluation ended. A data set without a score gets no line, as in EuroEval if all iterations fail.
// The error is that of w.
func AppendResults(w io.Writer, scores []DataSetScores, model string, now time.Time) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for i := range scores {
		if math.IsNaN(scores[i].EuroEval.Mean) {
			continue
		}
		if err := encoder.Encode(scores[i].result(model, now)); err != nil {
			return fmt.Errorf("write results of data set %s: %w", scores[i].DataSet, err)
		}
	}
	return nil
}

// result is a line of the file, with EuroEval's order of fields. Details are texts. Fields that
// EuroEval writes as null are missing.
type result struct {
	SchemaVersion       string         `json:"schema_version"`
	EvaluationID        string         `json:"evaluation_id"`
	EvaluationTimestamp string         `json:"evaluation_timestamp"`
	RetrievedTimestamp  string         `json:"retrieved_timestamp"` // seconds since 1970
	Source              resultSource   `json:"source_metadata"`
	Model               resultModel    `json:"model_info"`
	Library             resultLibrary  `json:"eval_library"`
	Results             []resultMetric `json:"evaluation_results"`
}

type resultSource struct {
	Name         string `json:"source_name"`
	Type         string `json:"source_type"`
	Organization string `json:"source_organization_name"`
	Relationship string `json:"evaluator_relationship"`
}

type resultModel struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Details struct {
		Parameters        string `json:"num_model_parameters"`
		MaxSequenceLength string `json:"max_sequence_length"`
		VocabularySize    string `json:"vocabulary_size"`
		Merge             string `json:"merge"`
		Generative        string `json:"generative"`
	} `json:"additional_details"`
}

type resultLibrary struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Details struct {
		DataSet         string `json:"dataset"`
		Languages       string `json:"languages"` // a JSON list
		Task            string `json:"task"`
		ValidationSplit string `json:"validation_split,omitempty"`
		// Raw is a JSON list of the scores of the iterations that did not fail.
		Raw string `json:"raw_results"`
	} `json:"additional_details"`
}

type resultMetric struct {
	Name       string `json:"evaluation_name"`
	SourceData struct {
		DataSet string `json:"dataset_name"`
		Type    string `json:"source_type"`
	} `json:"source_data"`
	Config struct {
		LowerIsBetter bool   `json:"lower_is_better"`
		ScoreType     string `json:"score_type"`
		Min           int    `json:"min_score"`
		Max           int    `json:"max_score"`
	} `json:"metric_config"`
	Details struct {
		Score   pythonFloat `json:"score"` // in percent
		Details struct {
			Failed string `json:"num_failed_instances"`
		} `json:"details"`
		Uncertainty struct {
			Interval   *resultInterval `json:"confidence_interval,omitempty"`
			NumSamples int             `json:"num_samples"` // number of iterations
		} `json:"uncertainty"`
	} `json:"score_details"`
}

type resultInterval struct {
	Lower  pythonFloat `json:"lower"`
	Upper  pythonFloat `json:"upper"`
	Level  pythonFloat `json:"confidence_level"`
	Method string      `json:"method"`
}

// pythonFloat is written as 100.0 where Go writes 100. EuroEval ignores scores that are integers.
type pythonFloat float64

// MarshalJSON formats the number as Python's json.dumps does.
func (f pythonFloat) MarshalJSON() ([]byte, error) {
	return python.AppendJSON(nil, python.Float(float64(f))), nil
}

// result returns the line of one data set.
func (f *DataSetScores) result(model string, now time.Time) *result {
	dataSet, stamp := f.resultName(), strconv.FormatInt(now.Unix(), 10)
	line := &result{
		SchemaVersion: resultsSchema, EvaluationID: dataSet + "/" + model + "/" + stamp,
		EvaluationTimestamp: now.UTC().Format("2006-01-02T15:04:05-07:00"), RetrievedTimestamp: stamp,
		Source:  resultSource{Name: "ToolSandbox", Type: "evaluation_run", Organization: "ToolSandbox", Relationship: "third_party"},
		Model:   resultModel{Name: model, ID: model},
		Library: resultLibrary{Name: "euroeval", Version: euroevalRelease},
		Results: []resultMetric{f.resultMetric(dataSet)},
	}
	sizes := &line.Model.Details
	sizes.Parameters, sizes.MaxSequenceLength, sizes.VocabularySize = unknownSize, unknownSize, unknownSize
	sizes.Merge, sizes.Generative = "false", "true"
	details := &line.Library.Details
	details.DataSet, details.Task = dataSet, taskName
	details.Languages = python.JSON(python.List(python.Str(f.Language)))
	switch SplitName(f.Split) {
	case SplitVal:
		details.ValidationSplit = "true"
	case SplitTest:
		details.ValidationSplit = "false"
	}
	raw := make([]python.Value, len(f.Iterations))
	for i, score := range f.Iterations {
		raw[i] = python.DictOf(python.Item{Key: metricName, Value: python.Float(score)}, python.Item{Key: "failed_instances", Value: python.List()})
	}
	details.Raw = python.JSON(python.List(raw...))
	return line
}

// resultName returns the name of the data set. EuroEval scores only val and test and adds no name
// for them; any other split is a data set of its own.
func (f *DataSetScores) resultName() string {
	if split := SplitName(f.Split); split != SplitVal && split != SplitTest {
		return f.DataSet + "-" + f.Split
	}
	return f.DataSet
}

// resultMetric returns the score, with an interval if several iterations have a score.
func (f *DataSetScores) resultMetric(dataSet string) resultMetric {
	const percent = 100
	score, radius := percent*f.EuroEval.Mean, float64(percent*f.EuroEval.Margin)
	metric := resultMetric{Name: "test_" + metricName}
	metric.SourceData.DataSet, metric.SourceData.Type = dataSet, "other"
	metric.Config.ScoreType, metric.Config.Max = "continuous", percent
	details := &metric.Details
	details.Score, details.Details.Failed = pythonFloat(score), "0.0"
	details.Uncertainty.NumSamples = len(f.Iterations)
	if !math.IsNaN(radius) {
		details.Uncertainty.Interval = &resultInterval{
			Lower: pythonFloat(score - radius), Upper: pythonFloat(score + radius), Level: 0.95, Method: "bootstrap",
		}
	}
	return metric
}
