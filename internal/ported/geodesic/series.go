package geodesic

// order is the highest power of the expansion parameter in all series.
const order = 6

// coefficients are the terms 1 to order of a Fourier sine series. The first element is unused.
type coefficients [order + 1]float64

// fraction is a polynomial with integer coefficients, from the highest power, divided by an
// integer.
type fraction struct {
	numerator   []float64
	denominator float64
}

func (f fraction) at(x float64) float64 { return polynomial(x, f.numerator) / f.denominator }

// polynomial returns the value at x of a polynomial. Its coefficients start at the highest power.
func polynomial(x float64, terms []float64) float64 {
	y := 0.0
	for _, term := range terms {
		y = float64(y*x) + term
	}
	return y
}

// expand returns coefficients of a series. Coefficient n is eps to the n times a polynomial in eps
// squared.
func expand(eps float64, terms [order]fraction) coefficients {
	var c coefficients
	power := eps
	for i, term := range terms {
		c[i+1] = float64(power*polynomial(square(eps), term.numerator)) / term.denominator
		power *= eps
	}
	return c
}

// a1 returns A1 - 1, Karney's equation 17: the mean scale of distance along the auxiliary sphere.
func a1(eps float64) float64 {
	t := fraction{[]float64{1, 4, 64, 0}, 256}.at(square(eps))
	return (t + eps) / (1 - eps)
}

// c1 returns the coefficients of equation 18 for the distance.
func c1(eps float64) coefficients {
	return expand(eps, [order]fraction{
		{[]float64{-1, 6, -16}, 32},
		{[]float64{-9, 64, -128}, 2048},
		{[]float64{9, -16}, 768},
		{[]float64{3, -5}, 512},
		{[]float64{-7}, 1280},
		{[]float64{-7}, 2048},
	})
}

// a2 returns A2 - 1, equation 42: the mean scale for the reduced length.
func a2(eps float64) float64 {
	t := fraction{[]float64{-11, -28, -192, 0}, 256}.at(square(eps))
	return (t - eps) / (1 + eps)
}

// c2 returns the coefficients of equation 43 for the reduced length.
func c2(eps float64) coefficients {
	return expand(eps, [order]fraction{
		{[]float64{1, 2, 16}, 32},
		{[]float64{35, 64, 384}, 2048},
		{[]float64{15, 80}, 768},
		{[]float64{7, 35}, 512},
		{[]float64{63}, 1280},
		{[]float64{77}, 2048},
	})
}

// longitudeSeries holds the coefficients of equations 24 and 25 for one ellipsoid, as polynomials
// in eps.
type longitudeSeries struct {
	a3 []float64        // from the highest power
	c3 [order][]float64 // coefficient l without the factor eps to the l; the first element is unused
}

// newLongitudeSeries returns the series for the third flattening n.
func newLongitudeSeries(n float64) longitudeSeries {
	s := longitudeSeries{a3: values(n,
		fraction{[]float64{-3}, 128},
		fraction{[]float64{-2, -3}, 64},
		fraction{[]float64{-1, -3, -1}, 16},
		fraction{[]float64{3, -1, -2}, 8},
		fraction{[]float64{1, -1}, 2},
		fraction{[]float64{1}, 1},
	)}
	s.c3[1] = values(n,
		fraction{[]float64{3}, 128},
		fraction{[]float64{2, 5}, 128},
		fraction{[]float64{-1, 3, 3}, 64},
		fraction{[]float64{-1, 0, 1}, 8},
		fraction{[]float64{-1, 1}, 4},
	)
	s.c3[2] = values(n,
		fraction{[]float64{5}, 256},
		fraction{[]float64{1, 3}, 128},
		fraction{[]float64{-3, -2, 3}, 64},
		fraction{[]float64{1, -3, 2}, 32},
	)
	s.c3[3] = values(n,
		fraction{[]float64{7}, 512},
		fraction{[]float64{-10, 9}, 384},
		fraction{[]float64{5, -9, 5}, 192},
	)
	s.c3[4] = values(n,
		fraction{[]float64{7}, 512},
		fraction{[]float64{-14, 7}, 512},
	)
	s.c3[5] = values(n, fraction{[]float64{21}, 2560})
	return s
}

func values(x float64, terms ...fraction) []float64 {
	all := make([]float64, len(terms))
	for i, term := range terms {
		all[i] = term.at(x)
	}
	return all
}

// scale returns A3, the mean scale of longitude.
func (s *longitudeSeries) scale(eps float64) float64 { return polynomial(eps, s.a3) }

// coefficients returns C3. This series has one term less than the others.
func (s *longitudeSeries) coefficients(eps float64) []float64 {
	c := make([]float64, order)
	power := 1.0
	for l := 1; l < order; l++ {
		power *= eps
		c[l] = float64(power * polynomial(eps, s.c3[l]))
	}
	return c
}

// sines returns the sum of c[n]*sin(2*n*x) for n from 1, by Clenshaw's summation.
func sines(x direction, c []float64) float64 {
	twice := float64(2*(x.cos-x.sin)) * (x.cos + x.sin)
	next, afterNext := 0.0, 0.0
	for n := len(c) - 1; n > 0; n-- {
		next, afterNext = float64(twice*next)-afterNext+c[n], next
	}
	return float64(float64(float64(2*x.sin)*x.cos) * next)
}

// sineDifference returns the difference of sines between two directions.
func sineDifference(from, to direction, c []float64) float64 { return sines(to, c) - sines(from, c) }
