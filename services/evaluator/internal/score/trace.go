package score

import (
	"errors"
	"math"

	"github.com/toolsandbox/toolsandbox/python"
)

// call is a parsed trace of a message.
type call struct {
	tool      string
	arguments *python.Dict
	result    python.Value
	// extracted caches the results of extractors.
	extracted []extraction
}

// parseCall parses a trace. ok is false for another text.
func parseCall(text string) (c call, ok bool) {
	trace, err := python.ParseJSON(text)
	if err != nil {
		return c, false
	}
	c.result = trace.Field("result")
	c.tool, c.arguments, err = parseTrace(trace)
	return c, err == nil
}

// parseTrace returns the tool and the arguments of a trace.
func parseTrace(trace python.Value) (tool string, arguments *python.Dict, err error) {
	tool, ok := trace.Field("tool_name").AsStr()
	if !ok {
		return "", nil, errors.New("no text tool_name")
	}
	if arguments, ok = trace.Field("arguments").AsDict(); !ok {
		return "", nil, errors.New("no object arguments")
	}
	return tool, arguments, nil
}

// traceTarget is one accepted trace: a tool and the arguments to compare.
type traceTarget struct {
	tool      string
	arguments *python.Dict
	// tolerances are the largest accepted differences by argument. Other arguments must be equal.
	tolerances map[string]float64
}

// matches reports whether a call has the tool and all arguments of the target.
func (t *traceTarget) matches(c *call) bool {
	if t.tool != c.tool {
		return false
	}
	for _, argument := range t.arguments.Items() {
		if value, ok := c.arguments.Get(argument.Key); !ok || !t.matchesArgument(argument, value) {
			return false
		}
	}
	return true
}

// matchesArgument reports whether a value equals the target's argument, or both are numbers that
// differ by at most its tolerance.
func (t *traceTarget) matchesArgument(argument python.Item, value python.Value) bool {
	tolerance, ok := t.tolerances[argument.Key]
	want, isNumber := argument.Value.Number()
	got, isGiven := value.Number()
	if ok && isNumber && isGiven && math.Abs(got-want) <= tolerance {
		return true
	}
	return value.Equal(argument.Value)
}

// anyMatches reports whether any call matches any accepted trace.
func anyMatches(accepted []traceTarget, calls []call) bool {
	for i := range calls {
		for j := range accepted {
			if accepted[j].matches(&calls[i]) {
				return true
			}
		}
	}
	return false
}

// withValues returns t with extracted values as arguments. If replace is set, they replace existing
// ones.
func (t *traceTarget) withValues(values []namedValue, replace bool) traceTarget {
	copied := traceTarget{tool: t.tool, arguments: &python.Dict{}, tolerances: t.tolerances}
	for _, argument := range t.arguments.Items() {
		copied.arguments.Set(argument.Key, argument.Value)
	}
	for _, value := range values {
		if _, exists := copied.arguments.Get(value.name); !exists || replace {
			copied.arguments.Set(value.name, value.value)
		}
	}
	return copied
}
