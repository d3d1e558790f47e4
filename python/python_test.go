package python

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python/limit"
)

// same compares kind by kind, with NaN the same as NaN: stricter than Equal.
func same(v, w Value) bool { return Repr(v) == Repr(w) }

func TestEqual(t *testing.T) {
	t.Parallel()
	large, _ := new(big.Int).SetString("18446744073709551616", 10)
	cases := []struct {
		v, w Value
		want bool
	}{
		{Int(1), Float(1), true},
		{Int(1), Bool(true), true},
		{Float(0), Bool(false), true},
		{Float(math.Copysign(0, -1)), Int(0), true},
		{Int(1), Str("1"), false},
		{None(), Bool(false), false},
		{None(), None(), true},
		{Int(1<<53 + 1), Float(1 << 53), false},
		{BigInt(large), Float(1 << 64), true},
		{BigInt(large), Float(1<<64 + 1<<12), false},
		{BigInt(large), BigInt(new(big.Int).Set(large)), true},
		{Int(math.MaxInt64), Float(1 << 63), false},
		{Int(math.MinInt64), Float(-1 << 63), true},
		{Int(1), Float(math.Inf(1)), false},
		{Float(math.NaN()), Float(math.NaN()), false},
		{List(Int(1), Str("a")), List(Float(1), Str("a")), true},
		{List(Int(1)), List(Int(1), Int(2)), false},
		{DictOf(Item{"a", Int(1)}, Item{"b", None()}), DictOf(Item{"b", None()}, Item{"a", Bool(true)}), true},
		{DictOf(Item{"a", Int(1)}), DictOf(Item{"b", Int(1)}), false},
		{DictOf(), List(), false},
	}
	for _, c := range cases {
		if got := c.v.Equal(c.w); got != c.want {
			t.Errorf("%s == %s: got %v, want %v", Repr(c.v), Repr(c.w), got, c.want)
		}
		if got := c.w.Equal(c.v); got != c.want {
			t.Errorf("%s == %s: got %v, want %v", Repr(c.w), Repr(c.v), got, c.want)
		}
	}
}

func TestDictKeepsFirstPlaceAndLastValue(t *testing.T) {
	t.Parallel()
	var d Dict
	for n := range 3 {
		for i := range 40 {
			d.Set(strings.Repeat("k", i), Int(int64(n*100+i)))
		}
	}
	if d.Len() != 40 {
		t.Fatalf("Len = %d, want 40", d.Len())
	}
	for i, item := range d.Items() {
		if want := Int(int64(200 + i)); len(item.Key) != i || !item.Value.Equal(want) {
			t.Errorf("item %d = %q: %s, want %s", i, item.Key, Repr(item.Value), Repr(want))
		}
	}
	if _, ok := (*Dict)(nil).Get("k"); ok {
		t.Error("a nil Dict has an item")
	}
}

func TestParseJSONErrors(t *testing.T) {
	t.Parallel()
	cases := []struct{ text, want string }{
		{"[", "Expecting value: line 1 column 2 (char 1)"},
		{"[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"},
		{"{\"é\":1,\n\"😀\":}", "Expecting value: line 2 column 5 (char 12)"},
		{`{"a":1,}`, "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)"},
		{`{"a":1`, "Expecting ',' delimiter: line 1 column 7 (char 6)"},
		{`"a\`, "Unterminated string starting at: line 1 column 1 (char 0)"},
		{`"\u12`, `Invalid \uXXXX escape: line 1 column 3 (char 2)`},
		{`"\u1234`, `Invalid \uXXXX escape: line 1 column 3 (char 2)`},
		{`"\ud800\u12x4"`, `Invalid \uXXXX escape: line 1 column 9 (char 8)`},
		{"-", "Expecting value: line 1 column 1 (char 0)"},
		{"-Infinit", "Expecting value: line 1 column 1 (char 0)"},
		{"1.e5", "Extra data: line 1 column 2 (char 1)"},
		{"1e", "Extra data: line 1 column 2 (char 1)"},
		{"\u00a01", "Expecting value: line 1 column 1 (char 0)"},
		{
			strings.Repeat("[", limit.DataDepth+1),
			"RecursionError: maximum recursion depth exceeded while decoding a JSON array from a unicode string",
		},
		{
			strings.Repeat("1", 4301),
			"ValueError: Exceeds the limit (4300) for integer string conversion: value has 4301 digits",
		},
	}
	for _, c := range cases {
		_, err := ParseJSON(c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("ParseJSON(%.40q) error = %v, want %s", c.text, err, c.want)
		}
	}
	var decode *DecodeError
	if _, err := ParseJSON("\n x"); !errors.As(err, &decode) || decode.Line != 2 || decode.Column != 2 || decode.Offset != 2 {
		t.Errorf("ParseJSON error = %#v, want line 2, column 2, offset 2", decode)
	}
}

func TestParseJSONValues(t *testing.T) {
	t.Parallel()
	cases := []struct{ text, repr, json string }{
		{"-0", "0", "0"},
		{"-0.0", "-0.0", "-0.0"},
		{"[NaN, Infinity, -Infinity]", "[nan, inf, -inf]", "[NaN, Infinity, -Infinity]"},
		{`"\ud83d\ude00"`, "'😀'", `"😀"`},
		{`"\ud83d"`, `'\ud83d'`, `"\ud83d"`},
		{`"\ud83d\ud83d\ude00x"`, `'\ud83d😀x'`, `"\ud83d😀x"`},
		{"\"\xff\"", "'\ufffd'", "\"\ufffd\""},
		{"\"\xed\xa0\x80\"", `'\ud800'`, `"\ud800"`},
		{"9223372036854775808", "9223372036854775808", "9223372036854775808"},
		{"1e5000", "inf", "Infinity"},
		{"\"\\u007f\\u0000\"", `'\x7f\x00'`, "\"\x7f\\u0000\""},
	}
	for _, c := range cases {
		v, err := ParseJSON([]byte(c.text))
		if err != nil || Repr(v) != c.repr || JSON(v) != c.json {
			t.Errorf("ParseJSON(%q) = %s, %s, %v, want %s, %s", c.text, Repr(v), JSON(v), err, c.repr, c.json)
		}
	}
	if got, want := ASCIIJSON(Str("é\x7f😀\u2028")), `"\u00e9\u007f\ud83d\ude00\u2028"`; got != want {
		t.Errorf("ASCIIJSON = %s, want %s", got, want)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	large, _ := new(big.Int).SetString("1"+strings.Repeat("0", 400), 10)
	cases := []struct {
		v    Value
		want float64
		ok   bool
	}{
		{Int(3), 3, true}, {Bool(true), 1, true}, {Float(2.5), 2.5, true}, {Str("1"), 0, false}, {None(), 0, false},
	}
	for _, c := range cases {
		if got, ok := c.v.Number(); got != c.want || ok != c.ok {
			t.Errorf("%s: Number = %v, %v, want %v, %v", Repr(c.v), got, ok, c.want, c.ok)
		}
	}
	if _, ok := BigInt(large).Number(); ok {
		t.Error("Number of 1e400 as an int is ok, want not")
	}
}

func TestNonFinite(t *testing.T) {
	t.Parallel()
	cases := []struct {
		text, want string
		found      bool
	}{
		{`{"a": [1, "NaN"]}`, "", false},
		{`{"a": [1, NaN]}`, "nan", true},
		{`{"a": {"b": -Infinity}, "c": NaN}`, "inf", true},
	}
	for _, c := range cases {
		v, err := ParseJSON(c.text)
		if err != nil {
			t.Fatalf("ParseJSON(%s): %v", c.text, err)
		}
		if got, found := NonFinite(v); got != c.want || found != c.found {
			t.Errorf("NonFinite(%s) = %q, %v, want %q, %v", c.text, got, found, c.want, c.found)
		}
	}
}
