package interp_test

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// TestUnsignedZero formats with z, of which Python 3.11 printed what is wanted.
func TestUnsignedZero(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"f'{-0.001:z.2f}'":            "0.00",
		"'{:z.1f}'.format(-0.01)":     "0.0",
		"format(-0.0, 'z')":           "0.0",
		"format(-0.0, '+z.1f')":       "+0.0",
		"format(-0.0, ' z.1f')":       " 0.0",
		"format(-0.001, 'z08.2f')":    "00000.00",
		"format(-0.001, '*>z8.2f')":   "****0.00",
		"format(-0.001, 'z<z8.2f')":   "0.00zzzz",
		"format(-0.0, 'ze')":          "0.000000e+00",
		"format(-0.0, 'zg')":          "0",
		"format(-0.001, 'z.0%')":      "0%",
		"format(-0.0001, 'z#.0f')":    "0.",
		"format(-1.5, 'z.1f')":        "-1.5",
		"format(-1e-30, 'z.3E')":      "-1.000E-30",
		"format(float('nan'), 'z')":   "nan",
		"format(float('-inf'), 'zF')": "-INF",
		"format(-5, 'z.1f')":          "-5.0",
		"format(0, 'z')":              "ValueError: Negative zero coercion (z) not allowed in integer format specifier",
		"format(True, 'zd')":          "ValueError: Negative zero coercion (z) not allowed in integer format specifier",
		"format('a', 'z5s')":          "ValueError: Negative zero coercion (z) not allowed in string format specifier",
		"f'{-0.001!r:z.2f}'":          "ValueError: Unknown format code 'f' for object of type 'str'",
		"format(-0.001, 'zz.2f')":     "ValueError: Invalid format specifier",
	} {
		program, err := syntax.Parse("try:\n    print(" + expression + ")\nexcept ValueError as error:\n    print(f'ValueError: {error}')\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(interp.Run(t.Context(), program, nil).Output, "\n"); got != want {
			t.Errorf("%s: got %q, want %q", expression, got, want)
		}
	}
}
