package prove

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/parameter"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// argument is one argument of a call; its value is the original JSON.
type argument struct {
	name  string
	value string
}

// decodeArguments reads the arguments of a call in order.
func decodeArguments(text string) ([]argument, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return nil, fmt.Errorf("decode arguments %s: expected an object", text)
	}
	var arguments []argument
	for decoder.More() {
		name, err := decoder.Token()
		var value json.RawMessage
		if err == nil {
			err = decoder.Decode(&value)
		}
		if err != nil {
			return nil, fmt.Errorf("decode arguments %s: %w", text, err)
		}
		arguments = append(arguments, argument{name: fmt.Sprint(name), value: string(value)})
	}
	return arguments, nil
}

// encodeArguments is the inverse of decodeArguments.
func encodeArguments(arguments []argument) string {
	parts := make([]string, len(arguments))
	for i, a := range arguments {
		parts[i] = quote(a.name) + ": " + a.value
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// replaced returns the arguments with another value of one.
func replaced(arguments []argument, at int, value string) string {
	changed := slices.Clone(arguments)
	changed[at].value = value
	return encodeArguments(changed)
}

// quote returns a text as JSON.
func quote(text string) string { return python.JSON(python.Str(text)) }

// unquote returns the text of an argument; ok is false for other values.
func (a argument) unquote() (text string, ok bool) {
	ok = strings.HasPrefix(a.value, `"`) && json.Unmarshal([]byte(a.value), &text) == nil
	return text, ok
}

// number returns the number of an argument; ok is false for other values.
func (a argument) number() (value float64, ok bool) {
	value, err := strconv.ParseFloat(a.value, 64)
	return value, err == nil && !math.IsInf(value, 0) && !math.IsNaN(value)
}

// wrong returns wrong values of the same type, each with a word that says how it is wrong. A number
// differs by more than the tolerance. There are none for null, lists and mappings.
func (a argument) wrong(tolerance float64) []argument {
	if text, ok := a.unquote(); ok {
		return []argument{{name: "other text", value: quote(alternativeText(a.name, text))}}
	}
	if value, ok := a.number(); ok {
		return a.wrongNumbers(value, tolerance)
	}
	switch a.value {
	case "true":
		return []argument{{name: "flipped", value: "false"}}
	case "false":
		return []argument{{name: "flipped", value: "true"}}
	default:
		return nil
	}
}

func (a argument) wrongNumbers(value, tolerance float64) []argument {
	const hour, day, degrees = 3600, 86400, 80
	type shift struct {
		name string
		by   float64
	}
	var shifts []shift
	switch {
	case strings.Contains(a.name, "timestamp"):
		shifts = []shift{{"an hour later", hour}, {"a day later", day}}
	case math.Abs(value) > degrees || value == math.Trunc(value) && value >= 1:
		shifts = []shift{{"less", math.Copysign(1, -value)}}
	default:
		shifts = []shift{{"more", 1}}
	}
	shifts = slices.DeleteFunc(shifts, func(s shift) bool { return math.Abs(s.by) <= tolerance })
	if len(shifts) == 0 {
		shifts = []shift{{"far off", math.Ceil(2*tolerance) + 1}}
	}
	var out []argument
	for _, s := range shifts {
		out = append(out, argument{name: s.name, value: a.format(value + s.by)})
	}
	return out
}

// format writes a number like the argument: whole or with a point.
func (a argument) format(value float64) string {
	text := strconv.FormatFloat(value, 'f', -1, 64)
	if strings.ContainsAny(a.value, ".eE") && !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// alternativeText returns another text of the same kind.
func alternativeText(name, text string) string {
	const here, there, elsewhere = "SEK", "NOK", "elsewhere"
	if regexp.MustCompile(`^\+?[0-9][0-9 ()-]{5,}$`).MatchString(text) {
		return otherDigits(text)
	}
	if strings.Contains(name, "currency") && len(text) == len(here) {
		if strings.EqualFold(text, here) {
			return there
		}
		return here
	}
	words := strings.Fields(text)
	if len(words) < 2 || words[len(words)-1] == elsewhere {
		return text + " " + elsewhere
	}
	words[len(words)-1] = elsewhere
	return strings.Join(words, " ")
}

// otherDigits changes the last digit of each number in a text.
func otherDigits(text string) string {
	return regexp.MustCompile(`[0-9]+`).ReplaceAllStringFunc(text, func(digits string) string {
		last := digits[len(digits)-1]
		return digits[:len(digits)-1] + string('0'+(last-'0'+1)%10)
	})
}

// toolInfo describes a tool.
type toolInfo struct {
	tool       *worldv1.Tool
	name       string
	readOnly   bool
	agent      bool // the agent may call it
	parameters []parameter.Parameter
}
