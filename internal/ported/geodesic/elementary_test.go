package geodesic

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const (
	precision = 300  // bits of the exact results
	trials    = 2000 // random arguments per function
)

func exact(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

func times(x, y *big.Float) *big.Float { return new(big.Float).Mul(x, y) }

// exactSinCos returns sine and cosine by their Taylor series.
func exactSinCos(x *big.Float) (sin, cos *big.Float) {
	sin, cos = exact(0), exact(0)
	term := exact(1)
	for n := range 120 {
		target := cos
		if n%2 == 1 {
			target = sin
		}
		if n%4 < 2 {
			target.Add(target, term)
		} else {
			target.Sub(target, term)
		}
		term = times(term, x)
		term.Quo(term, exact(float64(n+1)))
	}
	return sin, cos
}

// exactLog returns the natural logarithm of a number near 1 by the series of the inverse hyperbolic
// tangent.
func exactLog(x *big.Float) *big.Float {
	ratio := new(big.Float).Sub(x, exact(1))
	ratio.Quo(ratio, new(big.Float).Add(x, exact(1)))
	square, power, log := times(ratio, ratio), times(ratio, exact(2)), exact(0)
	for n := 1; n < 600; n += 2 {
		log.Add(log, new(big.Float).Quo(power, exact(float64(n))))
		power = times(power, square)
	}
	return log
}

// midpoints returns the points half way between a float and its neighbours.
func midpoints(x float64) (below, above *big.Float) {
	half := func(y float64) *big.Float {
		sum := new(big.Float).Add(exact(x), exact(y))
		return sum.Quo(sum, exact(2))
	}
	return half(math.Nextafter(x, math.Inf(-1))), half(math.Nextafter(x, math.Inf(1)))
}

func TestSinCosNearest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range trials {
		x := (2*random.Float64() - 1) * math.Pow(2, 2-20*random.Float64()*random.Float64())
		gotSin, gotCos := sinCos(x)
		sin, cos := exactSinCos(exact(x))
		wantSin, _ := sin.Float64()
		wantCos, _ := cos.Float64()
		if gotSin != wantSin || gotCos != wantCos {
			t.Errorf("sinCos(%v) = %v, %v, want %v, %v", x, gotSin, gotCos, wantSin, wantCos)
		}
	}
}

func TestAtan2Nearest(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	// left reports whether the vector is to the left of an angle.
	left := func(y, x float64, angle *big.Float) bool {
		sin, cos := exactSinCos(angle)
		return times(exact(y), cos).Cmp(times(exact(x), sin)) > 0
	}
	for n := range trials {
		y, x := 2*random.Float64()-1, 2*random.Float64()-1
		if n%2 == 1 {
			y *= math.Pow(2, -60*random.Float64())
		}
		if n%8 == 1 {
			y, x = 0x1p-53, 1-0x1p-53*float64(n/8)
		}
		got := atan2(y, x)
		if below, above := midpoints(got); !left(y, x, below) || left(y, x, above) {
			t.Errorf("atan2(%v, %v) = %v, not the nearest", y, x, got)
		}
	}
	for _, zero := range []float64{0, math.Copysign(0, -1)} {
		for _, x := range []float64{-1, 1, zero} {
			if got, want := atan2(zero, x), math.Atan2(zero, x); got != want || math.Signbit(got) != math.Signbit(want) {
				t.Errorf("atan2(%v, %v) = %v, want %v", zero, x, got, want)
			}
		}
	}
}

func TestPowerThirdNearest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range trials {
		x := 0.1 + 3*random.Float64()
		got := powerThird(x)
		below, above := midpoints(got)
		// The cube is x to the power 1-2^-54, that is x*(1-u+u^2/2) for this u, with far higher precision
		// than needed.
		u := times(exact(0x1p-54), exactLog(exact(x)))
		factor := new(big.Float).Sub(exact(1), u)
		factor.Add(factor, times(times(u, u), exact(0.5)))
		cube := times(exact(x), factor)
		if times(times(below, below), below).Cmp(cube) > 0 || times(times(above, above), above).Cmp(cube) < 0 {
			t.Errorf("powerThird(%v) = %v, not the nearest", x, got)
		}
		if mirrored := powerThird(-x); mirrored != -got {
			t.Errorf("powerThird(%v) = %v, want %v", -x, mirrored, -got)
		}
	}
	if got := powerThird(0); got != 0 {
		t.Errorf("powerThird(0) = %v, want 0", got)
	}
}
