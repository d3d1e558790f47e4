package units

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/python"
)

// tolerance is the largest accepted relative difference from a vector.
const tolerance = 1e-12

// vectorCounts counts the results of comparing with a vector file.
type vectorCounts struct {
	cases, inexact, others int
	worst                  float64
}

type vector struct {
	Arguments string
	Content   string
	Exception *string
}

// check compares a conversion with the vector's.
func (n *vectorCounts) check(t *testing.T, line int, c vector) {
	t.Helper()
	n.cases++
	parsed, err := python.ParseJSON(c.Arguments)
	if err != nil {
		t.Fatalf("line %d: %v", line, err)
	}
	args, _ := parsed.AsDict()
	amount, _ := args.Get("amount")
	from, _ := args.Get("from_unit")
	to, _ := args.Get("to_unit")
	result, err := Convert(amount, python.Text(from), python.Text(to))
	got := python.Repr(result)
	if err != nil {
		got = err.Error()
	}
	if got == c.Content && (err != nil) == (c.Exception != nil) {
		return
	}
	number, isFloat := result.AsFloat()
	want, parseErr := strconv.ParseFloat(c.Content, 64)
	difference := math.Abs(number-want) / math.Abs(want)
	if err != nil || c.Exception != nil || !isFloat || parseErr != nil || !strings.ContainsAny(c.Content, ".e") || !(difference <= tolerance) {
		t.Errorf("line %d: Convert(%s) = %s, want %s", line, c.Arguments, got, c.Content)
		return
	}
	n.inexact++
	n.worst = max(n.worst, difference)
}

func TestVectors(t *testing.T) {
	t.Parallel()
	var n vectorCounts
	vectortest.Lines(t, vectortest.Dir(t, "tools/unit_conversion.jsonl"), func(line int, raw []byte) {
		var c vector
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		n.check(t, line, c)
	})
	t.Logf("unit_conversion.jsonl: %d cases, %d within %g but not identical, by at most %g", n.cases, n.inexact, tolerance, n.worst)
}

func TestCallVectors(t *testing.T) {
	t.Parallel()
	var n vectorCounts
	vectortest.Lines(t, vectortest.Dir(t, "tools/calls/unit_conversion.jsonl"), func(line int, raw []byte) {
		var c vector
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		if c.Exception != nil && isTypeCheck(*c.Exception) {
			n.others++
			return
		}
		n.check(t, line, c)
	})
	t.Logf("calls/unit_conversion.jsonl: %d cases, %d not identical, and %d that fail in binding or type checks", n.cases, n.inexact, n.others)
}

// isTypeCheck reports whether an exception comes from binding or type checks of arguments.
func isTypeCheck(exception string) bool {
	return strings.HasPrefix(exception, "TypeError: ") && !strings.HasPrefix(exception, "TypeError: Invalid magnitude") ||
		strings.HasPrefix(exception, "NameError: ")
}

func TestConvert(t *testing.T) {
	t.Parallel()
	cases := []struct {
		amount   python.Value
		from, to string
		want     string
	}{
		{python.Int(1), "hour", "second", "3600"},
		{python.Float(1), "hour", "second", "3600.0"},
		{python.Int(100), "celsius", "fahrenheit", "211.99999999999991"},
		{python.Int(3), "degC*m", "kelvin*m", "3"},
		{python.Int(1), "degC", "degC", "1"},
		{python.Int(1), "dBm*m", "W*m", "AssertionError"},
		{python.Int(7), "%", "ppm", "70000.0"},
		{python.Int(1), "", "%", "100.0"},
		{python.Int(1), "Yibyte", "byte", "1.2089258196146292e+24"},
		{python.Int(1), "kilometer", "kkilometer", "0.001"},
		{python.Int(1), "meters squared per second", "m²·s⁻¹", "1"},
		{python.Int(1), "m\n*\n cm", "m**2", "0.01"},
		{python.Int(1), "m \"x\" #y", "cm", "100.0"},
		{python.Int(1), "m**0", "m", "KeyError: 'meter'"},
		{python.Int(1), "m***s", "m", "pint.errors.DefinitionSyntaxError: missing unary operator '*'"},
		{python.Int(1), ")m(", "m", "pint.errors.DefinitionSyntaxError: unopened parentheses in tokens: )"},
		{python.Int(1), "()", "m", "AssertionError"},
		{python.Int(1), "meter/second**2", "kilometers per second squared", "0.001"},
		{python.Int(1), "2m ²", "m", "ValueError: Unit expression cannot have a scaling factor."},
		{python.Int(1), "m/0", "m", "ZeroDivisionError: division by zero"},
		{python.Int(1), "(-1)**0.5 m", "m", "ValueError: Unit expression cannot have a scaling factor."},
		{python.Int(1), "1//m", "m", "TypeError: unsupported operand type(s) for //: 'int' and 'ParserHelper'"},
		{python.Int(1), "nan", "m", "ValueError: Unit expression cannot have a scaling factor."},
		{python.Int(1), "9**9**9 m", "m", "ValueError: Unit expression cannot have a scaling factor."},
		{python.Int(1), "[length]", "m", "pint.errors.UndefinedUnitError: '[length]' is not defined in the unit registry"},
		{python.Int(1), "\xed\xa0\x80", "m", "AssertionError"},
		{python.Int(1), strings.Repeat("(", 2000) + "m" + strings.Repeat(")", 2000), "m", "RecursionError: maximum recursion depth exceeded"},
		{python.Int(1), strings.Repeat("m*", 2000) + "m", "m", "RecursionError: maximum recursion depth exceeded"},
		{python.Bool(true), "m", "cm", "TypeError: Invalid magnitude for Quantity: True"},
	}
	for _, c := range cases {
		result, err := Convert(c.amount, c.from, c.to)
		got := python.Repr(result)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Convert(%s, %.40q, %q) = %s, want %s", python.Repr(c.amount), c.from, c.to, got, c.want)
		}
	}
}

// TestRegistry expands every unit of the data file to base units.
func TestRegistry(t *testing.T) {
	t.Parallel()
	loaded, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if prefixes, names := len(loaded.prefixes), len(loaded.units); prefixes < 60 || names < 900 {
		t.Errorf("load() = %d prefixes, %d names, want at least 60 and 900", prefixes, names)
	}
	for name := range loaded.units {
		r := &registry{table: loaded}
		if _, err := r.factor(container{{name, integer(1)}}); err != nil {
			t.Errorf("factor of %s: %v", name, err)
		}
		if _, err := r.dimensionality(container{{name, integer(1)}}); err != nil {
			t.Errorf("dimensionality of %s: %v", name, err)
		}
	}
}

func FuzzConvert(f *testing.F) {
	f.Add("square meter per second²", "m ** (1/2) * degC")
	f.Add("1e3 'x' 0x1F\\\n(m", "dB # °F")
	f.Add("9**9999*9**9999", "m**(9**9999)")
	f.Fuzz(func(t *testing.T, from, to string) {
		result, err := Convert(python.Int(7), from, to)
		var exception *python.Exception
		if err != nil && !errors.As(err, &exception) {
			t.Errorf("Convert(7, %q, %q) = %v, want an exception", from, to, err)
		}
		if again, _ := Convert(python.Int(7), from, to); python.Repr(again) != python.Repr(result) {
			t.Errorf("Convert(7, %q, %q) = %s, then %s", from, to, python.Repr(result), python.Repr(again))
		}
	})
}

func BenchmarkConvert(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, _ = Convert(python.Float(60), "miles per hour", "kilometer / hour")
	}
}
