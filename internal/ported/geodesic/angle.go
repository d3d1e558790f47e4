package geodesic

import "math"

// degree is one degree in radians: rounded pi divided by 180.
const degree float64 = float64(math.Pi) / 180

// direction is an angle as sine and cosine.
type direction struct {
	sin, cos float64
}

// normalize returns the direction of a vector of any length.
func (d direction) normalize() direction {
	r := math.Sqrt(square(d.sin) + square(d.cos))
	return direction{d.sin / r, d.cos / r}
}

// directionOf returns the direction of an angle in radians.
func directionOf(angle float64) direction {
	sin, cos := sinCos(angle)
	return direction{sin, cos}
}

func square(x float64) float64 { return float64(x * x) }

// exactSum returns the rounded sum and its rounding error.
func exactSum(u, v float64) (sum, rest float64) {
	sum = u + v
	up := sum - v
	vpp := sum - up
	up -= u
	vpp -= v
	if sum == 0 {
		return sum, sum
	}
	return sum, 0 - (up + vpp)
}

// wrapLongitude converts a longitude to -180 to 180 degrees, and -0 to 0.
func wrapLongitude(longitude float64) float64 {
	if math.Abs(longitude) > 180 {
		longitude = math.Mod(longitude, 360)
		switch {
		case longitude < -180:
			longitude += 360
		case longitude >= 180:
			longitude -= 360
		}
	}
	return longitude + 0
}

// longitudeDifference returns y-x in -180 to 180 degrees, and its rounding error.
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

// roundTiny removes bits that are negligible relative to 1/16 of a degree. This avoids most
// underflows.
func roundTiny(x float64) float64 {
	const coarse = 1.0 / 16
	y := math.Abs(x)
	if y < coarse {
		y = coarse - (coarse - y)
	}
	return math.Copysign(y, x)
}

// degreesDirection returns the direction of an angle of -180 to 180 degrees. It is exact for
// multiples of 90.
func degreesDirection(x float64) direction {
	quarter := math.RoundToEven(x / 90)
	return quarterDirection(x, quarter, x-float64(90*quarter))
}

// degreesDirectionRounded returns the direction of x+rest degrees, for x of -180 to 180. roundTiny
// rounds the difference from a multiple of 90.
func degreesDirectionRounded(x, rest float64) direction {
	quarter := math.RoundToEven(x / 90)
	return quarterDirection(x, quarter, roundTiny(x-float64(90*quarter)+rest))
}

// quarterDirection returns the direction of quarter turns plus degrees. A sine of zero has the sign
// of x.
func quarterDirection(x, quarter, degrees float64) direction {
	d := directionOf(degrees * degree)
	switch int(quarter) & 3 {
	case 1:
		d = direction{d.cos, -d.sin}
	case 2:
		d = direction{-d.sin, -d.cos}
	case 3:
		d = direction{-d.cos, d.sin}
	}
	if d.sin == 0 {
		d.sin = math.Copysign(d.sin, x)
	}
	d.cos += 0
	return d
}
