package score

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// named is one extracted value.
type named struct {
	name  string
	value datum
}

// extractor takes values from the result of a trace.
type extractor struct {
	// path leads from the result to the value; empty for the result itself.
	path string
	// names are what the value is called. Only coordinates have two, which are then members of the result.
	names []string
	// form says how the value is given.
	form form
}

// form is how an extracted value is given.
type form uint8

const (
	formFloat form = iota
	formInteger
	// formDecimals gives four alternatives, texts with 0 to 3 decimals.
	formDecimals
	// formMembers gives members of the result as they are.
	formMembers
)

// findExtractor returns the extractor of that name.
func findExtractor(name string) (extractor, bool) {
	switch name {
	case "result_to_timestamp0_extractor":
		return extractor{"", []string{"timestamp_0"}, formFloat}, true
	case "result_to_timestamp1_extractor":
		return extractor{"", []string{"timestamp_1"}, formFloat}, true
	case "result_to_reminder_timestamp_lowerbound_extractor":
		return extractor{"", []string{"reminder_timestamp_lowerbound"}, formFloat}, true
	case "days_extractor":
		return extractor{"days", []string{"days"}, formInteger}, true
	case "lat_lon_dict_extractor":
		return extractor{"", []string{"latitude", "longitude"}, formMembers}, true
	case "current_temperature_extractor":
		return extractor{"current_temperature", []string{"amount"}, formFloat}, true
	case "min_temperature_amount_extractor":
		return extractor{"min_temperature", []string{"amount"}, formFloat}, true
	case "search_weather_around_lat_lon_temperature_extractor":
		return extractor{"current_temperature", []string{"temperature"}, formDecimals}, true
	case "result_to_temperature_extractor":
		return extractor{"", []string{"temperature"}, formDecimals}, true
	case "min_temperature_extractor":
		return extractor{"", []string{"min_temperature"}, formDecimals}, true
	}
	return extractor{}, false
}

// alternatives returns the sets of values that the result of one trace gives; none if a value is missing or no number.
func (x *extractor) alternatives(result string) [][]named {
	d, err := parseDatum(result)
	if err != nil {
		return nil
	}
	if x.form == formMembers {
		values := make([]named, 0, len(x.names))
		for _, name := range x.names {
			value, ok := d.get(name)
			if !ok || !value.numeric() {
				return nil
			}
			values = append(values, named{name, *value})
		}
		return [][]named{values}
	}
	value := &d
	if x.path != "" {
		member, ok := d.get(x.path)
		if !ok {
			return nil
		}
		value = member
	}
	if !value.numeric() {
		return nil
	}
	switch x.form {
	case formInteger:
		return x.integer(value)
	case formDecimals:
		sets := make([][]named, 0, 4)
		for decimals := range 4 {
			text := strconv.FormatFloat(value.number, 'f', decimals, 64)
			sets = append(sets, []named{{x.names[0], datum{kind: datumString, text: text}}})
		}
		return sets
	}
	return [][]named{{{x.names[0], floatDatum(value.number)}}}
}

// integer cuts the decimals off.
func (x *extractor) integer(value *datum) [][]named {
	if value.kind == datumInteger {
		return [][]named{{{x.names[0], *value}}}
	}
	if math.IsNaN(value.number) || math.IsInf(value.number, 0) {
		return nil
	}
	whole := math.Trunc(value.number)
	text := strconv.FormatFloat(whole, 'f', 0, 64)
	return [][]named{{{x.names[0], datum{kind: datumInteger, number: whole, text: text}}}}
}

// template is a text with places for extracted values: literals[0], value of names[0], literals[1] and so on.
type template struct {
	literals []string
	names    []string
}

// parseTemplate reads a text with {name} places; doubled braces stand for single ones. A text with an unpaired brace or
// with a place that known does not list can never be completed, which is no mistake: ok is false and nothing fits it.
func parseTemplate(text string, known []string) (t template, ok bool) {
	var literal strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '{' && c != '}' {
			literal.WriteByte(c)
			continue
		}
		if i+1 < len(text) && text[i+1] == c {
			literal.WriteByte(c)
			i++
			continue
		}
		end := strings.IndexByte(text[i:], '}')
		if c == '}' || end < 0 || !slices.Contains(known, text[i+1:i+end]) {
			return t, false
		}
		t.literals, t.names = append(t.literals, literal.String()), append(t.names, text[i+1:i+end])
		literal.Reset()
		i += end
	}
	t.literals = append(t.literals, literal.String())
	return t, true
}

// fill returns the text with the values in their places.
func (t *template) fill(values []named) string {
	var b strings.Builder
	for i, literal := range t.literals {
		b.WriteString(literal)
		if i == len(t.names) {
			break
		}
		for _, value := range values {
			if value.name == t.names[i] {
				b.WriteString(printed(&value.value))
			}
		}
	}
	return b.String()
}

// printed returns a value as Python prints it.
func printed(d *datum) string {
	switch d.kind {
	case datumBool:
		if d.number != 0 {
			return "True"
		}
		return "False"
	case datumInteger, datumString:
		return d.text
	}
	switch {
	case math.IsNaN(d.number):
		return "nan"
	case math.IsInf(d.number, 1):
		return "inf"
	case math.IsInf(d.number, -1):
		return "-inf"
	}
	if size := math.Abs(d.number); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(d.number, 'e', -1, 64)
	}
	text := strconv.FormatFloat(d.number, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
