package geodesic

import "math"

const degree = math.Pi / 180

// direction is an angle by its sine and cosine.
type direction struct {
	sin, cos float64
}

// unit returns the direction of a vector of any length.
func (d direction) unit() direction {
	r := math.Sqrt(square(d.sin) + square(d.cos))
	return direction{d.sin / r, d.cos / r}
}

func square(x float64) float64 { return x * x }

// exactSum returns the rounded sum and what the rounding took away.
func exactSum(u, v float64) (sum, rest float64) {
	sum = u + v
	up := sum - v
	vpp := sum - up
	up -= u
	vpp -= v
	if sum == 0 {
		return sum, sum
	}
	return sum, -(up + vpp)
}

// longitudeDifference returns y-x in -180 to 180 degrees, and what the rounding took away.
func longitudeDifference(x, y float64) (difference, rest float64) {
	d, rest := exactSum(math.Remainder(-x, 360), math.Remainder(y, 360))
	d, rest = exactSum(math.Remainder(d, 360), rest)
	if d == 0 || math.Abs(d) == 180 {
		sign := -rest
		if rest == 0 {
			sign = y - x
		}
		d = math.Copysign(d, sign)
	}
	return d, rest
}

// roundTiny drops what is too small beside 1/16 of a degree, so that hardly any result underflows.
func roundTiny(x float64) float64 {
	const coarse = 1.0 / 16
	y := math.Abs(x)
	if w := coarse - y; w > 0 {
		y = coarse - w
	}
	return math.Copysign(y, x)
}

// degreesDirection returns the direction of an angle in degrees; multiples of 90 are exact.
func degreesDirection(x float64) direction {
	quarter := math.RoundToEven(x / 90)
	return quarterDirection(quarter, x-90*quarter)
}

// degreesDirectionRounded returns the direction of x+rest degrees, with what is left beside a multiple of 90 rounded by
// roundTiny.
func degreesDirectionRounded(x, rest float64) direction {
	quarter := math.RoundToEven(x / 90)
	return quarterDirection(quarter, roundTiny(x-90*quarter+rest))
}

// quarterDirection returns the direction of some quarter turns and degrees.
func quarterDirection(quarter, degrees float64) direction {
	sin, cos := math.Sincos(degrees * degree)
	switch int(quarter) & 3 {
	case 1:
		sin, cos = cos, -sin
	case 2:
		sin, cos = -sin, -cos
	case 3:
		sin, cos = -cos, sin
	}
	return direction{sin, cos + 0}
}
