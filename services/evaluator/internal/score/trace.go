package score

import (
	"errors"
	"fmt"
	"math"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// call is one trace of a message: a tool, the arguments given to it, and its result.
type call struct {
	tool      string
	arguments *python.Dict
	result    python.Value
	// extracted is what extractors took from it, kept for the next message.
	extracted []extraction
}

// parseCall reads a trace.
func parseCall(text string) (c call, ok bool) {
	trace, err := python.ParseJSON(text)
	if err != nil {
		return c, false
	}
	fields, _ := trace.AsDict()
	c.result, _ = fields.Get("result")
	c.tool, c.arguments, err = toolOf(trace)
	return c, err == nil
}

// toolOf returns the tool and the arguments of a trace.
func toolOf(trace python.Value) (tool string, arguments *python.Dict, err error) {
	fields, _ := trace.AsDict()
	name, _ := fields.Get("tool_name")
	tool, ok := name.AsStr()
	if !ok {
		return "", nil, errors.New("no text tool_name")
	}
	given, _ := fields.Get("arguments")
	if arguments, ok = given.AsDict(); !ok {
		return "", nil, errors.New("no object arguments")
	}
	return tool, arguments, nil
}

// wanted is one trace that a target accepts: a tool and the arguments that count.
type wanted struct {
	tool      string
	arguments *python.Dict
	// tolerances are the largest differences by argument; others must be equal.
	tolerances map[string]float64
}

// fits reports whether a trace has the tool and all wanted arguments.
func (w *wanted) fits(c *call) bool {
	if w.tool != c.tool {
		return false
	}
	for _, argument := range w.arguments.Items() {
		if given, ok := c.arguments.Get(argument.Key); !ok || !w.accepts(argument, given) {
			return false
		}
	}
	return true
}

// accepts reports whether a given value is a wanted argument's, or both are numbers that differ by
// no more than its tolerance.
func (w *wanted) accepts(argument python.Item, given python.Value) bool {
	tolerance, ok := w.tolerances[argument.Key]
	want, isNumber := argument.Value.Number()
	got, isGiven := given.Number()
	if ok && isNumber && isGiven && math.Abs(got-want) <= tolerance {
		return true
	}
	return given.Equal(argument.Value)
}

// anyFits reports whether any trace fits any wanted one.
func anyFits(accepted []wanted, calls []call) bool {
	for i := range calls {
		for j := range accepted {
			if accepted[j].fits(&calls[i]) {
				return true
			}
		}
	}
	return false
}

// parseWanted reads a target: one trace or a list of acceptable ones.
func parseWanted(text string, tolerances map[string]float64) ([]wanted, error) {
	target, err := python.ParseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	items, isList := target.AsList()
	if !isList {
		items = []python.Value{target}
	}
	accepted := make([]wanted, len(items))
	for i, item := range items {
		accepted[i].tolerances = tolerances
		if accepted[i].tool, accepted[i].arguments, err = toolOf(item); err != nil {
			return nil, fmt.Errorf("trace %d has %w", i, err)
		}
	}
	return accepted, nil
}

// filled returns w with extracted values, which win over the given ones if replace is true.
func (w *wanted) filled(values []named, replace bool) wanted {
	copied := wanted{tool: w.tool, arguments: &python.Dict{}, tolerances: w.tolerances}
	for _, argument := range w.arguments.Items() {
		copied.arguments.Set(argument.Key, argument.Value)
	}
	for _, value := range values {
		if _, given := copied.arguments.Get(value.name); !given || replace {
			copied.arguments.Set(value.name, value.value)
		}
	}
	return copied
}
