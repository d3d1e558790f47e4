package geodesic

import "math"

// These are tolerances of the iteration.
const (
	epsilon        = 0x1p-52
	tiny           = 0x1p-511 // its square is the smallest normal float
	smallSine      = 0x1p-26  // square root of epsilon
	cutWidth       = 200 * epsilon
	cutLength      = 1000 * smallSine
	maxNewtonSteps = 20                       // bisection follows after this many steps
	maxSteps       = maxNewtonSteps + 53 + 10 // the iteration stops after this many steps
	shortAngle     = 0.5
)

// ellipsoid holds the values that depend only on the ellipsoid.
type ellipsoid struct {
	a, b, f         float64 // radii and flattening
	f1              float64 // 1-f
	ep2, n          float64 // second eccentricity squared, third flattening
	shortAngleLimit float64 // lines of a smaller angle are short
	series          longitudeSeries
}

func newEllipsoid(a, f float64) *ellipsoid {
	e := &ellipsoid{a: a, f: f, f1: 1 - f}
	e.b = a * e.f1
	e.ep2 = float64(f*(2-f)) / square(e.f1)
	e.n = f / (2 - f)
	e.shortAngleLimit = 0.1 * smallSine / math.Sqrt(float64(max(0.001, f)*min(1, 1-f/2))/2)
	e.series = newLongitudeSeries(e.n)
	return e
}

// inverseProblem is an inverse problem in normal position. Point 1 is at least as far from the
// equator as point 2 and not north of it. The longitude difference is 0 to 180 degrees.
type inverseProblem struct {
	*ellipsoid
	beta1, beta2 direction // reduced latitudes
	dn1, dn2     float64
	lambda       direction // longitude difference
	lambdaAngle  float64
}

// reducedLatitude returns the reduced latitude of a latitude in degrees.
func (e *ellipsoid) reducedLatitude(latitude float64) direction {
	beta := degreesDirection(latitude)
	beta.sin = float64(beta.sin * e.f1)
	beta = beta.normalize()
	beta.cos = max(tiny, beta.cos)
	return beta
}

func (e *ellipsoid) distance(latitude1, longitude1, latitude2, longitude2 float64) float64 {
	difference, rest := longitudeDifference(longitude1, longitude2)
	sign := math.Copysign(1, difference)
	difference, rest = sign*difference, sign*rest
	t := inverseProblem{ellipsoid: e, lambdaAngle: float64(difference * degree), lambda: degreesDirectionRounded(difference, rest)}
	supplement := (180 - difference) - rest

	latitude1, latitude2 = roundTiny(latitude1), roundTiny(latitude2)
	if math.Abs(latitude1) < math.Abs(latitude2) {
		latitude1, latitude2 = latitude2, latitude1
	}
	sign = math.Copysign(1, -latitude1)
	latitude1, latitude2 = sign*latitude1, sign*latitude2
	t.setLatitudes(latitude1, latitude2)
	if latitude1 == -90 || t.lambda.sin == 0 {
		if s, ok := t.meridian(); ok {
			return s + 0
		}
	}
	if t.beta1.sin == 0 && supplement >= float64(e.f*180) {
		return e.a * t.lambdaAngle // along the equator
	}
	return t.iterate() + 0
}

// setLatitudes sets the values that depend only on the latitudes, in degrees. Opposite and equal
// latitudes become so exactly.
func (t *inverseProblem) setLatitudes(latitude1, latitude2 float64) {
	t.beta1, t.beta2 = t.reducedLatitude(latitude1), t.reducedLatitude(latitude2)
	if t.beta1.cos < -t.beta1.sin {
		if t.beta2.cos == t.beta1.cos {
			t.beta2.sin = math.Copysign(t.beta1.sin, t.beta2.sin)
		}
	} else if math.Abs(t.beta2.sin) == -t.beta1.sin {
		t.beta2.cos = t.beta1.cos
	}
	t.dn1 = math.Sqrt(1 + float64(t.ep2*square(t.beta1.sin)))
	t.dn2 = math.Sqrt(1 + float64(t.ep2*square(t.beta2.sin)))
}

// meridian returns the distance along the meridian if that is the shortest.
func (t *inverseProblem) meridian() (float64, bool) {
	a := newArc(
		direction{t.beta1.sin, float64(t.lambda.cos * t.beta1.cos)},
		direction{t.beta2.sin, t.beta2.cos}, t.n)
	length, reduced := a.length(), t.meridianReducedLength(a)
	if a.sigma >= smallSine && reduced < 0 {
		return 0, false
	}
	if a.sigma < 3*tiny || a.sigma < epsilon && (length < 0 || reduced < 0) {
		return 0, true
	}
	return length * t.b, true
}
