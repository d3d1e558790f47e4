package geodesic

import "math"

// startingAzimuth returns the starting value of the azimuth at point 1, or the distance if the line
// is short.
func (t *inverseProblem) startingAzimuth() (alpha direction, short float64, isShort bool) {
	beta1, beta2 := t.beta1, t.beta2
	difference := float64(beta2.sin*beta1.cos) - float64(beta2.cos*beta1.sin)
	sum := float64(beta2.sin*beta1.cos) + float64(beta2.cos*beta1.sin)
	cosine := float64(beta2.cos*beta1.cos) + float64(beta2.sin*beta1.sin)
	near := cosine >= 0 && difference < shortAngle && float64(beta2.cos*t.lambdaAngle) < shortAngle
	omega, meanScale := t.lambda, 0.0
	if near {
		mean := square(beta1.sin + beta2.sin)
		mean /= mean + square(beta1.cos+beta2.cos)
		meanScale = math.Sqrt(1 + float64(t.ep2*mean))
		omega = directionOf(t.lambdaAngle / float64(t.f1*meanScale))
	}
	alpha.sin = beta2.cos * omega.sin
	bend := float64(float64(beta2.cos*beta1.sin) * square(omega.sin))
	if omega.cos >= 0 {
		alpha.cos = difference + bend/(1+omega.cos)
	} else {
		alpha.cos = sum - bend/(1-omega.cos)
	}
	sigma := direction{
		hypotenuse(alpha.sin, alpha.cos),
		float64(beta1.sin*beta2.sin) + float64(float64(beta1.cos*beta2.cos)*omega.cos),
	}
	if near && sigma.sin < t.shortAngleLimit {
		return alpha, float64(atan2(sigma.sin, sigma.cos)*t.b) * meanScale, true
	}
	if sigma.cos < 0 && sigma.sin < float64(float64(6*t.n)*math.Pi)*square(beta1.cos) {
		alpha = t.antipodal(sum)
	}
	if alpha.sin <= 0 {
		return direction{1, 0}, 0, false
	}
	return alpha.normalize(), 0, false
}

// antipodal returns the starting azimuth for nearly antipodal points. sum is the sine of the sum of
// the latitudes.
func (t *inverseProblem) antipodal(sum float64) direction {
	beta1, beta2 := t.beta1, t.beta2
	eps := expansion(float64(square(beta1.sin) * t.ep2))
	scale := float64(float64(float64(t.f*beta1.cos)*t.series.scale(eps)) * math.Pi)
	x := atan2(-t.lambda.sin, -t.lambda.cos) / scale
	y := sum / float64(scale*beta1.cos)
	if y > -cutWidth && x > -1-cutLength {
		sin := min(1, -x)
		return direction{sin, -math.Sqrt(1 - square(sin))}
	}
	k := astroid(x, y)
	omega := directionOf(scale * (float64(-x*k) / (1 + k))) // the supplement of omega
	omega.cos = -omega.cos
	return direction{
		beta2.cos * omega.sin,
		sum - float64(float64(beta2.cos*beta1.sin)*square(omega.sin))/(1-omega.cos),
	}
}

// astroid returns the positive root k of k^4+2k^3-(x^2+y^2-1)k^2-2y^2k-y^2 = 0, Karney's equation
// 55.
func astroid(x, y float64) float64 {
	p, q := square(x), square(y)
	r := (p + q - 1) / 6
	if q == 0 && r <= 0 {
		return 0
	}
	s := float64(p*q) / 4
	r2 := square(r)
	r3 := float64(r * r2)
	u := r
	if discriminant := float64(s * (s + float64(2*r3))); discriminant >= 0 {
		cube := s + r3
		if cube < 0 {
			cube -= math.Sqrt(discriminant)
		} else {
			cube += math.Sqrt(discriminant)
		}
		if root := powerThird(cube); root != 0 {
			u += root + r2/root
		}
	} else {
		angle := atan2(math.Sqrt(-discriminant), -(s + r3))
		u += float64(float64(2*r) * directionOf(angle/3).cos)
	}
	v := math.Sqrt(square(u) + q)
	uv := u + v
	if u < 0 {
		uv = q / (v - u)
	}
	w := (uv - q) / float64(2*v)
	return uv / (math.Sqrt(uv+square(w)) + w)
}
