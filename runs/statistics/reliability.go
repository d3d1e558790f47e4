package statistics

import (
	"maps"
	"math"
	"slices"
)

// These are the formulas of the reliability card. Each is 1 for the most reliable agent.

// Consistency returns how much the outcomes of trials agree: (2p − 1)² for a share p that passed.
// That is 1 if all or none did, 0 if half did. ok is false below two trials.
func (t Trials) Consistency() (c float64, ok bool) {
	if t.Count < 2 {
		return 0, false
	}
	lean := 2*float64(t.Passed)/float64(t.Count) - 1
	return lean * lean, true
}

// PairMean returns the mean of a similarity over all pairs. ok is false below two items.
func PairMean[T any](items []T, similarity func(a, b T) float64) (mean float64, ok bool) {
	sum, pairs := 0.0, 0
	for i, a := range items {
		for _, b := range items[i+1:] {
			sum, pairs = sum+similarity(a, b), pairs+1
		}
	}
	return sum / float64(pairs), pairs > 0
}

// OrderSimilarity returns how much two sequences agree in order: 1 minus the Levenshtein distance
// divided by the length of the longer one, 1 for two empty ones.
func OrderSimilarity(a, b []string) float64 {
	longest := max(len(a), len(b))
	if longest == 0 {
		return 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			replaced := diagonal
			if x != y {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return 1 - float64(row[len(b)])/float64(longest)
}

// ChoiceSimilarity returns how much two sequences agree in what they hold, in whatever order: 1
// minus the Jensen-Shannon distance to base 2 of their shares. Neither may be empty.
func ChoiceSimilarity(a, b []string) float64 {
	counts := make(map[string][2]float64)
	for at, sequence := range [2][]string{a, b} {
		for _, item := range sequence {
			both := counts[item]
			both[at]++
			counts[item] = both
		}
	}
	divergence := 0.0
	for _, item := range slices.Sorted(maps.Keys(counts)) { // sums depend on the order
		shares := [2]float64{counts[item][0] / float64(len(a)), counts[item][1] / float64(len(b))}
		for _, share := range shares {
			if middle := (shares[0] + shares[1]) / 2; share > 0 {
				divergence += share / 2 * math.Log2(share/middle)
			}
		}
	}
	return 1 - math.Sqrt(max(divergence, 0))
}

// Steadiness returns how little trials vary in what they use: exp of minus the mean coefficient of
// variation of the resources, each a number for each trial. A resource that no trial used does not
// count. ok is false without any, and below two trials.
func Steadiness(resources ...[]float64) (s float64, ok bool) {
	sum, known := 0.0, 0
	for _, used := range resources {
		n, mean, squares := float64(len(used)), 0.0, 0.0
		for _, amount := range used {
			mean += amount / n
		}
		if len(used) < 2 || mean <= 0 {
			continue
		}
		for _, amount := range used {
			squares += (amount - mean) * (amount - mean)
		}
		sum, known = sum+math.Sqrt(squares/(n-1))/mean, known+1
	}
	return math.Exp(-sum / float64(known)), known > 0
}

// Forecast is the probability of passing that was stated for a trial, and whether it passed.
type Forecast struct {
	Cluster     string
	Probability float64
	Passed      bool
}

// Forecasts are forecasts by their probabilities, with the number of each one's cluster.
type Forecasts struct {
	sorted   []Forecast
	at       []int
	clusters int
}

// NewForecasts sorts forecasts.
func NewForecasts(all []Forecast) *Forecasts {
	f := &Forecasts{sorted: slices.Clone(all)}
	slices.SortStableFunc(f.sorted, func(a, b Forecast) int {
		switch {
		case a.Probability < b.Probability:
			return -1
		case a.Probability > b.Probability:
			return 1
		}
		return 0
	})
	numbers := make(map[string]int)
	for _, forecast := range all {
		if _, ok := numbers[forecast.Cluster]; !ok {
			numbers[forecast.Cluster] = len(numbers)
		}
	}
	for _, forecast := range f.sorted {
		f.at = append(f.at, numbers[forecast.Cluster])
	}
	f.clusters = len(numbers)
	return f
}

// Clusters returns the number of clusters.
func (f *Forecasts) Clusters() int { return f.clusters }

// bins is the number of bins of equal width in which Calibration compares.
const bins = 10

// Calibration returns 1 minus the expected calibration error in ten bins, with clusters by weight.
// It is NaN without weight.
func (f *Forecasts) Calibration(weights []float64) float64 {
	var gaps [bins]float64
	all := 0.0
	for i, forecast := range f.sorted {
		weight := weights[f.at[i]]
		gaps[min(int(forecast.Probability*bins), bins-1)] += weight * (outcome(forecast.Passed) - forecast.Probability)
		all += weight
	}
	sum := 0.0
	for _, gap := range gaps {
		sum += math.Abs(gap)
	}
	return 1 - sum/all
}

// Discrimination returns the probability that a trial that passed had a higher forecast than one
// that did not, where equal ones count half: the area under the ROC curve. It is NaN unless some
// passed and some did not.
func (f *Forecasts) Discrimination(weights []float64) float64 {
	passed, failed, won := 0.0, 0.0, 0.0
	for i := 0; i < len(f.sorted); {
		passedHere, failedHere := 0.0, 0.0
		probability := f.sorted[i].Probability
		for ; i < len(f.sorted) && f.sorted[i].Probability == probability; i++ {
			if weight := weights[f.at[i]]; f.sorted[i].Passed {
				passedHere += weight
			} else {
				failedHere += weight
			}
		}
		won += passedHere * (failed + failedHere/2)
		passed, failed = passed+passedHere, failed+failedHere
	}
	return won / (passed * failed)
}

// Brier returns 1 minus the mean squared difference of forecast and outcome. It is NaN without
// weight.
func (f *Forecasts) Brier(weights []float64) float64 {
	squares, all := 0.0, 0.0
	for i, forecast := range f.sorted {
		weight, miss := weights[f.at[i]], outcome(forecast.Passed)-forecast.Probability
		squares, all = squares+weight*miss*miss, all+weight
	}
	return 1 - squares/all
}

func outcome(passed bool) float64 {
	if passed {
		return 1
	}
	return 0
}
