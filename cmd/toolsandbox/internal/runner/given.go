package runner

import (
	"fmt"
	"strconv"
	"time"
)

// given is the value of a flag that has no default: nothing stands for what was not given, so that
// whatever is given can be checked.
type given[T any] struct {
	value *T
	kind  string
	parse func(string) (T, error)
}

func givenFloat() given[float64] {
	return given[float64]{kind: "float", parse: func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }}
}

func givenInt32() given[int32] {
	return given[int32]{kind: "int", parse: func(text string) (int32, error) {
		n, err := strconv.ParseInt(text, 0, 32)
		return int32(n), err
	}}
}

func givenInt64() given[int64] {
	return given[int64]{kind: "int", parse: func(text string) (int64, error) { return strconv.ParseInt(text, 0, 64) }}
}

func givenDuration() given[time.Duration] {
	return given[time.Duration]{kind: "duration", parse: time.ParseDuration}
}

// or returns what was given, or else something else.
func (g *given[T]) or(otherwise T) T {
	if g.value == nil {
		return otherwise
	}
	return *g.value
}

// Set implements pflag.Value.
func (g *given[T]) Set(text string) error {
	value, err := g.parse(text)
	if err != nil {
		return err
	}
	g.value = &value
	return nil
}

// String implements pflag.Value.
func (g *given[T]) String() string {
	if g.value == nil {
		return ""
	}
	return fmt.Sprint(*g.value)
}

// Type implements pflag.Value.
func (g *given[T]) Type() string { return g.kind }
