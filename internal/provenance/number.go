package provenance

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/numeral"
)

// offsets are the arguments that are lengths of time, in seconds.
var offsets = map[string]float64{"seconds": 1, "minutes": 60, "hours": 3600, "days": day, "weeks": 7 * day, "months": 30 * day, "years": 365 * day}

const day = 86400

// toldNumber reports whether a number follows from what was told. name is that of its argument.
func (j *judge) toldNumber(name string, number float64) bool {
	size := math.Abs(number)
	_, isOffset := offsets[name]
	switch {
	case size <= 1 && size == math.Trunc(size), !j.strict && size <= small && size == math.Trunc(size):
		return true
	case j.isTold(number), isOffset && j.toldOffset(name, number):
		return true
	case size >= firstStamp && size <= lastStamp:
		return j.toldStamp(number)
	case size > lastStamp:
		return size <= 1000*lastStamp && (j.isTold(size/1000) || j.toldStamp(number/1000)) // milliseconds
	case name == "year":
		return j.toldYear(int(number))
	}
	return j.isDigits(numeral.Digits(strconv.FormatFloat(size, 'f', -1, 64))) || significant(size) > 2 && j.isComputed(size)
}

// isTold reports whether a number was told, exactly or with more decimals.
func (f *facts) isTold(number float64) bool {
	size := math.Abs(number)
	step := math.Pow10(-decimals(size))
	return slices.ContainsFunc(f.numbers, func(told float64) bool {
		return told == size || told != math.Trunc(told) && math.Abs(told-size) <= step*0.51
	})
}

// isSpoken reports whether a text told a number.
func (f *facts) isSpoken(number float64) bool { return slices.Contains(f.spoken, math.Abs(number)) }

// decimals returns the number of decimals of a number.
func decimals(number float64) int {
	_, after, _ := strings.Cut(strconv.FormatFloat(number, 'f', -1, 64), ".")
	return len(after)
}

// significant returns the number of digits of a number without zeros at its ends.
func significant(number float64) int {
	return len(strings.Trim(strings.ReplaceAll(strconv.FormatFloat(number, 'f', -1, 64), ".", ""), "0"))
}

// scales convert between the units in which people speak and tools count.
var scales = []float64{1, 10, 24, 60, 100, 1000, 3600, day}

// isComputed reports whether a number is a sum, difference, product or quotient of two told ones,
// or one in another unit.
func (f *facts) isComputed(size float64) bool {
	isNear := func(value float64) bool {
		return math.Abs(value-size) <= max(1e-6*size, 0.501*math.Pow10(-decimals(size)))
	}
	numbers := slices.DeleteFunc(slices.Clone(f.numbers), func(n float64) bool { return n == 0 || n >= firstStamp })
	numbers = numbers[max(0, len(numbers)-summands):]
	for i, a := range numbers {
		for _, scale := range scales {
			if isNear(a*scale) || isNear(a/scale) {
				return true
			}
		}
		for _, b := range numbers[:i] {
			if isNear(a*b) || isNear(a/b) || isNear(b/a) || isNear(a*b/100) || isAmount(a) && isAmount(b) && (isNear(a+b) || isNear(math.Abs(a-b))) {
				return true
			}
		}
	}
	return false
}

// isAmount reports whether a number is one that people add: neither small nor whole.
func isAmount(n float64) bool { return n > small || n != math.Trunc(n) }

// isDigits reports whether a number stands in the digits that were told.
func (f *facts) isDigits(digits string) bool {
	const enough = 5
	return len(digits) >= enough && slices.ContainsFunc(f.phones, func(told string) bool { return strings.Contains(told, digits) })
}

// toldPhone reports whether a phone number was told, with or without its country code, or is one
// that a tool returned with two neighbouring digits swapped back.
func (f *facts) toldPhone(digits string) bool {
	const local = 7
	for _, told := range f.phones {
		national := strings.TrimLeft(told, "0")
		if len(national) >= local && (strings.HasSuffix(digits, national) || strings.HasSuffix(national, digits)) {
			return true
		}
	}
	for told := range f.returned {
		if isSwapped(told, digits) {
			return true
		}
	}
	return false
}

// isSwapped reports whether two texts differ in two neighbouring characters that are swapped.
func isSwapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) - 1 {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}
