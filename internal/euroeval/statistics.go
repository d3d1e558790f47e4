package euroeval

import (
	"encoding/json"
	"math"
	"strconv"
)

// Summary is a score from 0 to 1. Margin is half the width of its 95 % interval: 1.96 standard
// errors of the mean. EuroEval's results call that the standard error.
type Summary struct{ Mean, Margin float64 }

// MarshalJSON writes both numbers, null for one that is NaN.
func (s Summary) MarshalJSON() ([]byte, error) {
	var out struct {
		Mean   *float64 `json:"mean"`
		Margin *float64 `json:"radius"`
	}
	if !math.IsNaN(s.Mean) {
		out.Mean = &s.Mean
	}
	if !math.IsNaN(s.Margin) {
		out.Margin = &s.Margin
	}
	return json.Marshal(out)
}

// marginFactor is the margin in standard errors.
const marginFactor = 1.96

// Summarise returns the summary of the scores of iterations, with the same bits as NumPy. Both
// fields are NaN without iterations. Margin is NaN for a single one.
func Summarise(scores []float64) Summary {
	n := float64(len(scores))
	if n == 0 {
		return Summary{Mean: math.NaN(), Margin: math.NaN()}
	}
	mean := sum(scores) / n
	if n == 1 {
		return Summary{Mean: mean, Margin: math.NaN()}
	}
	squares := make([]float64, len(scores))
	for i, score := range scores {
		squares[i] = float64((score - mean) * (score - mean))
	}
	deviation := math.Sqrt(sum(squares) / (n - 1))
	return Summary{Mean: mean, Margin: marginFactor * (deviation / math.Sqrt(n))}
}

// Percent formats a number of a summary as EuroEval does.
func Percent(number float64) string {
	if math.IsNaN(number) {
		return "nan%"
	}
	return strconv.FormatFloat(100*number, 'f', 2, 64) + "%"
}

// sum adds numbers in the order of NumPy's pairwise summation. It uses eight partial sums for up to
// 128 numbers and splits longer lists in halves.
func sum(numbers []float64) (total float64) {
	const (
		lanes = 8
		block = 128
	)
	if len(numbers) > block {
		half := len(numbers) / 2
		half -= half % lanes
		return sum(numbers[:half]) + sum(numbers[half:])
	}
	if len(numbers) >= lanes {
		lane := [lanes]float64(numbers)
		at := lanes
		for ; at+lanes <= len(numbers); at += lanes {
			for i := range lane {
				lane[i] += numbers[at+i]
			}
		}
		total = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]))
		numbers = numbers[at:]
	}
	for _, number := range numbers {
		total += number
	}
	return total
}
