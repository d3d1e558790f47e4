package euroeval

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// Played is a record with the answer of an agent and what both graders say of it.
type Played struct {
	Record *evaluationv1.FunctionCalling
	// Prompt is what the model was asked.
	Prompt string
	// Trial counts from 0 where a record was played several times.
	Trial      int
	Prediction string
	// EuroEval and Strict report whether the graders take the prediction for correct.
	EuroEval, Strict bool
	// Quirk says why they differ; empty if they do not.
	Quirk Quirk
}

// Settings are those of EuroEval's bootstrap.
type Settings struct {
	Seed       uint64
	Iterations int
	// CacheOrder scores rows in the order that EuroEval's cache produces, in which most are judged by
	// the functions of another record, as published scores are.
	CacheOrder bool
}

// DefaultSettings returns EuroEval's own.
func DefaultSettings() Settings {
	return Settings{Seed: Seed, Iterations: Iterations, CacheOrder: true}
}

// Figures are the scores of one agent on one data set. Shares are between 0 and 1.
type Figures struct {
	DataSet, Language, Split string
	// Records is the number of records with a prediction in the first trial, Played that of all
	// predictions.
	Records, Played int
	// EuroEval is the score as EuroEval reports it, from the first trial of each record. Iterations
	// are its parts; one that failed has none, and Failed counts those.
	EuroEval   Summary
	Iterations []float64
	Failed     int
	// Aligned is the same with every record judged by its own functions.
	Aligned Summary
	// EuroEvalShare and StrictShare are the shares of predictions that the graders take for correct,
	// with an interval that counts records of the same functions, and trials of one record, as one
	// cluster. Radius is NaN for a single cluster.
	EuroEvalShare, StrictShare Summary
	// Quirks counts the predictions on which the graders differ, by the rule that decides.
	Quirks map[Quirk]int
	// Categories are in the order of their first record.
	Categories []CategoryFigures
}

// CategoryFigures are the shares of one category.
type CategoryFigures struct {
	Category         string
	Played           int
	EuroEval, Strict float64
	// Differ counts the predictions on which the graders differ.
	Differ int
}

// FiguresOf returns the figures of each data set and split, in the order in which they come first.
// Records of a split that were not played do not count. The error names a data set that is too
// large to draw from.
func FiguresOf(played []Played, settings Settings) ([]Figures, error) {
	type key struct{ set, split string }
	groups := make(map[key][]Played)
	var order []key
	for _, p := range played {
		k := key{p.Record.GetPlace().GetDataSet(), p.Record.GetPlace().GetSplit()}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], p)
	}
	var list []Figures
	for _, k := range order {
		group := groups[k]
		slices.SortStableFunc(group, func(a, b Played) int {
			return cmp.Or(cmp.Compare(a.Record.GetPlace().GetIndex(), b.Record.GetPlace().GetIndex()), cmp.Compare(a.Trial, b.Trial))
		})
		figures, err := figuresOf(group, settings)
		if err != nil {
			return nil, fmt.Errorf("data set %s: %w", k.set, err)
		}
		list = append(list, figures)
	}
	return list, nil
}

// figuresOf returns the figures of one data set, whose records are in their order.
func figuresOf(played []Played, settings Settings) (Figures, error) {
	place := played[0].Record.GetPlace()
	figures := Figures{
		DataSet: place.GetDataSet(), Language: place.GetLanguage(), Split: place.GetSplit(), Played: len(played), Quirks: make(map[Quirk]int),
	}
	rows, err := firstTrial(played)
	if err != nil {
		return Figures{}, err
	}
	figures.Records = len(rows)
	sizes := Sizes{Train: int(place.GetTrainSize()), Val: int(place.GetValSize()), Test: len(rows)}
	draws, err := Draw(settings.Seed, settings.Iterations, sizes)
	if err != nil {
		return Figures{}, err
	}
	var aligned []float64
	for _, iteration := range Evaluate(rows, draws) {
		score := iteration.Score
		if !settings.CacheOrder {
			score = iteration.Aligned
		}
		if score.OK {
			figures.Iterations = append(figures.Iterations, score.Value)
		}
		if score.Err != nil {
			figures.Failed++
		}
		if iteration.Aligned.OK {
			aligned = append(aligned, iteration.Aligned.Value)
		}
	}
	figures.EuroEval, figures.Aligned = Summarise(figures.Iterations), Summarise(aligned)
	figures.EuroEvalShare = shareOf(played, func(p *Played) bool { return p.EuroEval })
	figures.StrictShare = shareOf(played, func(p *Played) bool { return p.Strict })
	for i := range played {
		if played[i].Quirk != QuirkNone {
			figures.Quirks[played[i].Quirk]++
		}
	}
	figures.Categories = categoriesOf(played)
	return figures, nil
}

// firstTrial returns the rows of the first prediction for each record.
func firstTrial(played []Played) ([]Row, error) {
	var rows []Row
	last := int32(-1)
	for i := range played {
		record := played[i].Record
		if record.GetPlace().GetIndex() == last {
			continue
		}
		last = record.GetPlace().GetIndex()
		task, err := NewTask(record.GetFunctionsJson(), record.GetAnswersJson())
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{Prompt: played[i].Prompt, Functions: task.Functions, Answers: task.Answers, Prediction: played[i].Prediction})
	}
	return rows, nil
}

func categoriesOf(played []Played) []CategoryFigures {
	var list []CategoryFigures
	for i := range played {
		p := &played[i]
		name := p.Record.GetPlace().GetCategory()
		at := slices.IndexFunc(list, func(c CategoryFigures) bool { return c.Category == name })
		if at < 0 {
			at = len(list)
			list = append(list, CategoryFigures{Category: name})
		}
		c := &list[at]
		c.Played++
		c.EuroEval += number(p.EuroEval)
		c.Strict += number(p.Strict)
		if p.Quirk != QuirkNone {
			c.Differ++
		}
	}
	for i := range list {
		list[i].EuroEval /= float64(list[i].Played)
		list[i].Strict /= float64(list[i].Played)
	}
	return list
}

func number(correct bool) float64 {
	if correct {
		return 1
	}
	return 0
}

// shareOf returns the share of correct predictions and its cluster-robust interval: the residuals
// of records with the same functions are summed before they are squared.
func shareOf(played []Played, correct func(*Played) bool) Summary {
	n := float64(len(played))
	mean := 0.0
	for i := range played {
		mean += number(correct(&played[i])) / n
	}
	sums := make(map[string]float64)
	var order []string
	for i := range played {
		functions := played[i].Record.GetFunctionsJson()
		if _, known := sums[functions]; !known {
			order = append(order, functions)
		}
		sums[functions] += number(correct(&played[i])) - mean
	}
	clusters := float64(len(order))
	if clusters < 2 {
		return Summary{Mean: mean, Radius: math.NaN()}
	}
	squares := 0.0
	for _, functions := range order {
		squares += float64(sums[functions] * sums[functions])
	}
	return Summary{Mean: mean, Radius: intervalWidth * math.Sqrt(squares*clusters/(clusters-1)) / n}
}
