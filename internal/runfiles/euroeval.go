package runfiles

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// EuroEvalFile contains the verdicts on answers to records of EuroEval's task. Only a run with such
// records has it.
const EuroEvalFile = "euroeval.json"

// EuroEval is the content of EuroEvalFile.
type EuroEval struct {
	// Seed, Iterations and CompatOrder are the settings of EuroEval's bootstrap.
	Seed        uint64 `json:"seed"`
	Iterations  int    `json:"iterations"`
	CompatOrder bool   `json:"compat_order"`
	// DataSets are sorted by their first answer.
	DataSets []DataSet `json:"data_sets"`
	// Answers are the scored answers in the order of the summary.
	Answers []Answer `json:"answers"`
	// Figures are the source of DataSets.
	Figures []euroeval.Figures `json:"-"`
}

// DataSet contains the figures of one data set, from 0 to 1.
type DataSet struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	Split    string `json:"split"`
	// Records is the number of answered records, Answers that of all answers.
	Records int `json:"records"`
	Answers int `json:"answers"`
	// EuroEval is the score as EuroEval reports it. Aligned grades every record by its own functions.
	// Both use the first trial.
	EuroEval Interval `json:"euroeval"`
	Aligned  Interval `json:"euroeval_aligned"`
	// IterationScores are the scores of EuroEval's iterations, without failed ones.
	IterationScores  []float64 `json:"iteration_scores"`
	FailedIterations int       `json:"failed_iterations"`
	// EuroEvalShare and StrictShare are the shares of correct answers, with clustered intervals.
	EuroEvalShare Interval `json:"euroeval_share"`
	StrictShare   Interval `json:"bfcl_strict_share"`
	// Differ counts the answers on which the graders differ, Quirks the same by reason.
	Differ     int                    `json:"differ"`
	Quirks     map[euroeval.Quirk]int `json:"quirks"`
	Categories []CategoryFigures      `json:"categories"`
}

// Interval is a mean with half the width of its 95 % interval. Null means undefined.
type Interval struct {
	Mean   *float64 `json:"mean"`
	Margin *float64 `json:"radius"`
}

// CategoryFigures are the shares of one category.
type CategoryFigures struct {
	Category string  `json:"category"`
	Answers  int     `json:"answers"`
	EuroEval float64 `json:"euroeval"`
	Strict   float64 `json:"bfcl_strict"`
	Differ   int     `json:"differ"`
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
// rollouts. The error is that of euroeval.ComputeFigures.
func NewEuroEval(rollouts []Rollout, settings euroeval.Settings) (*EuroEval, error) {
	out := &EuroEval{
		Seed: settings.Seed, Iterations: settings.Iterations, CompatOrder: settings.CacheOrder, DataSets: []DataSet{}, Answers: []Answer{},
	}
	var played []euroeval.GradedPrediction
	records := false
	for _, r := range rollouts {
		record, grade := r.Scenario.GetEvaluation().GetFunctionCalling(), r.Result.GetCallGrade()
		records = records || record != nil
		if record == nil || grade == nil || !Scored(r.Result) {
			continue
		}
		played = append(played, euroeval.GradedPrediction{
			Record: record, Prompt: r.Scenario.GetSetup().GetFunctionCalling().GetPrompt(), Trial: int(r.Result.GetRollout().GetTrial()),
			Prediction: grade.GetPrediction(), EuroEval: grade.GetEuroeval().GetCorrect(), Strict: grade.GetBfclStrict().GetCorrect(),
			Quirk: euroeval.Quirk(grade.GetQuirk()),
		})
		out.Answers = append(out.Answers, Answer{
			Name: r.directory(), Language: record.GetPlace().GetLanguage(), Category: record.GetPlace().GetCategory(),
			Prediction: grade.GetPrediction(), EuroEval: verdict(grade.GetEuroeval()), Strict: verdict(grade.GetBfclStrict()), Quirk: grade.GetQuirk(),
		})
	}
	if !records {
		return nil, nil
	}
	figures, err := euroeval.ComputeFigures(played, settings)
	if err != nil {
		return nil, err
	}
	out.Figures = figures
	for _, f := range figures {
		out.DataSets = append(out.DataSets, dataSet(f))
	}
	return out, nil
}

func verdict(v *busv1.CallVerdict) Verdict {
	return Verdict{Correct: v.GetCorrect(), Check: v.GetCheck(), Detail: v.GetDetail(), Exception: v.GetExceptionType()}
}

func dataSet(f euroeval.Figures) DataSet {
	set := DataSet{
		Name: f.DataSet, Language: f.Language, Split: f.Split, Records: f.Records, Answers: f.Predictions,
		EuroEval: interval(f.EuroEval), Aligned: interval(f.Aligned), IterationScores: slices.Concat([]float64{}, f.Iterations), FailedIterations: f.Failed,
		EuroEvalShare: interval(f.EuroEvalShare), StrictShare: interval(f.StrictShare), Quirks: f.Quirks, Categories: []CategoryFigures{},
	}
	for _, count := range f.Quirks {
		set.Differ += count
	}
	for _, c := range f.Categories {
		set.Categories = append(set.Categories, CategoryFigures{
			Category: c.Category, Answers: c.Predictions, EuroEval: c.EuroEval, Strict: c.Strict, Differ: c.Differ,
		})
	}
	return set
}

// Categories summarizes the categories of all data sets, by name.
func (e *EuroEval) Categories() []CategoryFigures {
	sums := make(map[string]CategoryFigures)
	for _, set := range e.DataSets {
		for _, c := range set.Categories {
			sum := sums[c.Category]
			answers := float64(sum.Answers + c.Answers)
			sums[c.Category] = CategoryFigures{
				Category: c.Category, Answers: sum.Answers + c.Answers, Differ: sum.Differ + c.Differ,
				EuroEval: (sum.EuroEval*float64(sum.Answers) + c.EuroEval*float64(c.Answers)) / answers,
				Strict:   (sum.Strict*float64(sum.Answers) + c.Strict*float64(c.Answers)) / answers,
			}
		}
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b CategoryFigures) int { return strings.Compare(a.Category, b.Category) })
}

func interval(s euroeval.Summary) Interval {
	finite := func(f float64) *float64 {
		if math.IsNaN(f) {
			return nil
		}
		return &f
	}
	return Interval{Mean: finite(s.Mean), Margin: finite(s.Margin)}
}

// WriteEuroEval writes EuroEvalFile and euroeval.ResultsName to a run's existing directory. agent
// is the player that answered, ended the end of the run.
func WriteEuroEval(dir string, content *EuroEval, agent Player, ended time.Time) error {
	data, err := encode(content, "    ")
	if err != nil {
		return fmt.Errorf("write %s: %w", EuroEvalFile, err)
	}
	model := agent.Name
	if agent.Model != nil { // LiteLLM's name
		model = agent.Model.Provider + "/" + agent.Model.Model
	}
	var results bytes.Buffer
	if err := euroeval.AppendResults(&results, content.Figures, model, ended); err != nil {
		return err
	}
	return errors.Join(
		writeFile(filepath.Join(dir, EuroEvalFile), append(data, '\n'), true),
		writeFile(filepath.Join(dir, euroeval.ResultsName), results.Bytes(), true),
	)
}
