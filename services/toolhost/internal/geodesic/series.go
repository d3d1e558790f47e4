package geodesic

// order is the power of the expansion parameter to which all series go.
const order = 6

// polynomial returns the value at x of the polynomial with these coefficients, the highest power's first.
func polynomial(x float64, coefficients ...float64) float64 {
	y := 0.0
	for _, c := range coefficients {
		y = y*x + c
	}
	return y
}

// powers multiplies the n-th term, n from 1, by eps to the n.
func powers(eps float64, terms [order + 1]float64) [order + 1]float64 {
	power := 1.0
	for n := 1; n <= order; n++ {
		power *= eps
		terms[n] *= power
	}
	return terms
}

// a1 returns A1 less 1, Karney's equation 17: the mean scale of distance along the auxiliary sphere.
func a1(eps float64) float64 {
	t := polynomial(eps*eps, 1, 4, 64, 0) / 256
	return (t + eps) / (1 - eps)
}

// c1 returns the coefficients of equation 18, for the distance; the first is unused, as in all of these.
func c1(eps float64) [order + 1]float64 {
	x := eps * eps
	return powers(eps, [order + 1]float64{
		0,
		polynomial(x, -1, 6, -16) / 32,
		polynomial(x, -9, 64, -128) / 2048,
		polynomial(x, 9, -16) / 768,
		polynomial(x, 3, -5) / 512,
		-7.0 / 1280,
		-7.0 / 2048,
	})
}

// a2 returns A2 less 1, equation 42: the like of a1 for the reduced length.
func a2(eps float64) float64 {
	t := polynomial(eps*eps, -11, -28, -192, 0) / 256
	return (t - eps) / (1 + eps)
}

// c2 returns the coefficients of equation 43, for the reduced length.
func c2(eps float64) [order + 1]float64 {
	x := eps * eps
	return powers(eps, [order + 1]float64{
		0,
		polynomial(x, 1, 2, 16) / 32,
		polynomial(x, 35, 64, 384) / 2048,
		polynomial(x, 15, 80) / 768,
		polynomial(x, 7, 35) / 512,
		63.0 / 1280,
		77.0 / 2048,
	})
}

// longitudeSeries are the coefficients of equations 24 and 25, polynomials in eps, for one ellipsoid.
type longitudeSeries struct {
	a3 [order]float64   // the highest power's first
	c3 [order][]float64 // of c3[l], without the factor eps to the l
}

// newLongitudeSeries returns the coefficients for the third flattening n.
func newLongitudeSeries(n float64) longitudeSeries {
	return longitudeSeries{
		a3: [order]float64{
			-3.0 / 128,
			polynomial(n, -2, -3) / 64,
			polynomial(n, -1, -3, -1) / 16,
			polynomial(n, 3, -1, -2) / 8,
			polynomial(n, 1, -1) / 2,
			1,
		},
		c3: [order][]float64{
			1: {3.0 / 128, polynomial(n, 2, 5) / 128, polynomial(n, -1, 3, 3) / 64, polynomial(n, -1, 0, 1) / 8, polynomial(n, -1, 1) / 4},
			2: {5.0 / 256, polynomial(n, 1, 3) / 128, polynomial(n, -3, -2, 3) / 64, polynomial(n, 1, -3, 2) / 32},
			3: {7.0 / 512, polynomial(n, -10, 9) / 384, polynomial(n, 5, -9, 5) / 192},
			4: {7.0 / 512, polynomial(n, -14, 7) / 512},
			5: {21.0 / 2560},
		},
	}
}

func (s *longitudeSeries) a(eps float64) float64 { return polynomial(eps, s.a3[:]...) }

func (s *longitudeSeries) c(eps float64) [order]float64 {
	var c [order]float64
	power := 1.0
	for l := 1; l < order; l++ {
		power *= eps
		c[l] = power * polynomial(eps, s.c3[l]...)
	}
	return c
}

// sines returns the sum of c[n]*sin(2*n*x), n from 1, by Clenshaw's summation.
func sines(x direction, c []float64) float64 {
	twice := 2 * (x.cos - x.sin) * (x.cos + x.sin)
	next, afterNext := 0.0, 0.0
	for n := len(c) - 1; n > 0; n-- {
		next, afterNext = twice*next-afterNext+c[n], next
	}
	return 2 * x.sin * x.cos * next
}
