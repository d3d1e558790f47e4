package score

import (
	"fmt"
	"math"
)

// call is one trace of a message: a tool, the arguments given to it, and the text of its result.
type call struct {
	tool      string
	arguments datum
	result    string
	// extracted is what extractors took from it, kept for the next message.
	extracted []extraction
}

// parseCall reads a trace; the result is only skipped over.
func parseCall(text string) (call, bool) {
	var c call
	r := reader{text: text}
	if !r.accept('{') {
		return c, false
	}
	for first := true; !r.accept('}'); first = false {
		if !first && !r.accept(',') {
			return c, false
		}
		r.space()
		name, ok := r.string()
		if !ok || !r.accept(':') {
			return c, false
		}
		switch name {
		case "tool_name":
			var d datum
			d, ok = r.value(0)
			ok = ok && d.kind == datumString
			c.tool = d.text
		case "arguments":
			c.arguments, ok = r.value(0)
			ok = ok && c.arguments.kind == datumObject
		case "result":
			c.result, ok = r.skip()
		default:
			_, ok = r.skip()
		}
		if !ok {
			return c, false
		}
	}
	r.space()
	return c, r.at == len(text)
}

// wanted is one trace that a target accepts: a tool and the arguments that count.
type wanted struct {
	tool      string
	names     []string
	arguments []datum
	// tolerance is the largest difference per argument, negative where values must be equal.
	tolerance []float64
}

// fits reports whether a trace has the tool and all wanted arguments.
func (w *wanted) fits(c *call) bool {
	if w.tool != c.tool {
		return false
	}
	for i, name := range w.names {
		given, ok := c.arguments.get(name)
		if !ok || !within(given, &w.arguments[i], w.tolerance[i]) {
			return false
		}
	}
	return true
}

// within reports whether two argument values are equal, or numbers that differ by no more than a
// tolerance that is not negative.
func within(a, b *datum, tolerance float64) bool {
	if tolerance >= 0 && a.numeric() && b.numeric() {
		return a.number == b.number || math.Abs(a.number-b.number) <= tolerance
	}
	return equalData(a, b)
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
	d, err := parseDatum(text)
	if err != nil {
		return nil, err
	}
	items := []datum{d}
	if d.kind == datumList {
		items = d.items
	}
	accepted := make([]wanted, 0, len(items))
	for i := range items {
		tool, ok := items[i].get("tool_name")
		if !ok || tool.kind != datumString {
			return nil, fmt.Errorf("trace %d has no text tool_name", i)
		}
		arguments, ok := items[i].get("arguments")
		if !ok || arguments.kind != datumObject {
			return nil, fmt.Errorf("trace %d has no object arguments", i)
		}
		w := wanted{tool: tool.text}
		for _, name := range arguments.names {
			value, _ := arguments.get(name)
			w.set(name, *value, tolerances, true)
		}
		accepted = append(accepted, w)
	}
	return accepted, nil
}

// set gives an argument a value; one that is there already changes only if replace is true.
func (w *wanted) set(name string, value datum, tolerances map[string]float64, replace bool) {
	for i, known := range w.names {
		if known == name {
			if replace {
				w.arguments[i] = value
			}
			return
		}
	}
	tolerance, ok := tolerances[name]
	if !ok {
		tolerance = -1
	}
	w.names = append(w.names, name)
	w.arguments = append(w.arguments, value)
	w.tolerance = append(w.tolerance, tolerance)
}

// filled returns w with extracted values, which win over the given ones if replace is true.
func (w *wanted) filled(values []named, tolerances map[string]float64, replace bool) wanted {
	copied := wanted{
		tool:      w.tool,
		names:     append([]string(nil), w.names...),
		arguments: append([]datum(nil), w.arguments...),
		tolerance: append([]float64(nil), w.tolerance...),
	}
	for _, value := range values {
		copied.set(value.name, value.value, tolerances, replace)
	}
	return copied
}
