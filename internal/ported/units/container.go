package units

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// factor is a unit or dimension with its power.
type factor struct {
	name  string
	power number
}

// container is a product of units in insertion order. It is immutable.
type container []factor

func (c container) find(name string) int {
	return slices.IndexFunc(c, func(f factor) bool { return f.name == name })
}

// get returns the power of a unit, 0 (an int) if it is missing.
func (c container) get(name string) number {
	if i := c.find(name); i >= 0 {
		return c[i].power
	}
	return integer(0)
}

// set returns the container with another power for a unit. A new unit is the last.
func (c container) set(name string, power number) container {
	c = slices.Clone(c)
	if i := c.find(name); i >= 0 {
		c[i].power = power
		return c
	}
	return append(c, factor{name, power})
}

// remove returns the container without a unit.
func (c container) remove(name string) container {
	return slices.DeleteFunc(slices.Clone(c), func(f factor) bool { return f.name == name })
}

// add returns the container with a power added to a unit's power. The error is a KeyError if both
// are 0.
func (c container) add(name string, power number) (container, error) {
	sum, err := compute("+", c.get(name), power)
	if err != nil {
		return nil, err
	}
	if sum.Truth() {
		return c.set(name, sum), nil
	}
	if c.find(name) < 0 {
		return nil, raise("KeyError", python.Repr(python.Str(name)))
	}
	return c.remove(name), nil
}

// merge applies an operation to the powers of both containers. It removes units with power 0.
func (c container) merge(d container, operator string) (container, error) {
	for _, f := range d {
		power, err := compute(operator, c.get(f.name), f.power)
		if err != nil {
			return nil, err
		}
		c = c.set(f.name, power)
	}
	return slices.DeleteFunc(slices.Clone(c), func(f factor) bool { return !f.power.Truth() }), nil
}

// equal reports whether both containers have the same units and powers, in any order.
func (c container) equal(d container) bool {
	if len(c) != len(d) {
		return false
	}
	for _, f := range c {
		if i := d.find(f.name); i < 0 || !f.power.Equal(d[i].power) {
			return false
		}
	}
	return true
}

// String returns the product in the format of error texts, e.g. meter / second ** 2.
func (c container) String() string {
	if len(c) == 0 {
		return "dimensionless"
	}
	sorted := slices.Clone(c)
	slices.SortFunc(sorted, func(a, b factor) int { return cmp.Compare(a.name, b.name) })
	var above, below []string
	for _, f := range sorted {
		switch {
		case f.power.Equal(integer(1)):
			above = append(above, f.name)
		case approximate(f.power) > 0:
			above = append(above, f.name+" ** "+magnitude(f.power))
		case f.power.Equal(integer(-1)):
			below = append(below, f.name)
		default:
			below = append(below, f.name+" ** "+magnitude(f.power))
		}
	}
	text := "1"
	if len(above) > 0 {
		text = strings.Join(above, " * ")
	}
	return strings.Join(append([]string{text}, below...), " / ")
}

// magnitude returns the text of abs(n): an int's digits, six digits of a float.
func magnitude(n number) string {
	if f, ok := n.AsFloat(); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
		return strconv.FormatFloat(math.Abs(f), 'g', 6, 64)
	}
	return strings.TrimPrefix(python.Repr(n), "-")
}
