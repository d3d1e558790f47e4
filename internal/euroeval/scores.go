package euroeval

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// GradedPrediction is an agent's prediction for a record with the verdicts of both graders.
type GradedPrediction struct {
	Record *evaluationv1.FunctionCalling
	// Prompt is the text that the model received.
	Prompt string
	// Trial is the index of the trial, from 0.
	Trial      int
	Prediction string
	// EuroEval and Strict report whether the graders accept the prediction.
	EuroEval, Strict bool
	// Quirk is the rule in which the graders differ, empty if they agree.
	Quirk Quirk
}

// Settings are the settings of EuroEval's bootstrap.
type Settings struct {
	Seed       uint64
	Iterations int
	// CacheOrder scores rows in the order of EuroEval's cache, as published scores do. In this order
	// most rows are graded with the functions of another record.
	CacheOrder bool
}

// DefaultSettings returns EuroEval's settings.
func DefaultSettings() Settings {
	return Settings{Seed: Seed, Iterations: Iterations, CacheOrder: true}
}

// DataSetScores are the scores of one agent on one data set. Shares are from 0 to 1.
type DataSetScores struct {
	DataSet  string `json:"name"`
	Language string `json:"language"`
	Split    string `json:"split"`
	// Records is the number of records with a prediction in the first trial. Predictions counts all
	// trials.
	Records     int `json:"records"`
	Predictions int `json:"answers"`
	// EuroEval is the score as EuroEval reports it, from the first trial of each record. Aligned is
	// the same score with every record graded by its own functions.
	EuroEval Summary `json:"euroeval"`
	Aligned  Summary `json:"euroeval_aligned"`
	// Iterations holds the scores of EuroEval's iterations. Failed counts iterations without a score.
	Iterations []float64 `json:"iteration_scores"`
	Failed     int       `json:"failed_iterations"`
	// EuroEvalShare and StrictShare are the shares of predictions that the graders accept. Records
	// with the same functions, and trials of one record, are one cluster of the interval. Margin is
	// NaN for a single cluster.
	EuroEvalShare Summary `json:"euroeval_share"`
	StrictShare   Summary `json:"bfcl_strict_share"`
	// Disagreements counts the predictions on which the graders differ, Quirks the same by the rule
	// that decides.
	Disagreements int           `json:"differ"`
	Quirks        map[Quirk]int `json:"quirks"`
	// Categories are sorted by their first record.
	Categories []CategoryScores `json:"categories"`
}

// CategoryScores are the scores of one category.
type CategoryScores struct {
	Category    string  `json:"category"`
	Predictions int     `json:"answers"`
	EuroEval    float64 `json:"euroeval"`
	Strict      float64 `json:"bfcl_strict"`
	// Disagreements counts the predictions on which the graders differ.
	Disagreements int `json:"differ"`
}

// ScoreDataSets returns the figures of each data set and split, in the order of predictions.
// Records without a prediction do not count. The error names a data set that is too large for
// Resample.
func ScoreDataSets(played []GradedPrediction, settings Settings) ([]DataSetScores, error) {
	type key struct{ set, split string }
	groups := make(map[key][]GradedPrediction)
	var order []key
	for _, p := range played {
		k := key{p.Record.GetPosition().GetDataSet(), p.Record.GetPosition().GetSplit()}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], p)
	}
	list := []DataSetScores{}
	for _, k := range order {
		group := groups[k]
		slices.SortStableFunc(group, func(a, b GradedPrediction) int {
			return cmp.Or(cmp.Compare(a.Record.GetPosition().GetIndex(), b.Record.GetPosition().GetIndex()), cmp.Compare(a.Trial, b.Trial))
		})
		figures, err := scoreDataSet(group, settings)
		if err != nil {
			return nil, fmt.Errorf("data set %s: %w", k.set, err)
		}
		list = append(list, figures)
	}
	return list, nil
}

// scoreDataSet returns the figures of one data set. The predictions are sorted by record.
func scoreDataSet(played []GradedPrediction, settings Settings) (DataSetScores, error) {
	position := played[0].Record.GetPosition()
	scores := DataSetScores{
		DataSet: position.GetDataSet(), Language: position.GetLanguage(), Split: position.GetSplit(), Predictions: len(played),
		Iterations: []float64{}, Quirks: make(map[Quirk]int),
	}
	rows, err := firstTrial(played)
	if err != nil {
		return DataSetScores{}, err
	}
	scores.Records = len(rows)
	sizes := SplitSizes{Train: int(position.GetTrainSize()), Val: int(position.GetValSize()), Test: len(rows)}
	draws, err := Resample(settings.Seed, settings.Iterations, sizes)
	if err != nil {
		return DataSetScores{}, err
	}
	var aligned []float64
	for _, iteration := range Evaluate(rows, draws) {
		score := iteration.Score
		if !settings.CacheOrder {
			score = iteration.Aligned
		}
		if score.OK {
			scores.Iterations = append(scores.Iterations, score.Value)
		}
		if score.Err != nil {
			scores.Failed++
		}
		if iteration.Aligned.OK {
			aligned = append(aligned, iteration.Aligned.Value)
		}
	}
	scores.EuroEval, scores.Aligned = Summarise(scores.Iterations), Summarise(aligned)
	scores.EuroEvalShare = clusteredShare(played, func(p *GradedPrediction) bool { return p.EuroEval })
	scores.StrictShare = clusteredShare(played, func(p *GradedPrediction) bool { return p.Strict })
	for i := range played {
		if played[i].Quirk != QuirkNone {
			scores.Disagreements++
			scores.Quirks[played[i].Quirk]++
		}
	}
	scores.Categories = scoreCategories(played)
	return scores, nil
}

// firstTrial returns the rows of the first trial.
func firstTrial(played []GradedPrediction) ([]Row, error) {
	var rows []Row
	last := int32(-1)
	for i := range played {
		record := played[i].Record
		if record.GetPosition().GetIndex() == last {
			continue
		}
		last = record.GetPosition().GetIndex()
		task, err := NewTask(record.GetFunctionsJson(), record.GetAnswersJson())
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{Prompt: played[i].Prompt, Functions: task.Functions, Answers: task.Answers, Prediction: played[i].Prediction})
	}
	return rows, nil
}

func scoreCategories(played []GradedPrediction) []CategoryScores {
	var list []CategoryScores
	for i := range played {
		p := &played[i]
		name := p.Record.GetPosition().GetCategory()
		at := slices.IndexFunc(list, func(c CategoryScores) bool { return c.Category == name })
		if at < 0 {
			at = len(list)
			list = append(list, CategoryScores{Category: name})
		}
		c := &list[at]
		c.Predictions++
		c.EuroEval += boolScore(p.EuroEval)
		c.Strict += boolScore(p.Strict)
		if p.Quirk != QuirkNone {
			c.Disagreements++
		}
	}
	for i := range list {
		list[i].EuroEval /= float64(list[i].Predictions)
		list[i].Strict /= float64(list[i].Predictions)
	}
	return list
}

func boolScore(correct bool) float64 {
	if correct {
		return 1
	}
	return 0
}

// clusteredShare returns the share of correct predictions with a cluster-robust interval. It sums
// the residuals of a cluster before it squares them.
func clusteredShare(played []GradedPrediction, correct func(*GradedPrediction) bool) Summary {
	n := float64(len(played))
	mean := 0.0
	for i := range played {
		mean += boolScore(correct(&played[i])) / n
	}
	sums := make(map[string]float64)
	var order []string
	for i := range played {
		functions := played[i].Record.GetFunctionsJson()
		if _, exists := sums[functions]; !exists {
			order = append(order, functions)
		}
		sums[functions] += boolScore(correct(&played[i])) - mean
	}
	clusters := float64(len(order))
	if clusters < 2 {
		return Summary{Mean: mean, Margin: math.NaN()}
	}
	squares := 0.0
	for _, functions := range order {
		squares += float64(sums[functions] * sums[functions])
	}
	return Summary{Mean: mean, Margin: marginFactor * math.Sqrt(squares*clusters/(clusters-1)) / n}
}
