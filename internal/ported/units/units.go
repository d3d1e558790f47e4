// Package units converts amounts between units of measurement as pint 0.23 does with its default
// registry. Names, prefixes, plurals, expressions, the order of floating-point operations and
// errors are those of pint.
//
// An amount stays an integer if all factors are integers. All functions are pure and safe for
// concurrent use.
package units

import (
	"errors"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// Convert implements unit_conversion. amount is an int or float; from and to are expressions of
// units. If a unit is unknown, Convert retries with both in lower case. The error is the
// *python.Exception that pint raises, e.g. pint.errors.DimensionalityError.
func Convert(amount python.Value, from, to string) (python.Value, error) {
	t, err := load()
	if err != nil {
		return python.Value{}, err
	}
	r := &registry{table: t}
	result, err := r.convert(amount, from, to)
	var exception *python.Exception
	if errors.As(err, &exception) && exception.Type == undefinedUnitError {
		return r.convert(amount, strings.ToLower(from), strings.ToLower(to))
	}
	return result, err
}

func (r *registry) convert(amount python.Value, from, to string) (python.Value, error) {
	source, err := r.parse(from)
	if err != nil {
		return python.Value{}, err
	}
	if amount.Kind() != python.KindInt && amount.Kind() != python.KindFloat {
		return python.Value{}, raise(typeError, "Invalid magnitude for Quantity: "+python.Repr(amount))
	}
	target, err := r.parse(to)
	if err != nil {
		return python.Value{}, err
	}
	if source.equal(target) {
		return amount, nil
	}
	return r.convertUnits(amount, source, target)
}

// mismatch returns the error for units that do not convert to each other.
func mismatch(source, target container, dimensions []container, reason string) error {
	text := "Cannot convert from '" + source.String() + "'"
	if len(dimensions) == 2 {
		text += " (" + dimensions[0].String() + ") to '" + target.String() + "' (" + dimensions[1].String() + ")"
	} else {
		text += " to '" + target.String() + "'"
	}
	return raise("pint.errors.DimensionalityError", text+reason)
}

// convertUnits converts a value. It converts units that are not multiplicative via their
// references.
func (r *registry) convertUnits(value number, source, target container) (number, error) {
	from, err := r.nonMultiplicative(source, func(why string) error {
		return mismatch(source, target, nil, " - In source units, "+why)
	})
	if err != nil {
		return number{}, err
	}
	to, err := r.nonMultiplicative(target, func(why string) error {
		return mismatch(source, target, nil, " - In destination units, "+why)
	})
	if err != nil {
		return number{}, err
	}
	if err := r.checkDimensions(source, target); err != nil {
		return number{}, err
	}
	if from != nil {
		if value, err = from.toReference(value); err != nil {
			return number{}, err
		}
		if source, err = from.replace(source); err != nil {
			return number{}, err
		}
	}
	if to != nil {
		if target, err = to.replace(target); err != nil {
			return number{}, err
		}
	}
	if value, err = r.convertScale(value, source, target); err != nil || to == nil {
		return value, err
	}
	return to.fromReference(value)
}

// nonMultiplicative returns the unit of a container that is not multiplicative, nil without one. It
// returns reject's error unless that unit is the only one and has power 1.
func (r *registry) nonMultiplicative(units container, reject func(why string) error) (*definition, error) {
	var found []factor
	for _, f := range units {
		multiplicative, err := r.isMultiplicative(f.name)
		if err != nil {
			return nil, err
		}
		if !multiplicative {
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 0:
		return nil, nil
	case len(found) > 1:
		return nil, reject("more than one offset unit.")
	case !found[0].power.Equal(integer(1)):
		return nil, reject("offset units in higher order.")
	case len(units) > 1:
		return nil, reject("offset unit used in multiplicative context.")
	}
	return r.definition(found[0].name)
}

func (r *registry) checkDimensions(source, target container) error {
	from, err := r.dimensionality(source)
	if err != nil {
		return err
	}
	to, err := r.dimensionality(target)
	if err != nil {
		return err
	}
	if !from.equal(to) {
		return mismatch(source, target, []container{from, to}, "")
	}
	return nil
}

// replace returns the container with the unit's reference instead of the unit.
func (d *definition) replace(units container) (container, error) {
	units = units.remove(d.name)
	if len(d.reference) == 0 {
		return units, nil
	}
	last := d.reference[len(d.reference)-1]
	return units.add(last.name, last.power)
}

// convertScale converts a value between multiplicative units.
func (r *registry) convertScale(value number, source, target container) (number, error) {
	ratio, err := source.merge(target, "-")
	if err != nil {
		return number{}, err
	}
	factor, err := r.factor(ratio)
	if err != nil {
		return number{}, err
	}
	return compute("*", value, factor)
}
