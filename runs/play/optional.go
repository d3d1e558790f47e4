package play

import (
	"fmt"
	"strconv"
	"time"
)

// optional is the value of a flag that has no default. It is unset until the flag is given.
type optional[T any] struct {
	value *T
	kind  string
	parse func(string) (T, error)
}

func optionalFloat() optional[float64] {
	return optional[float64]{kind: "float", parse: func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }}
}

func optionalInt[T int32 | int64](bits int) optional[T] {
	return optional[T]{kind: "int", parse: func(text string) (T, error) {
		n, err := strconv.ParseInt(text, 0, bits)
		return T(n), err
	}}
}

func optionalDuration() optional[time.Duration] {
	return optional[time.Duration]{kind: "duration", parse: time.ParseDuration}
}

// or returns the given value, or otherwise if unset.
func (o *optional[T]) or(otherwise T) T {
	if o.value == nil {
		return otherwise
	}
	return *o.value
}

// Set implements pflag.Value.
func (o *optional[T]) Set(text string) error {
	value, err := o.parse(text)
	if err != nil {
		return err
	}
	o.value = &value
	return nil
}

// String implements pflag.Value.
func (o *optional[T]) String() string {
	if o.value == nil {
		return ""
	}
	return fmt.Sprint(*o.value)
}

// Type implements pflag.Value.
func (o *optional[T]) Type() string { return o.kind }
