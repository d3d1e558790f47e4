package statistics

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Crossed is a number with the level of each factor at which it was observed.
type Crossed struct {
	Levels []string
	Value  float64
}

// Components are the parts of the variance of crossed observations.
type Components struct {
	// Factors are the variances between the levels of each factor, NaN for one with a single level.
	Factors []float64
	// Together is the variance between combinations of levels beyond that of the factors alone, their
	// interaction. It is NaN without two factors of several levels, and where no combination was
	// observed twice: it is then part of Within.
	Together float64
	// Within is the variance between the observations of one combination.
	Within float64
}

// mostCondition is the largest condition number of equations that tell the components apart.
const mostCondition = 1e12

// ComponentsOf estimates the components by the method of moments for unbalanced data, Henderson's
// method I: it equates the sums of squares of all factors with their expectations. Negative
// estimates are 0. ok is false if there is no factor with several levels, if nothing was observed
// twice, and if the design does not tell the factors apart, such as agents that each had a user of
// its own.
func ComponentsOf(observations []Crossed) (c Components, ok bool) {
	if len(observations) == 0 {
		return Components{}, false
	}
	c = Components{Together: math.NaN(), Within: math.NaN()}
	combined := newPartition(observations, func(o Crossed) string { return joined(o.Levels) })
	whole := newPartition(observations, func(Crossed) string { return "" })
	parts := []*partition{whole}
	at := make([]int, len(observations[0].Levels)) // of each factor in parts
	levels := 0
	for factor := range at {
		p := newPartition(observations, func(o Crossed) string { return o.Levels[factor] })
		c.Factors = append(c.Factors, math.NaN())
		if p.size() > 1 {
			at[factor], parts = len(parts), append(parts, p)
			levels = max(levels, p.size())
		}
	}
	together := 0
	if len(parts) > 2 && combined.size() > levels && combined.size() < len(observations) {
		together, parts = len(parts), append(parts, combined)
	}
	within := newPartition(observations, nil)
	if len(parts) == 1 || levels == len(observations) {
		return Components{}, false
	}
	estimates, ok := solve(observations, append(parts, within))
	if !ok {
		return Components{}, false
	}
	for factor, part := range at {
		if part > 0 {
			c.Factors[factor] = variance(estimates[part])
		}
	}
	if together > 0 {
		c.Together = variance(estimates[together])
	}
	c.Within = variance(estimates[len(parts)])
	return c, true
}

// solve returns the variance between the classes of each partition. The first one is the whole, of
// which it returns the square of the mean, the last one that of single observations.
func solve(observations []Crossed, parts []*partition) (estimates []float64, ok bool) {
	mean := 0.0
	for _, o := range observations {
		mean += o.Value / float64(len(observations))
	}
	n := len(parts)
	expected, found := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	for i, rows := range parts {
		expected.Set(i, 0, float64(len(observations)))
		for j := 1; j < n; j++ {
			expected.Set(i, j, rows.coefficient(parts[j]))
		}
		found.SetVec(i, rows.squares(observations, mean))
	}
	var lu mat.LU
	if lu.Factorize(expected); lu.Cond() > mostCondition {
		return nil, false
	}
	var solution mat.VecDense
	if err := lu.SolveVecTo(&solution, false, found); err != nil {
		return nil, false
	}
	return solution.RawVector().Data, true
}

// partition is the observations by class.
type partition struct {
	class  []int     // of each observation
	counts []float64 // of each class
}

// newPartition returns the observations by name, each one alone without names.
func newPartition(observations []Crossed, name func(Crossed) string) *partition {
	p := &partition{class: make([]int, len(observations))}
	numbers := make(map[string]int)
	for i, o := range observations {
		class := i
		if name != nil {
			known, ok := numbers[name(o)]
			if !ok {
				known = len(numbers)
				numbers[name(o)] = known
			}
			class = known
		}
		if class == len(p.counts) {
			p.counts = append(p.counts, 0)
		}
		p.class[i] = class
		p.counts[class]++
	}
	return p
}

func (p *partition) size() int { return len(p.counts) }

// squares returns the sum over classes of the squared sum of their values, divided by their number.
func (p *partition) squares(observations []Crossed, mean float64) float64 {
	sums := make([]float64, p.size())
	for i, o := range observations {
		sums[p.class[i]] += o.Value - mean
	}
	total := 0.0
	for class, sum := range sums {
		total += sum * sum / p.counts[class]
	}
	return total
}

// coefficient returns how often the sum of squares expects the variance between the classes of
// another partition.
func (p *partition) coefficient(other *partition) float64 {
	common := make(map[[2]int]float64)
	for i, class := range p.class {
		common[[2]int{class, other.class[i]}]++
	}
	squares := make([]float64, p.size())
	for pair, count := range common {
		squares[pair[0]] += count * count // whole numbers are exact in any order
	}
	total := 0.0
	for class, sum := range squares {
		total += sum / p.counts[class]
	}
	return total
}

// joined returns levels as one name.
func joined(levels []string) string {
	name := ""
	for _, level := range levels {
		name += level + "\x00"
	}
	return name
}
