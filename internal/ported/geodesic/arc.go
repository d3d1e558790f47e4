package geodesic

import "math"

// arc is a segment of a geodesic on the auxiliary sphere.
type arc struct {
	sigma1, sigma2 direction
	sigma          float64 // the angle between them
	eps            float64 // expansion parameter
}

func newArc(sigma1, sigma2 direction, eps float64) arc {
	sin, cos := rotation(sigma1, sigma2)
	return arc{sigma1: sigma1, sigma2: sigma2, sigma: atan2(sin, cos), eps: eps}
}

// rotation returns the non-negative sine and the cosine of the angle between two directions.
func rotation(from, to direction) (sin, cos float64) {
	sin = float64(from.cos*to.sin) - float64(from.sin*to.cos)
	cos = float64(from.cos*to.cos) + float64(from.sin*to.sin)
	return max(0, sin) + 0, cos
}

// length returns the length of the arc divided by the polar radius.
func (a arc) length() float64 {
	c := c1(a.eps)
	return (1 + a1(a.eps)) * (a.sigma + sineDifference(a.sigma1, a.sigma2, c[:]))
}

// reducedLength returns the reduced length divided by the polar radius.
func (t *inverseProblem) reducedLength(a arc) float64 {
	scale1, scale2 := a1(a.eps), a2(a.eps)
	difference := scale1 - scale2
	scale1, scale2 = 1+scale1, 1+scale2
	c, d := c1(a.eps), c2(a.eps)
	for n := 1; n < order; n++ { // GeographicLib keeps the last one too
		d[n] = float64(scale1*c[n]) - float64(scale2*d[n])
	}
	return t.reduce(a, float64(difference*a.sigma)+sineDifference(a.sigma1, a.sigma2, d[:]))
}

// meridianReducedLength returns reducedLength with the sums that GeographicLib uses if it also
// computes the length.
func (t *inverseProblem) meridianReducedLength(a arc) float64 {
	scale1, scale2 := a1(a.eps), a2(a.eps)
	difference := scale1 - scale2
	scale1, scale2 = 1+scale1, 1+scale2
	c, d := c1(a.eps), c2(a.eps)
	b1, b2 := sineDifference(a.sigma1, a.sigma2, c[:]), sineDifference(a.sigma1, a.sigma2, d[:])
	return t.reduce(a, float64(difference*a.sigma)+(float64(scale1*b1)-float64(scale2*b2)))
}

// reduce returns the reduced length by Karney's J, the difference of two integrals along the arc.
func (t *inverseProblem) reduce(a arc, j float64) float64 {
	return float64(t.dn2*float64(a.sigma1.cos*a.sigma2.sin)) - float64(t.dn1*float64(a.sigma1.sin*a.sigma2.cos)) -
		float64(float64(a.sigma1.cos*a.sigma2.cos)*j)
}

// expansion returns the expansion parameter for k squared.
func expansion(k2 float64) float64 { return k2 / (float64(2*(1+math.Sqrt(1+k2))) + k2) }
