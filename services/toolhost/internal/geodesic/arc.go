package geodesic

import "math"

// arc is a stretch of a geodesic on the auxiliary sphere.
type arc struct {
	sigma1, sigma2 direction
	sigma          float64 // the angle between them
	eps            float64 // expansion parameter
}

func newArc(sigma1, sigma2 direction, eps float64) arc {
	sin, cos := rotation(sigma1, sigma2)
	return arc{sigma1: sigma1, sigma2: sigma2, sigma: atan2(sin, cos), eps: eps}
}

// rotation returns the sine, not below zero, and the cosine of the angle from one direction to
// another.
func rotation(from, to direction) (sin, cos float64) {
	sin = float64(from.cos*to.sin) - float64(from.sin*to.cos)
	cos = float64(from.cos*to.cos) + float64(from.sin*to.sin)
	return max(0, sin) + 0, cos
}

// length returns the arc's length over the polar radius.
func (a arc) length() float64 {
	c := c1(a.eps)
	return (1 + a1(a.eps)) * (a.sigma + between(a.sigma1, a.sigma2, c[:]))
}

// reducedLength returns the reduced length over the polar radius.
func (t *inverseProblem) reducedLength(a arc) float64 {
	scale1, scale2 := a1(a.eps), a2(a.eps)
	difference := scale1 - scale2
	scale1, scale2 = 1+scale1, 1+scale2
	c, d := c1(a.eps), c2(a.eps)
	for n := 1; n < order; n++ { // the last stays as it is, as in GeographicLib
		d[n] = float64(scale1*c[n]) - float64(scale2*d[n])
	}
	return t.reduce(a, float64(difference*a.sigma)+between(a.sigma1, a.sigma2, d[:]))
}

// meridianReducedLength returns the same as reducedLength, by the sums that GeographicLib takes if
// it wants the length, too.
func (t *inverseProblem) meridianReducedLength(a arc) float64 {
	scale1, scale2 := a1(a.eps), a2(a.eps)
	difference := scale1 - scale2
	scale1, scale2 = 1+scale1, 1+scale2
	c, d := c1(a.eps), c2(a.eps)
	b1, b2 := between(a.sigma1, a.sigma2, c[:]), between(a.sigma1, a.sigma2, d[:])
	return t.reduce(a, float64(difference*a.sigma)+(float64(scale1*b1)-float64(scale2*b2)))
}

// reduce returns the reduced length by Karney's J, the difference of two integrals along the arc.
func (t *inverseProblem) reduce(a arc, j float64) float64 {
	return float64(t.dn2*float64(a.sigma1.cos*a.sigma2.sin)) - float64(t.dn1*float64(a.sigma1.sin*a.sigma2.cos)) -
		float64(float64(a.sigma1.cos*a.sigma2.cos)*j)
}

// expansion returns the expansion parameter that belongs to k squared.
func expansion(k2 float64) float64 { return k2 / (float64(2*(1+math.Sqrt(1+k2))) + k2) }
