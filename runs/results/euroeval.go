package results

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// EuroEval is the content of EuroEvalFile.
type EuroEval struct {
	// Seed, Iterations and CompatOrder are the settings of EuroEval's bootstrap.
	Seed        uint64 `json:"seed"`
	Iterations  int    `json:"iterations"`
	CompatOrder bool   `json:"compat_order"`
	// DataSets are sorted by their first answer.
	DataSets []euroeval.DataSetScores `json:"data_sets"`
	// Answers are the scored answers in the order of the summary.
	Answers []Answer `json:"answers"`
}

// Answer is the verdicts on one rollout.
type Answer struct {
	// Name is the name in the summary.
	Name       string  `json:"name"`
	Language   string  `json:"language"`
	Category   string  `json:"category"`
	Prediction string  `json:"prediction"`
	EuroEval   Verdict `json:"euroeval"`
	Strict     Verdict `json:"bfcl_strict"`
	Quirk      string  `json:"quirk,omitempty"`
}

// Verdict is the verdict of one grader.
type Verdict struct {
	Correct   bool   `json:"correct"`
	Check     string `json:"check,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Exception string `json:"exception_type,omitempty"`
}

// NewEuroEval summarizes the rollouts of records of EuroEval's task. It returns nil without such
// rollouts. The error is that of euroeval.ScoreDataSets.
func NewEuroEval(rollouts []Rollout, settings euroeval.Settings) (*EuroEval, error) {
	out := &EuroEval{
		Seed: settings.Seed, Iterations: settings.Iterations, CompatOrder: settings.CacheOrder, Answers: []Answer{},
	}
	var played []euroeval.GradedPrediction
	records := false
	for _, r := range rollouts {
		record, grade := r.Scenario.GetEvaluation().GetFunctionCalling(), r.Result.GetCallGrade()
		records = records || record != nil
		if record == nil || grade == nil || !resultfile.Scored(r.Result) {
			continue
		}
		played = append(played, euroeval.GradedPrediction{
			Record: record, Prompt: r.Scenario.GetSetup().GetFunctionCalling().GetPrompt(), Trial: int(r.Result.GetRollout().GetTrial()),
			Prediction: grade.GetPrediction(), EuroEval: grade.GetEuroeval().GetCorrect(), Strict: grade.GetBfclStrict().GetCorrect(),
			Quirk: euroeval.Quirk(grade.GetQuirk()),
		})
		out.Answers = append(out.Answers, Answer{
			Name: r.Name(), Language: record.GetPosition().GetLanguage(), Category: record.GetPosition().GetCategory(),
			Prediction: grade.GetPrediction(), EuroEval: verdict(grade.GetEuroeval()), Strict: verdict(grade.GetBfclStrict()), Quirk: grade.GetQuirk(),
		})
	}
	if !records {
		return nil, nil
	}
	var err error
	if out.DataSets, err = euroeval.ScoreDataSets(played, settings); err != nil {
		return nil, err
	}
	return out, nil
}

func verdict(v *busv1.CallVerdict) Verdict {
	return Verdict{Correct: v.GetCorrect(), Check: v.GetCheck(), Detail: v.GetDetail(), Exception: v.GetExceptionType()}
}

// Categories summarizes the categories of all data sets, by name.
func (e *EuroEval) Categories() []euroeval.CategoryScores {
	sums := make(map[string]euroeval.CategoryScores)
	for _, set := range e.DataSets {
		for _, c := range set.Categories {
			sum := sums[c.Category]
			answers := float64(sum.Predictions + c.Predictions)
			sums[c.Category] = euroeval.CategoryScores{
				Category: c.Category, Predictions: sum.Predictions + c.Predictions, Disagreements: sum.Disagreements + c.Disagreements,
				EuroEval: (sum.EuroEval*float64(sum.Predictions) + c.EuroEval*float64(c.Predictions)) / answers,
				Strict:   (sum.Strict*float64(sum.Predictions) + c.Strict*float64(c.Predictions)) / answers,
			}
		}
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b euroeval.CategoryScores) int { return strings.Compare(a.Category, b.Category) })
}

// Files returns EuroEvalFile and euroeval.ResultsName by their names. agent is the player that
// answered, now the end of the run.
func (e *EuroEval) Files(agent Player, now time.Time) (map[string][]byte, error) {
	data, err := output.JSON(e, "    ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", EuroEvalFile, err)
	}
	model := agent.Name
	if agent.Model != nil { // LiteLLM's name
		model = agent.Model.Provider + "/" + agent.Model.Model
	}
	var results bytes.Buffer
	if err := euroeval.AppendResults(&results, e.DataSets, model, now); err != nil {
		return nil, err
	}
	return map[string][]byte{EuroEvalFile: append(data, '\n'), euroeval.ResultsName: results.Bytes()}, nil
}
