package euroeval

import (
	"fmt"
	"math"

	"github.com/toolsandbox/toolsandbox/python"
)

const (
	// Seed is EuroEval's seed for the bootstrap and for models.
	Seed = 4242
	// Iterations is EuroEval's default number of iterations.
	Iterations = 10
)

// SplitSizes are the numbers of records of the splits.
type SplitSizes struct {
	Train, Val, Test int
}

// Resample returns the rows of each iteration, drawn with replacement: as many as the split has.
// EuroEval draws for train, val and test in turn and evaluates the last. To evaluate val, pass its
// size as Test too. The error names a size that is negative or exceeds 31 bits.
func Resample(seed uint64, iterations int, sizes SplitSizes) ([][]int, error) {
	for _, size := range []int{sizes.Train, sizes.Val, sizes.Test} {
		if size < 0 || size > maxSize {
			return nil, fmt.Errorf("draw rows: a split has %d records, want 0 to %d", size, maxSize)
		}
	}
	generator := newPCG64(seed)
	for range iterations * sizes.Train {
		generator.intN(uint32(sizes.Train))
	}
	for range iterations * sizes.Val {
		generator.intN(uint32(sizes.Val))
	}
	draws := make([][]int, iterations)
	for i := range draws {
		draws[i] = make([]int, sizes.Test)
		for j := range draws[i] {
			draws[i][j] = int(generator.intN(uint32(sizes.Test)))
		}
	}
	return draws, nil
}

// maxSize is the largest size of a split: PCG64 draws smaller numbers from 32 bits.
const maxSize = math.MaxInt32

// Row is a record with the prediction for it.
type Row struct {
	// Prompt identifies the model request. EuroEval generates once for each prompt and keeps the
	// prediction of the first record that has it.
	Prompt string
	// Functions are the descriptions of the functions, Answers the expected calls.
	Functions, Answers python.Value
	Prediction         string
}

// Iteration is the result of one iteration of the bootstrap.
type Iteration struct {
	// Order lists the indices of the draw in the order in which EuroEval compares predictions. Each is
	// graded with the functions of the row at its own position in the draw.
	Order []int
	// Generated is the number of prompts that no earlier iteration had.
	Generated int
	// Score is the share of correct predictions in EuroEval's order. Aligned grades every record with
	// its own functions.
	Score, Aligned Score
}

// Score is the score of an iteration. OK is false without rows and if Err is set.
type Score struct {
	Value float64
	OK    bool
	// Err is the *python.Exception that fails the iteration.
	Err error
}

// Evaluate scores iterations. draws holds the rows of each iteration. It follows the order of
// EuroEval's prediction cache: rows with new prompts are first.
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
	// cached maps a prompt to the row whose prediction EuroEval keeps.
	cached   map[string]int
	verdicts map[gradeKey]graded
}

// gradeKey names the rows that supply functions, answers and prediction of a grading.
type gradeKey struct{ functions, answers, prediction int }

type graded struct {
	correct bool
	err     error
}

func (e *evaluation) iterate(draw []int) Iteration {
	var newRows []int
	for i, row := range draw {
		if _, exists := e.cached[e.rows[row].Prompt]; !exists {
			e.cached[e.rows[row].Prompt] = row
			newRows = append(newRows, i)
		}
	}
	order := cacheOrder(len(draw), newRows)
	return Iteration{
		Order: order, Generated: len(newRows), Score: e.score(draw, order), Aligned: e.score(draw, indices(len(draw))),
	}
}

// score grades each row of order with the functions of the row at its position in the draw.
func (e *evaluation) score(draw, order []int) Score {
	return share(len(draw), func(i int) (bool, error) {
		row := draw[order[i]]
		return e.grade(gradeKey{functions: draw[i], answers: row, prediction: e.cached[e.rows[row].Prompt]})
	})
}

func (e *evaluation) grade(p gradeKey) (bool, error) {
	cached, ok := e.verdicts[p]
	if !ok {
		verdict, err := Grade(e.rows[p.functions].Functions, e.rows[p.answers].Answers, e.rows[p.prediction].Prediction)
		cached = graded{correct: verdict.Correct, err: err}
		e.verdicts[p] = cached
	}
	return cached.correct, cached.err
}

// MetricScore scores one call of EuroEval's metric. The shortest of its three lists counts.
func MetricScore(functions, answers []python.Value, predictions []string) Score {
	return share(min(len(functions), len(answers), len(predictions)), func(row int) (bool, error) {
		verdict, err := Grade(functions[row], answers[row], predictions[row])
		return verdict.Correct, err
	})
}

// share returns the share of n rows that are correct. The first error stops it.
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
