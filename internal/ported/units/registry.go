package units

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/python"
)

const undefinedUnitError = "pint.errors.UndefinedUnitError"

// registry is the default registry in one call. As in pint, a prefixed unit that the call used
// becomes a name that accepts further prefixes.
type registry struct {
	*table
	prefixed map[string]*definition
}

// lookup returns the unit of a name, symbol or alias without prefix and plural, nil if it is
// unknown.
func (r *registry) lookup(text string) *definition {
	if d, ok := r.prefixed[text]; ok {
		return d
	}
	return r.units[text]
}

// reading is one way to read a text as a prefix and a unit.
type reading struct {
	prefix prefix
	unit   string
}

// readings returns all different readings of a text, including plurals. If a prefix and a unit
// together spell the name of another unit, that other unit is not a reading.
func (r *registry) readings(text string) []reading {
	var found []reading
	for _, suffix := range []string{"", "s"} {
		if !strings.HasSuffix(text, suffix) {
			continue
		}
		for _, p := range r.prefixes {
			name, ok := strings.CutPrefix(text, p.text)
			if !ok {
				continue
			}
			name = strings.TrimSuffix(name, suffix)
			if suffix != "" && utf8.RuneCountInString(name) == 1 {
				continue
			}
			unit := r.lookup(name)
			if unit == nil || slices.ContainsFunc(found, func(c reading) bool {
				return c.prefix.name == p.name && c.unit == unit.name
			}) {
				continue
			}
			found = append(found, reading{p, unit.name})
		}
	}
	return slices.DeleteFunc(found, func(c reading) bool {
		return c.prefix.name == "" && slices.ContainsFunc(found, func(d reading) bool {
			return d.prefix.name != "" && d.prefix.name+d.unit == c.unit
		})
	})
}

// canonical returns the canonical name of a unit, empty for dimensionless. It adds a prefixed unit
// to the registry. The error is an UndefinedUnitError.
func (r *registry) canonical(text string) (string, error) {
	if text == "dimensionless" {
		return "", nil
	}
	if d := r.lookup(text); d != nil {
		return d.name, nil
	}
	found := r.readings(text)
	if len(found) == 0 {
		return "", undefined(text)
	}
	first := found[0]
	if first.prefix.name == "" {
		return first.unit, nil
	}
	name := first.prefix.name + first.unit
	if r.prefixed == nil {
		r.prefixed = make(map[string]*definition)
	}
	r.prefixed[name] = &definition{name: name, scale: first.prefix.scale, reference: container{{first.unit, integer(1)}}}
	return name, nil
}

func undefined(name string) error {
	return raise(undefinedUnitError, "'"+name+"' is not defined in the unit registry")
}

// definition returns the unit of any name that canonical accepts.
func (r *registry) definition(text string) (*definition, error) {
	name, err := r.canonical(text)
	if err != nil {
		return nil, err
	}
	d := r.lookup(name)
	if d == nil {
		return nil, raise("KeyError", python.Repr(python.Str(name)))
	}
	return d, nil
}

// parse evaluates an expression of units. In a product or power, it replaces a unit that is not
// multiplicative by its difference unit.
func (r *registry) parse(text string) (container, error) {
	parsed, err := parseQuantity(strings.ReplaceAll(text, "%", " percent "))
	if err != nil {
		return nil, err
	}
	if !parsed.scale.Equal(integer(1)) {
		return nil, raise(valueError, "Unit expression cannot have a scaling factor.")
	}
	var result container
	for _, f := range parsed.units {
		name, err := r.canonical(f.name)
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue
		}
		if len(parsed.units) > 1 || !f.power.Equal(integer(1)) {
			if d := r.lookup(name); d != nil && !d.multiplicative() {
				name = "delta_" + name
			}
		}
		if result, err = result.add(name, f.power); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// isMultiplicative reports whether a unit is multiplicative. The error is an AssertionError for a
// difference of an unknown unit.
func (r *registry) isMultiplicative(name string) (bool, error) {
	if d := r.lookup(name); d != nil {
		return d.multiplicative(), nil
	}
	found := r.readings(name)
	if len(found) != 1 {
		return false, raise(assertionError, "")
	}
	d := r.lookup(found[0].unit)
	return d != nil && d.multiplicative(), nil
}

// expand expands the units of a container to base units, in order. It multiplies powers by times
// and calls visit for each unit with its power.
func (r *registry) expand(units container, times number, visit func(d *definition, power number) error) error {
	for _, f := range units {
		exponent, err := compute("*", times, f.power)
		if err != nil {
			return err
		}
		d, err := r.definition(f.name)
		if err != nil {
			return err
		}
		if err := visit(d, exponent); err != nil {
			return err
		}
		if d.kind == base {
			continue
		}
		if err := r.expand(d.reference, exponent, visit); err != nil {
			return err
		}
	}
	return nil
}

// dimensionality returns the dimensions of units.
func (r *registry) dimensionality(units container) (container, error) {
	var dimensions container
	err := r.expand(units, integer(1), func(d *definition, power number) error {
		if d.kind != base {
			return nil
		}
		for _, f := range d.reference {
			exponent, err := compute("*", power, f.power)
			if err != nil {
				return err
			}
			sum, err := compute("+", dimensions.get(f.name), exponent)
			if err != nil {
				return err
			}
			dimensions = dimensions.set(f.name, sum)
		}
		return nil
	})
	return slices.DeleteFunc(dimensions, func(f factor) bool { return f.name == "[]" || !f.power.Truth() }), err
}

// factor returns the factor from units to root units.
func (r *registry) factor(units container) (number, error) {
	if len(units) == 1 && units[0].power.Equal(integer(1)) && r.prefixed[units[0].name] == nil {
		units = container{{units[0].name, integer(1)}} // as in pint's cache of single units
	}
	total := integer(1)
	err := r.expand(units, integer(1), func(d *definition, exponent number) error {
		if d.kind == base {
			return nil
		}
		scale, err := compute("**", d.scale, exponent)
		if err != nil {
			return err
		}
		total, err = compute("*", total, scale)
		return err
	})
	return total, err
}

// toReference converts an amount of a unit that is not multiplicative to its reference.
func (d *definition) toReference(amount number) (number, error) {
	if d.kind == offset {
		amount, err := compute("*", amount, d.scale)
		if err != nil {
			return number{}, err
		}
		return compute("+", amount, d.offset)
	}
	amount, err := compute("/", amount, d.logFactor)
	if err != nil {
		return number{}, err
	}
	exponent := math.Log(approximate(d.logBase)) * approximate(amount)
	return compute("*", d.scale, python.Float(math.Exp(exponent)))
}

// fromReference is the inverse of toReference.
func (d *definition) fromReference(amount number) (number, error) {
	if d.kind == offset {
		amount, err := compute("-", amount, d.offset)
		if err != nil {
			return number{}, err
		}
		return compute("/", amount, d.scale)
	}
	amount, err := compute("/", amount, d.scale)
	if err != nil {
		return number{}, err
	}
	return python.Float(approximate(d.logFactor) * math.Log(approximate(amount)) / math.Log(approximate(d.logBase))), nil
}
