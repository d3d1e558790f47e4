package geodesic

import "math"

// sinCos, atan2 and powerThird return the float nearest to the exact result. They compute with
// double precision doubled and round once. Unlike package math, they give the same results on all
// architectures.

// doubleDouble is the exact sum of two floats with about 106 bits. The second is smaller than the
// rounding error of the first.
type doubleDouble struct {
	high, low float64
}

// sum returns x+y exactly.
func sum(x, y float64) doubleDouble {
	s := x + y
	yy := s - x
	return doubleDouble{s, (x - (s - yy)) + (y - yy)}
}

// product returns x*y exactly.
func product(x, y float64) doubleDouble {
	p := float64(x * y)
	return doubleDouble{p, math.FMA(x, y, -p)}
}

func (p doubleDouble) plus(q doubleDouble) doubleDouble {
	high, low := sum(p.high, q.high), sum(p.low, q.low)
	high = sum(high.high, high.low+low.high)
	return sum(high.high, high.low+low.low)
}

func (p doubleDouble) minus(q doubleDouble) doubleDouble {
	return p.plus(doubleDouble{-q.high, -q.low})
}

func (p doubleDouble) times(q doubleDouble) doubleDouble {
	r := product(p.high, q.high)
	return sum(r.high, r.low+(float64(p.high*q.low)+float64(p.low*q.high)))
}

func (p doubleDouble) timesFloat(x float64) doubleDouble { return p.times(doubleDouble{x, 0}) }

func (p doubleDouble) over(x float64) doubleDouble {
	q := p.high / x
	rest := p.minus(product(q, x))
	return sum(q, (rest.high+rest.low)/x)
}

// sinCos returns sine and cosine of an angle from -4 to 4 radians.
func sinCos(angle float64) (sin, cos float64) {
	s, c := sinCosPair(angle)
	if s.high == 0 {
		return angle, c.high
	}
	return s.high, c.high
}

func sinCosPair(angle float64) (sin, cos doubleDouble) {
	const quarter1, quarter2, quarter3 = 0x1.921fb54442d18p+00, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110 // pi/2
	turns := math.RoundToEven(angle * (2 / math.Pi))
	x := sum(angle, -float64(turns*quarter1)).minus(doubleDouble{turns * quarter2, turns * quarter3})
	minus := x.times(x)
	minus = doubleDouble{-minus.high, -minus.low}
	sin, cos = doubleDouble{1, 0}, doubleDouble{1, 0}
	for n := 30.0; n > 0; n -= 2 {
		sin = sin.times(minus).over(n * (n + 1)).plus(doubleDouble{1, 0})
		cos = cos.times(minus).over(n * (n - 1)).plus(doubleDouble{1, 0})
	}
	sin = sin.times(x)
	switch int(turns) & 3 {
	case 1:
		sin, cos = cos, doubleDouble{-sin.high, -sin.low}
	case 2:
		sin, cos = doubleDouble{-sin.high, -sin.low}, doubleDouble{-cos.high, -cos.low}
	case 3:
		sin, cos = doubleDouble{-cos.high, -cos.low}, sin
	}
	return sin, cos
}

// atan2 returns the angle of a vector in radians.
func atan2(y, x float64) float64 {
	angle := math.Atan2(y, x)
	if x == 0 || y == 0 {
		return angle
	}
	if math.Abs(y) < smallSine*x { // the quotient minus a third of its cube
		quotient := y / x
		rest := -math.FMA(quotient, x, -y) / x
		return quotient + (rest - float64(square(quotient)*quotient)/3)
	}
	_, exponent := math.Frexp(math.Max(math.Abs(x), math.Abs(y)))
	y, x = math.Ldexp(y, -exponent), math.Ldexp(x, -exponent)
	sin, cos := sinCosPair(angle)
	across := cos.timesFloat(y).minus(sin.timesFloat(x)) // the vector rotated back by the angle
	along := float64(cos.high*x) + float64(sin.high*y)
	return angle + across.high/along
}

// powerThird returns x to the power of the float nearest to 1/3, with the sign of x. The result is
// slightly smaller than the cube root.
func powerThird(x float64) float64 {
	if x == 0 {
		return x
	}
	const lacking = 0x1p-54 / 3 // 1/3 minus the float
	size := math.Abs(x)
	root := math.Cbrt(size)
	rest := doubleDouble{size, 0}.minus(product(root, root).timesFloat(root))
	correction := rest.high/(3*float64(root*root)) - float64(float64(root*lacking)*math.Log(size))
	return math.Copysign(root+correction, x)
}

// hypotenuse returns the length of a vector as Python 3.9 computes it: scaled by the larger
// coordinate, with compensated summation.
func hypotenuse(x, y float64) float64 {
	x, y = math.Abs(x), math.Abs(y)
	unit := math.Max(x, y)
	if unit == 0 {
		return 0
	}
	total, correction := 1.0, 0.0
	for _, side := range [...]float64{x, y} {
		part := square(side / unit)
		before := total
		total += part
		correction += (before - total) + part
	}
	return unit * math.Sqrt(total-1+correction)
}
