package geodesic

import "math"

// iterate returns the distance of two points that are neither on one meridian nor on the equator.
func (t *inverseProblem) iterate() float64 {
	alpha, short, isShort := t.startingAzimuth()
	if isShort {
		return short
	}
	low, high := direction{tiny, 1}, direction{tiny, -1}
	nearly, bisected := false, false
	for step := 0; ; {
		a, longitudeError, slope := t.longitude(alpha, step < maxNewtonSteps)
		limit := epsilon
		if nearly {
			limit = 8 * epsilon
		}
		if bisected || !(math.Abs(longitudeError) >= limit) || step == maxSteps {
			return a.length() * t.b
		}
		switch cot := alpha.cos / alpha.sin; {
		case longitudeError > 0 && (step > maxNewtonSteps || cot > high.cos/high.sin):
			high = alpha
		case longitudeError < 0 && (step > maxNewtonSteps || cot < low.cos/low.sin):
			low = alpha
		}
		step++
		if step < maxNewtonSteps && slope > 0 {
			if next, ok := alpha.turn(-longitudeError / slope); ok {
				alpha, nearly = next, math.Abs(longitudeError) <= 16*epsilon
				continue
			}
		}
		alpha = direction{(low.sin + high.sin) / 2, (low.cos + high.cos) / 2}.normalize()
		nearly = false
		bisected = math.Abs(low.sin-alpha.sin)+(low.cos-alpha.cos) < epsilon ||
			math.Abs(alpha.sin-high.sin)+(alpha.cos-high.cos) < epsilon
	}
}

// turn adds an angle. ok is false if the result is outside 0 to 180 degrees.
func (d direction) turn(angle float64) (turned direction, ok bool) {
	if math.Abs(angle) >= math.Pi {
		return d, false
	}
	by := directionOf(angle)
	turned = direction{
		float64(d.sin*by.cos) + float64(d.cos*by.sin),
		float64(d.cos*by.cos) - float64(d.sin*by.sin),
	}
	if turned.sin <= 0 {
		return d, false
	}
	return turned.normalize(), true
}

// longitude follows the geodesic that leaves point 1 at azimuth alpha to the latitude of point 2.
// It returns the arc and the error of its longitude. With wantSlope it also returns the derivative
// of the error by alpha.
func (t *inverseProblem) longitude(alpha direction, wantSlope bool) (a arc, longitudeError, slope float64) {
	beta1, beta2 := t.beta1, t.beta2
	if beta1.sin == 0 && alpha.cos == 0 {
		alpha.cos = -tiny // makes the derivative finite
	}
	alpha0 := direction{float64(alpha.sin * beta1.cos), hypotenuse(alpha.cos, float64(alpha.sin*beta1.sin))}
	cosAlpha2 := t.cosAzimuth2(alpha)
	sigma1 := direction{beta1.sin, float64(alpha.cos * beta1.cos)}
	sigma2 := direction{beta2.sin, float64(cosAlpha2 * beta2.cos)}
	omega1 := direction{float64(alpha0.sin * beta1.sin), sigma1.cos}
	omega2 := direction{float64(alpha0.sin * beta2.sin), sigma2.cos}
	a = newArc(sigma1.normalize(), sigma2.normalize(), expansion(float64(square(alpha0.cos)*t.ep2)))

	sinOmega, cosOmega := rotation(omega1, omega2)
	eta := atan2(
		float64(sinOmega*t.lambda.cos)-float64(cosOmega*t.lambda.sin),
		float64(cosOmega*t.lambda.cos)+float64(sinOmega*t.lambda.sin))
	b := sineDifference(a.sigma1, a.sigma2, t.series.coefficients(a.eps))
	longitudeError = eta - float64(float64(float64(t.f*t.series.scale(a.eps))*alpha0.sin)*(a.sigma+b))
	switch {
	case !wantSlope:
	case cosAlpha2 == 0:
		slope = float64(float64(-2*t.f1)*t.dn1) / beta1.sin
	default:
		slope = t.reducedLength(a) * (t.f1 / float64(cosAlpha2*beta2.cos))
	}
	return a, longitudeError, slope
}

// cosAzimuth2 returns the cosine of the azimuth at point 2 of the geodesic that leaves point 1 at
// azimuth alpha.
func (t *inverseProblem) cosAzimuth2(alpha direction) float64 {
	beta1, beta2 := t.beta1, t.beta2
	if beta2.cos == beta1.cos && math.Abs(beta2.sin) == -beta1.sin {
		return math.Abs(alpha.cos)
	}
	growth := float64((beta1.sin - beta2.sin) * (beta1.sin + beta2.sin))
	if beta1.cos < -beta1.sin {
		growth = float64((beta2.cos - beta1.cos) * (beta1.cos + beta2.cos))
	}
	return math.Sqrt(square(float64(alpha.cos*beta1.cos))+growth) / beta2.cos
}
