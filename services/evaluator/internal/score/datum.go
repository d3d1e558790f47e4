package score

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// datumKind says what a datum holds.
type datumKind uint8

const (
	datumNull datumKind = iota
	datumBool
	datumInteger
	datumFloat
	datumString
	datumList
	datumObject
)

// datum is one JSON value as Python's parser reads it: integers of any size, and NaN and infinities
// as numbers.
type datum struct {
	kind   datumKind
	number float64 // bool (0 or 1), integer (rounded) and float
	text   string  // string; an integer's literal
	names  []string
	items  []datum // of list and object; an object may repeat a name, the last one counts
}

// float returns a datum that holds a number.
func floatDatum(n float64) datum { return datum{kind: datumFloat, number: n} }

// numeric reports whether the datum takes part in arithmetic, which includes truth values.
func (d *datum) numeric() bool { return d.kind >= datumBool && d.kind <= datumFloat }

// get returns the member of an object.
func (d *datum) get(name string) (*datum, bool) {
	if d.kind == datumObject {
		for i := len(d.names) - 1; i >= 0; i-- {
			if d.names[i] == name {
				return &d.items[i], true
			}
		}
	}
	return nil, false
}

// exact is the magnitude below which float64 holds every integer.
const exact = 1 << 53

// equalData compares as Python does: 1, 1.0 and True are equal.
func equalData(a, b *datum) bool {
	if a.numeric() && b.numeric() {
		if math.Abs(a.number) < exact || math.Abs(b.number) < exact || a.kind != datumInteger && b.kind != datumInteger {
			return a.number == b.number
		}
		return equalLarge(a, b)
	}
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case datumString:
		return a.text == b.text
	case datumList:
		if len(a.items) != len(b.items) {
			return false
		}
		for i := range a.items {
			if !equalData(&a.items[i], &b.items[i]) {
				return false
			}
		}
	case datumObject:
		return covers(a, b) && covers(b, a)
	}
	return true
}

// covers reports whether b has every member of a with an equal value.
func covers(a, b *datum) bool {
	for _, name := range a.names {
		x, _ := a.get(name)
		if y, ok := b.get(name); !ok || !equalData(x, y) {
			return false
		}
	}
	return true
}

// equalLarge compares numbers of which one is an integer that float64 may not hold.
func equalLarge(a, b *datum) bool {
	x, okA := a.rational()
	y, okB := b.rational()
	return okA && okB && x.Cmp(y) == 0
}

// rational returns the exact number, false if it is not finite.
func (d *datum) rational() (*big.Rat, bool) {
	if d.kind == datumInteger {
		return new(big.Rat).SetString(d.text)
	}
	x := new(big.Rat).SetFloat64(d.number)
	return x, x != nil
}

// errJSON is the mistake in a text that is no JSON.
var errJSON = errors.New("invalid JSON")

// maxDepth bounds the nesting of a JSON text.
const maxDepth = 500

// parseDatum reads a whole JSON text.
func parseDatum(text string) (datum, error) {
	r := reader{text: text}
	d, ok := r.value(0)
	r.space()
	if !ok || r.at != len(text) {
		return datum{}, errJSON
	}
	return d, nil
}

// reader reads JSON from a text.
type reader struct {
	text string
	at   int
}

// space skips white space.
func (r *reader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// accept skips c after white space, and reports whether it was there.
func (r *reader) accept(c byte) bool {
	r.space()
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

// value reads one value.
func (r *reader) value(depth int) (datum, bool) {
	r.space()
	if r.at >= len(r.text) || depth > maxDepth {
		return datum{}, false
	}
	switch r.text[r.at] {
	case '{':
		return r.object(depth)
	case '[':
		return r.list(depth)
	case '"':
		text, ok := r.string()
		return datum{kind: datumString, text: text}, ok
	}
	for _, word := range words {
		if strings.HasPrefix(r.text[r.at:], word.text) {
			r.at += len(word.text)
			return word.datum, true
		}
	}
	return r.number()
}

// words are the values written as words.
var words = [...]struct {
	text  string
	datum datum
}{
	{"true", datum{kind: datumBool, number: 1}},
	{"false", datum{kind: datumBool}},
	{"null", datum{}},
	{"NaN", datum{kind: datumFloat, number: math.NaN()}},
	{"Infinity", datum{kind: datumFloat, number: math.Inf(1)}},
	{"-Infinity", datum{kind: datumFloat, number: math.Inf(-1)}},
}

// object reads an object.
func (r *reader) object(depth int) (datum, bool) {
	d := datum{kind: datumObject}
	r.at++
	if r.accept('}') {
		return d, true
	}
	for {
		r.space()
		name, ok := r.string()
		if !ok || !r.accept(':') {
			return d, false
		}
		item, ok := r.value(depth + 1)
		if !ok {
			return d, false
		}
		d.names, d.items = append(d.names, name), append(d.items, item)
		if r.accept('}') {
			return d, true
		}
		if !r.accept(',') {
			return d, false
		}
	}
}

// list reads a list.
func (r *reader) list(depth int) (datum, bool) {
	d := datum{kind: datumList}
	r.at++
	if r.accept(']') {
		return d, true
	}
	for {
		item, ok := r.value(depth + 1)
		if !ok {
			return d, false
		}
		d.items = append(d.items, item)
		if r.accept(']') {
			return d, true
		}
		if !r.accept(',') {
			return d, false
		}
	}
}

// number reads a number.
func (r *reader) number() (datum, bool) {
	start, integer := r.at, true
	if r.at < len(r.text) && r.text[r.at] == '-' {
		r.at++
	}
	first := r.at
	if !r.digits() || r.at-first > 1 && r.text[first] == '0' {
		return datum{}, false
	}
	if r.at < len(r.text) && r.text[r.at] == '.' {
		integer = false
		r.at++
		if !r.digits() {
			return datum{}, false
		}
	}
	if r.at < len(r.text) && (r.text[r.at] == 'e' || r.text[r.at] == 'E') {
		integer = false
		r.at++
		if r.at < len(r.text) && (r.text[r.at] == '+' || r.text[r.at] == '-') {
			r.at++
		}
		if !r.digits() {
			return datum{}, false
		}
	}
	literal := r.text[start:r.at]
	// Out of range gives an infinity, as in Python.
	number, _ := strconv.ParseFloat(literal, 64)
	if integer {
		return datum{kind: datumInteger, number: number, text: literal}, true
	}
	return floatDatum(number), true
}

// digits skips digits and reports whether there was one.
func (r *reader) digits() bool {
	start := r.at
	for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
		r.at++
	}
	return r.at > start
}

// string reads a string; without escapes it shares the text's memory.
func (r *reader) string() (string, bool) {
	if r.at >= len(r.text) || r.text[r.at] != '"' {
		return "", false
	}
	r.at++
	end := strings.IndexByte(r.text[r.at:], '"')
	if end < 0 {
		return "", false
	}
	if plain := r.text[r.at : r.at+end]; strings.IndexByte(plain, '\\') < 0 {
		r.at += end + 1
		return plain, true
	}
	var b strings.Builder
	for r.at < len(r.text) {
		c := r.text[r.at]
		r.at++
		switch c {
		case '"':
			return b.String(), true
		case '\\':
			if !r.escape(&b) {
				return "", false
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// escape reads what follows a backslash.
func (r *reader) escape(b *strings.Builder) bool {
	if r.at >= len(r.text) {
		return false
	}
	c := r.text[r.at]
	r.at++
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[i])
		return true
	}
	if c != 'u' {
		return false
	}
	char, ok := r.hex()
	if !ok {
		return false
	}
	if utf16.IsSurrogate(char) && strings.HasPrefix(r.text[r.at:], `\u`) {
		before := r.at
		r.at += 2
		if low, ok := r.hex(); ok {
			if pair := utf16.DecodeRune(char, low); pair != utf8.RuneError {
				b.WriteRune(pair)
				return true
			}
		}
		r.at = before
	}
	b.WriteRune(char)
	return true
}

// hex reads four hexadecimal digits.
func (r *reader) hex() (rune, bool) {
	if r.at+4 > len(r.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(r.text[r.at:r.at+4], 16, 32)
	r.at += 4
	return rune(n), err == nil
}

// skip passes over one value without reading it and returns its text. Only strings and brackets are
// checked.
func (r *reader) skip() (string, bool) {
	r.space()
	start, depth := r.at, 0
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case '"':
			if !r.skipString() {
				return "", false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return r.text[start:r.at], r.at > start
			}
			depth--
		case ',':
			if depth == 0 {
				return r.text[start:r.at], r.at > start
			}
		}
		r.at++
	}
	return r.text[start:], depth == 0 && r.at > start
}

// skipString passes over a string.
func (r *reader) skipString() bool {
	for r.at++; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case '\\':
			r.at++
		case '"':
			r.at++
			return true
		}
	}
	return false
}
