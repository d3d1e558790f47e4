package geodesic

import "math"

// Tolerances of the iteration.
const (
	epsilon    = 0x1p-52
	tiny       = 0x1p-511 // its square is the smallest normal number
	smallSine  = 0x1p-26  // the root of epsilon
	cutWidth   = 200 * epsilon
	cutLength  = 1000 * smallSine
	newtonEnd  = 20                  // steps after which Newton's method gives way to bisection
	bisectEnd  = newtonEnd + 53 + 10 // steps after which the iteration stops
	shortAngle = 0.5
)

// ellipsoid holds what depends on the ellipsoid alone.
type ellipsoid struct {
	a, b, f  float64 // radii and flattening
	f1       float64 // 1-f
	ep2, n   float64 // second eccentricity squared, third flattening
	shortEnd float64 // angle below which a line is short
	series   longitudeSeries
}

func newEllipsoid(a, f float64) *ellipsoid {
	e := &ellipsoid{a: a, f: f, f1: 1 - f}
	e.b = a * e.f1
	e.ep2 = f * (2 - f) / square(e.f1)
	e.n = f / (2 - f)
	e.shortEnd = 0.1 * smallSine / math.Sqrt(max(0.001, f)*min(1, 1-f/2)/2)
	e.series = newLongitudeSeries(e.n)
	return e
}

// task is an inverse problem in the normal position: point 1 is at least as far from the equator as point 2 and not north
// of it, and the longitude difference is in 0 to 180 degrees.
type task struct {
	*ellipsoid
	beta1, beta2 direction // reduced latitudes
	dn1, dn2     float64
	lambda       direction // longitude difference
	lambdaAngle  float64
}

// reduced returns the reduced latitude of a latitude in degrees.
func (e *ellipsoid) reduced(latitude float64) direction {
	beta := degreesDirection(latitude)
	beta.sin *= e.f1
	beta = beta.unit()
	beta.cos = max(tiny, beta.cos)
	return beta
}

func (e *ellipsoid) distance(latitude1, longitude1, latitude2, longitude2 float64) float64 {
	difference, rest := longitudeDifference(longitude1, longitude2)
	sign := math.Copysign(1, difference)
	difference, rest = sign*difference, sign*rest
	t := task{ellipsoid: e, lambdaAngle: difference * degree, lambda: degreesDirectionRounded(difference, rest)}
	supplement := (180 - difference) - rest

	latitude1, latitude2 = roundTiny(latitude1), roundTiny(latitude2)
	if math.Abs(latitude1) < math.Abs(latitude2) {
		latitude1, latitude2 = latitude2, latitude1
	}
	sign = math.Copysign(1, -latitude1)
	latitude1, latitude2 = sign*latitude1, sign*latitude2
	t.beta1, t.beta2 = e.reduced(latitude1), e.reduced(latitude2)
	if t.beta1.cos < -t.beta1.sin {
		if t.beta2.cos == t.beta1.cos {
			t.beta2.sin = math.Copysign(t.beta1.sin, t.beta2.sin)
		}
	} else if math.Abs(t.beta2.sin) == -t.beta1.sin {
		t.beta2.cos = t.beta1.cos
	}
	t.dn1 = math.Sqrt(1 + e.ep2*square(t.beta1.sin))
	t.dn2 = math.Sqrt(1 + e.ep2*square(t.beta2.sin))

	if latitude1 == -90 || t.lambda.sin == 0 {
		if s, ok := t.meridian(); ok {
			return s
		}
	}
	if t.beta1.sin == 0 && supplement >= e.f*180 {
		return e.a * t.lambdaAngle // along the equator
	}
	return t.general()
}

// arc is a stretch of a geodesic on the auxiliary sphere.
type arc struct {
	sigma1, sigma2 direction
	sigma          float64 // the angle between them
	eps            float64 // expansion parameter
}

func newArc(sigma1, sigma2 direction) arc {
	return arc{sigma1: sigma1, sigma2: sigma2, sigma: math.Atan2(
		max(0, sigma1.cos*sigma2.sin-sigma1.sin*sigma2.cos),
		sigma1.cos*sigma2.cos+sigma1.sin*sigma2.sin)}
}

// length returns the arc's length over the polar radius.
func (a arc) length() float64 {
	c := c1(a.eps)
	return (1 + a1(a.eps)) * (a.sigma + (sines(a.sigma2, c[:]) - sines(a.sigma1, c[:])))
}

// reducedLength returns the reduced length over the polar radius.
func (t *task) reducedLength(a arc) float64 {
	scale1, scale2 := a1(a.eps), a2(a.eps)
	difference := scale1 - scale2
	scale1, scale2 = 1+scale1, 1+scale2
	c, d := c1(a.eps), c2(a.eps)
	for n := 1; n <= order; n++ {
		d[n] = scale1*c[n] - scale2*d[n]
	}
	j := difference*a.sigma + (sines(a.sigma2, d[:]) - sines(a.sigma1, d[:]))
	return t.dn2*(a.sigma1.cos*a.sigma2.sin) - t.dn1*(a.sigma1.sin*a.sigma2.cos) - a.sigma1.cos*a.sigma2.cos*j
}

// meridian returns the distance along the meridian if that is the shortest way.
func (t *task) meridian() (float64, bool) {
	a := newArc(
		direction{t.beta1.sin, t.lambda.cos * t.beta1.cos},
		direction{t.beta2.sin, t.beta2.cos})
	a.eps = t.n
	length, reduced := a.length(), t.reducedLength(a)
	if a.sigma >= smallSine && reduced < 0 {
		return 0, false
	}
	if a.sigma < 3*tiny || a.sigma < epsilon && (length < 0 || reduced < 0) {
		return 0, true
	}
	return length * t.b, true
}

// general returns the distance of points that are neither on one meridian nor both on the equator.
func (t *task) general() float64 {
	alpha, short, isShort := t.start()
	if isShort {
		return short
	}
	low, high := direction{tiny, 1}, direction{tiny, -1}
	nearly, bisected := false, false
	for step := 0; ; {
		a, miss, slope := t.longitude(alpha, step < newtonEnd)
		limit := 1.0
		if nearly {
			limit = 8
		}
		if bisected || !(math.Abs(miss) >= limit*epsilon) || step == bisectEnd {
			return a.length() * t.b
		}
		switch cot := alpha.cos / alpha.sin; {
		case miss > 0 && (step > newtonEnd || cot > high.cos/high.sin):
			high = alpha
		case miss < 0 && (step > newtonEnd || cot < low.cos/low.sin):
			low = alpha
		}
		step++
		if step < newtonEnd && slope > 0 {
			if next, ok := alpha.turn(-miss / slope); ok {
				alpha, nearly = next, math.Abs(miss) <= 16*epsilon
				continue
			}
		}
		alpha = direction{(low.sin + high.sin) / 2, (low.cos + high.cos) / 2}.unit()
		nearly = false
		bisected = math.Abs(low.sin-alpha.sin)+(low.cos-alpha.cos) < epsilon ||
			math.Abs(alpha.sin-high.sin)+(alpha.cos-high.cos) < epsilon
	}
}

// turn adds an angle; ok is false if that leaves 0 to 180 degrees.
func (d direction) turn(angle float64) (turned direction, ok bool) {
	if math.Abs(angle) >= math.Pi {
		return d, false
	}
	sin, cos := math.Sincos(angle)
	turned = direction{d.sin*cos + d.cos*sin, d.cos*cos - d.sin*sin}
	if turned.sin <= 0 {
		return d, false
	}
	return turned.unit(), true
}

// longitude follows the geodesic that leaves point 1 at azimuth alpha to the latitude of point 2. It returns the arc, by
// how much its longitude misses, and if wanted the derivative of that by alpha.
func (t *task) longitude(alpha direction, wantSlope bool) (a arc, miss, slope float64) {
	beta1, beta2 := t.beta1, t.beta2
	if beta1.sin == 0 && alpha.cos == 0 {
		alpha.cos = -tiny // so that the derivative exists
	}
	alpha0 := direction{alpha.sin * beta1.cos, math.Hypot(alpha.cos, alpha.sin*beta1.sin)}
	cosAlpha2 := math.Abs(alpha.cos)
	if beta2.cos != beta1.cos || math.Abs(beta2.sin) != -beta1.sin {
		growth := (beta1.sin - beta2.sin) * (beta1.sin + beta2.sin)
		if beta1.cos < -beta1.sin {
			growth = (beta2.cos - beta1.cos) * (beta1.cos + beta2.cos)
		}
		cosAlpha2 = math.Sqrt(square(alpha.cos*beta1.cos)+growth) / beta2.cos
	}
	sigma1, sigma2 := direction{beta1.sin, alpha.cos * beta1.cos}, direction{beta2.sin, cosAlpha2 * beta2.cos}
	omega1, omega2 := direction{alpha0.sin * beta1.sin, sigma1.cos}, direction{alpha0.sin * beta2.sin, sigma2.cos}
	a = newArc(sigma1.unit(), sigma2.unit())

	sinOmega := max(0, omega1.cos*omega2.sin-omega1.sin*omega2.cos)
	cosOmega := omega1.cos*omega2.cos + omega1.sin*omega2.sin
	eta := math.Atan2(sinOmega*t.lambda.cos-cosOmega*t.lambda.sin, cosOmega*t.lambda.cos+sinOmega*t.lambda.sin)
	a.eps = expansion(square(alpha0.cos) * t.ep2)
	c := t.series.c(a.eps)
	b := sines(a.sigma2, c[:]) - sines(a.sigma1, c[:])
	miss = eta - t.f*t.series.a(a.eps)*alpha0.sin*(a.sigma+b)
	switch {
	case !wantSlope:
	case cosAlpha2 == 0:
		slope = -2 * t.f1 * t.dn1 / beta1.sin
	default:
		slope = t.reducedLength(a) * (t.f1 / (cosAlpha2 * beta2.cos))
	}
	return a, miss, slope
}

// expansion returns the expansion parameter that belongs to k squared.
func expansion(k2 float64) float64 { return k2 / (2*(1+math.Sqrt(1+k2)) + k2) }
