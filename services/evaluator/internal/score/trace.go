package score

import (
	"math"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// call is a parsed trace.
type call struct {
	tool      string
	arguments *python.Dict
	result    python.Value
	// extracted caches the results of extractors.
	extracted []extraction
}

// newCall parses the arguments and the result of a trace. ok is false if they are invalid.
func newCall(trace *worldv1.ToolTrace) (c call, ok bool) {
	arguments, err := python.ParseJSON(trace.GetArgumentsJson())
	if err != nil {
		return c, false
	}
	if c.result, err = python.ParseJSON(trace.GetResultJson()); err != nil {
		return c, false
	}
	c.tool = trace.GetTool()
	c.arguments, ok = arguments.AsDict()
	return c, ok
}

// traceText prints a trace as the column tool_trace shows it.
func traceText(trace *worldv1.ToolTrace) string {
	return `{"tool_name": ` + python.JSON(python.Str(trace.GetTool())) + `, "arguments": ` + trace.GetArgumentsJson() +
		`, "result": ` + trace.GetResultJson() + "}"
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
