package euroeval

import (
	"fmt"
	"math"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

const (
	// Seed is EuroEval's seed for bootstrap draws and for models.
	Seed = 4242
	// Iterations is EuroEval's default number of iterations.
	Iterations = 10
)

// Sizes are the numbers of records of the splits.
type Sizes struct {
	Train, Val, Test int
}

// Draw returns the rows that each iteration scores: as many as the split has, with replacement.
// EuroEval draws for train, val and test in turn and evaluates the third; for the validation split
// the caller gives its size as that of test too. It
// refuses sizes that are negative or beyond 32 bits.
func Draw(seed uint64, iterations int, sizes Sizes) ([][]int, error) {
	for _, size := range []int{sizes.Train, sizes.Val, sizes.Test} {
		if size < 0 || size > maxSize {
			return nil, fmt.Errorf("draw rows: a split has %d records, want 0 to %d", size, maxSize)
		}
	}
	generator := newPCG64(seed)
	for range iterations * sizes.Train {
		generator.below(uint32(sizes.Train))
	}
	for range iterations * sizes.Val {
		generator.below(uint32(sizes.Val))
	}
	draws := make([][]int, iterations)
	for i := range draws {
		draws[i] = make([]int, sizes.Test)
		for j := range draws[i] {
			draws[i][j] = int(generator.below(uint32(sizes.Test)))
		}
	}
	return draws, nil
}

// maxSize bounds a split: PCG64 draws below it from 32 bits.
const maxSize = math.MaxInt32

// Row is a record to be scored with the prediction for it.
type Row struct {
	// Prompt tells records apart: EuroEval generates once for each prompt, and keeps the prediction
	// of the first record that has it.
	Prompt string
	// Functions are the descriptions of the functions, Answers the expected calls.
	Functions, Answers python.Value
	Prediction         string
}

// Iteration is how one iteration of the bootstrap went.
type Iteration struct {
	// Order lists the places of the draw in the order in which EuroEval compares predictions, each
	// with the functions of the place where it stands.
	Order []int
	// Generated is the number of prompts that no earlier iteration had.
	Generated int
	// Score is the share of correct predictions by EuroEval's order, Aligned that with every
	// record's own functions.
	Score, Aligned Score
}

// Score is the score of an iteration. It has none without rows and where Err is not nil.
type Score struct {
	Value float64
	OK    bool
	// Err is the *python.Exception that fails the iteration.
	Err error
}

// Evaluate scores the iterations that draws name. It keeps the order that EuroEval's cache of
// predictions makes: rows with new prompts come first.
func Evaluate(rows []Row, draws [][]int) []Iteration {
	run := evaluation{rows: rows, cached: make(map[string]int), verdicts: make(map[gradeKey]graded)}
	iterations := make([]Iteration, len(draws))
	for i, draw := range draws {
		iterations[i] = run.iterate(draw)
	}
	return iterations
}

type evaluation struct {
	rows []Row
	// cached is the row that gave a prompt's prediction.
	cached   map[string]int
	verdicts map[gradeKey]graded
}

// gradeKey is a row judged by the functions of another row, with the prediction of a third.
type gradeKey struct{ functions, answers, prediction int }

type graded struct {
	correct bool
	err     error
}

func (e *evaluation) iterate(draw []int) Iteration {
	var fresh []int
	for place, row := range draw {
		if _, known := e.cached[e.rows[row].Prompt]; !known {
			e.cached[e.rows[row].Prompt] = row
			fresh = append(fresh, place)
		}
	}
	order := cacheOrder(len(draw), fresh)
	aligned := make([]int, len(draw))
	for place := range aligned {
		aligned[place] = place
	}
	return Iteration{
		Order: order, Generated: len(fresh), Score: e.score(draw, order), Aligned: e.score(draw, aligned),
	}
}

// score judges each row of order by the functions of the place where it stands.
func (e *evaluation) score(draw, order []int) Score {
	return share(len(draw), func(place int) (bool, error) {
		row := draw[order[place]]
		return e.grade(gradeKey{functions: draw[place], answers: row, prediction: e.cached[e.rows[row].Prompt]})
	})
}

func (e *evaluation) grade(p gradeKey) (bool, error) {
	known, ok := e.verdicts[p]
	if !ok {
		verdict, err := Grade(e.rows[p.functions].Functions, e.rows[p.answers].Answers, e.rows[p.prediction].Prediction)
		known = graded{correct: verdict.Correct, err: err}
		e.verdicts[p] = known
	}
	return known.correct, known.err
}

// Call scores one call of EuroEval's metric over the shortest of its three lists.
func Call(functions, answers []python.Value, predictions []string) Score {
	return share(min(len(functions), len(answers), len(predictions)), func(row int) (bool, error) {
		verdict, err := Grade(functions[row], answers[row], predictions[row])
		return verdict.Correct, err
	})
}

// share returns the share of n rows that are correct; the first error ends it.
func share(n int, grade func(row int) (bool, error)) Score {
	right := 0
	for row := range n {
		correct, err := grade(row)
		if err != nil {
			return Score{Err: err}
		}
		if correct {
			right++
		}
	}
	if n == 0 {
		return Score{}
	}
	return Score{Value: float64(right) / float64(n), OK: true}
}
