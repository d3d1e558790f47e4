package geodesic

import "math"

// start returns a first azimuth at point 1 for the iteration, or the distance if the line is short.
func (t *task) start() (alpha direction, short float64, isShort bool) {
	beta1, beta2 := t.beta1, t.beta2
	difference := beta2.sin*beta1.cos - beta2.cos*beta1.sin
	sum := beta2.sin*beta1.cos + beta2.cos*beta1.sin
	omega, near := t.lambda, false
	meanScale := 0.0
	if beta2.cos*beta1.cos+beta2.sin*beta1.sin >= 0 && difference < shortAngle && beta2.cos*t.lambdaAngle < shortAngle {
		near = true
		mean := square(beta1.sin + beta2.sin)
		mean /= mean + square(beta1.cos+beta2.cos)
		meanScale = math.Sqrt(1 + t.ep2*mean)
		omega.sin, omega.cos = math.Sincos(t.lambdaAngle / (t.f1 * meanScale))
	}
	alpha.sin = beta2.cos * omega.sin
	if omega.cos >= 0 {
		alpha.cos = difference + beta2.cos*beta1.sin*square(omega.sin)/(1+omega.cos)
	} else {
		alpha.cos = sum - beta2.cos*beta1.sin*square(omega.sin)/(1-omega.cos)
	}
	sigma := direction{math.Hypot(alpha.sin, alpha.cos), beta1.sin*beta2.sin + beta1.cos*beta2.cos*omega.cos}
	if near && sigma.sin < t.shortEnd {
		return alpha, math.Atan2(sigma.sin, sigma.cos) * t.b * meanScale, true
	}
	if sigma.cos < 0 && sigma.sin < 6*t.n*math.Pi*square(beta1.cos) {
		alpha = t.antipodal(alpha, sum)
	}
	if alpha.sin <= 0 {
		return direction{1, 0}, 0, false
	}
	return alpha.unit(), 0, false
}

// antipodal returns a first azimuth for points that are nearly opposite; sum is the sine of the sum of the latitudes.
func (t *task) antipodal(alpha direction, sum float64) direction {
	beta1, beta2 := t.beta1, t.beta2
	scale := t.f * beta1.cos * t.series.a(expansion(square(beta1.sin)*t.ep2)) * math.Pi
	x := math.Atan2(-t.lambda.sin, -t.lambda.cos) / scale
	y := sum / (scale * beta1.cos)
	if y > -cutWidth && x > -1-cutLength {
		sin := min(1, -x)
		return direction{sin, -math.Sqrt(1 - square(sin))}
	}
	k := astroid(x, y)
	sin, cos := math.Sincos(scale * (-x * k / (1 + k)))
	alpha.sin = beta2.cos * sin
	alpha.cos = sum - beta2.cos*beta1.sin*square(sin)/(1+cos)
	return alpha
}

// astroid returns the positive root k of k^4+2k^3-(x^2+y^2-1)k^2-2y^2k-y^2 = 0, Karney's equation 55.
func astroid(x, y float64) float64 {
	p, q := square(x), square(y)
	r := (p + q - 1) / 6
	if q == 0 && r <= 0 {
		return 0
	}
	s := p * q / 4
	r2 := square(r)
	r3 := r * r2
	u := r
	if discriminant := s * (s + 2*r3); discriminant >= 0 {
		cube := s + r3
		cube += math.Copysign(math.Sqrt(discriminant), cube)
		root := math.Cbrt(cube)
		u += root
		if root != 0 {
			u += r2 / root
		}
	} else {
		angle := math.Atan2(math.Sqrt(-discriminant), -(s + r3))
		u += 2 * r * math.Cos(angle/3)
	}
	v := math.Sqrt(square(u) + q)
	uv := u + v
	if u < 0 {
		uv = q / (v - u)
	}
	w := (uv - q) / (2 * v)
	return uv / (math.Sqrt(uv+square(w)) + w)
}
