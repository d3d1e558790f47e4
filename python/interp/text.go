package interp

import (
	"math"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
)

// stringSelf returns the string whose method was called, and its arguments. It charges steps for
// the string's length.
func (a *arguments) stringSelf(minimum, maximum int) (string, []any) {
	s, _ := a.self.(string)
	args := a.positionalOnly(minimum, maximum)
	for i := range args {
		args[i] = plain(args[i])
	}
	a.chargeSteps(len(s) / 64)
	return s, args
}

// requireString returns a string, or panics with a TypeError. %s in message is the type's name.
func requireString(v any, message string) string {
	text, ok := plain(v).(string)
	if !ok {
		panic(raise("TypeError", "%s", strings.Replace(message, "%s", typeName(v), 1)))
	}
	return text
}

func strJoin(a *arguments) any {
	s, args := a.stringSelf(1, 1)
	if !iterable(args[0]) {
		panic(raise("TypeError", "can only join an iterable"))
	}
	items := a.collect(nil, args[0])
	texts := make([]string, len(items))
	for i, item := range items {
		text, ok := plain(item).(string)
		if !ok {
			panic(raise("TypeError", "sequence item %d: expected str instance, %s found", i, typeName(item)))
		}
		a.alloc(len(s) + len(text))
		texts[i] = text
	}
	return strings.Join(texts, s)
}

func strFormatMap(a *arguments) any {
	_, args := a.stringSelf(1, 1)
	named := a.addKeywords(nil, &builtin{name: a.name}, args[0])
	return strFormat(&arguments{a.machine, a.name, a.self, nil, named})
}

func strReplace(a *arguments) any {
	s, args := a.stringSelf(2, 3)
	before := requireString(args[0], "replace() argument 1 must be str, not %s")
	after := requireString(args[1], "replace() argument 2 must be str, not %s")
	limit := machineInt(orDefault(args[2], -1), true)
	n := strings.Count(s, before)
	if limit >= 0 {
		n = min(n, limit)
	}
	a.allocTimes(n, len(after))
	a.alloc(len(s))
	return strings.Replace(s, before, after, limit)
}

// substring returns the characters from low to high, and the index of the first. ok is false beyond
// the end of s.
func substring(s string, low, high any) (text string, start int, ok bool) {
	n := length(s)
	given := slice{low: orDefault(low, nil), high: orDefault(high, nil)}
	first, last, _ := given.bounds(n)
	if i, _, isInt := integer(given.low); isInt && i > n || first > last {
		return "", first, false
	}
	at := byteOffset(s, first)
	return s[at : at+byteOffset(s[at:], last-first)], first, true
}

// strFind implements find, rfind, index, rindex and count.
func strFind(a *arguments) any {
	s, args := a.stringSelf(1, 3)
	needle := requireString(args[0], "must be str, not %s")
	text, start, within := substring(s, args[1], args[2])
	if a.name == "count" {
		if !within {
			return 0
		}
		if needle == "" {
			return length(text) + 1
		}
		return strings.Count(text, needle)
	}
	at := -1
	if within {
		if at = strings.Index(text, needle); strings.HasPrefix(a.name, "r") {
			at = strings.LastIndex(text, needle)
		}
	}
	switch {
	case at >= 0:
		return start + length(text[:at])
	case strings.HasSuffix(a.name, "index"):
		panic(raise("ValueError", "substring not found"))
	}
	return -1
}

// strStartsEndsWith implements startswith and endswith.
func strStartsEndsWith(a *arguments) any {
	s, args := a.stringSelf(1, 3)
	text, _, within := substring(s, args[1], args[2])
	has := strings.HasPrefix
	if a.name == "endswith" {
		has = strings.HasSuffix
	}
	several, isTuple := args[0].(*tuple)
	if !isTuple {
		several = &tuple{args[:1]}
	}
	for _, one := range several.items {
		affix, ok := one.(string)
		switch {
		case !ok && isTuple:
			panic(raise("TypeError", "tuple for %s must only contain str, not %s", a.name, typeName(one)))
		case !ok:
			panic(raise("TypeError", "%s first arg must be str or a tuple of str, not %s", a.name, typeName(one)))
		case within && has(text, affix):
			return true
		}
	}
	return false
}

// strPad implements zfill, ljust, rjust and center.
func strPad(a *arguments) any {
	maxArguments := 2
	if a.name == "zfill" {
		maxArguments = 1
	}
	s, args := a.stringSelf(1, maxArguments)
	width := machineInt(args[0], false)
	if a.name == "zfill" {
		sign := ""
		if s != "" && (s[0] == '-' || s[0] == '+') {
			sign = s[:1]
		}
		padded := a.pad(s[len(sign):], "0", '>', width-len(sign))
		return sign + padded
	}
	fill := " "
	if args[1] != absent {
		if fill = requireString(args[1], "The fill character must be a unicode character, not %s"); a.length(fill) != 1 {
			panic(raise("TypeError", "The fill character must be exactly one character long"))
		}
	}
	if a.name == "center" { // if the width is odd, the extra space is on the left
		n := width - length(s)
		if left := n/2 + n&width&1; n > 0 {
			s = a.pad(s, fill, '>', length(s)+left)
		}
		return a.pad(s, fill, '<', width)
	}
	return a.pad(s, fill, map[string]byte{"ljust": '<', "rjust": '>'}[a.name], width)
}

// texts returns a list of strings.
func (m *machine) texts(pieces []string) any {
	m.allocItems(len(pieces))
	items := make([]any, len(pieces))
	for i, piece := range pieces {
		items[i] = piece
	}
	return &list{items}
}

// strSplit implements split and rsplit.
func strSplit(a *arguments) any {
	s, _ := a.self.(string)
	args := a.bind(0, "sep", "maxsplit")
	limit := machineInt(orDefault(args[1], -1), true)
	a.alloc(16 * len(s))
	a.chargeSteps(len(s) / 16)
	if orDefault(args[0], nil) == nil {
		return a.texts(splitSpace(s, limit, a.name == "rsplit"))
	}
	separator, ok := plain(args[0]).(string)
	switch {
	case !ok:
		panic(raise("TypeError", "must be str or None, not %s", typeName(args[0])))
	case separator == "":
		panic(raise("ValueError", "empty separator"))
	}
	switch {
	case a.name == "rsplit": // separators that overlap are not those from the left
		return a.texts(splitRight(s, separator, limit))
	case limit < 0 || limit == math.MaxInt:
		return a.texts(strings.Split(s, separator))
	default:
		return a.texts(strings.SplitN(s, separator, limit+1))
	}
}

// splitRight splits at the last separators, at all with a negative limit.
func splitRight(s, separator string, limit int) []string {
	var pieces []string
	for ; limit != 0; limit-- {
		at := strings.LastIndex(s, separator)
		if at < 0 {
			break
		}
		pieces = append(pieces, s[at+len(separator):])
		s = s[:at]
	}
	pieces = append(pieces, s)
	slices.Reverse(pieces)
	return pieces
}

// splitSpace splits at white space.
func splitSpace(s string, limit int, right bool) []string {
	if limit < 0 {
		return strings.FieldsFunc(s, python.IsSpace)
	}
	var pieces []string
	if right {
		for s = strings.TrimRightFunc(s, python.IsSpace); s != ""; s = strings.TrimRightFunc(s, python.IsSpace) {
			at := strings.LastIndexFunc(s, python.IsSpace)
			if at < 0 || len(pieces) == limit {
				pieces = append(pieces, s)
				break
			}
			at += runeWidth(s[at:])
			pieces, s = append(pieces, s[at:]), s[:at]
		}
		slices.Reverse(pieces)
		return pieces
	}
	for s = strings.TrimLeftFunc(s, python.IsSpace); s != ""; s = strings.TrimLeftFunc(s, python.IsSpace) {
		at := strings.IndexFunc(s, python.IsSpace)
		if at < 0 || len(pieces) == limit {
			return append(pieces, s)
		}
		pieces, s = append(pieces, s[:at]), s[at:]
	}
	return pieces
}

func strSplitLines(a *arguments) any {
	s, _ := a.self.(string)
	args := a.bind(0, "keepends")
	a.alloc(16 * len(s))
	a.chargeSteps(len(s) / 16)
	keep := truth(args[0])
	var lines []string
	for s != "" {
		at := strings.IndexAny(s, "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029")
		if at < 0 {
			lines = append(lines, s)
			break
		}
		end := at + runeWidth(s[at:])
		if strings.HasPrefix(s[at:], "\r\n") {
			end = at + 2
		}
		if keep {
			at = end
		}
		lines, s = append(lines, s[:at]), s[end:]
	}
	return a.texts(lines)
}

// strPartition implements partition and rpartition.
func strPartition(a *arguments) any {
	s, args := a.stringSelf(1, 1)
	separator, ok := args[0].(string)
	switch {
	case !ok:
		panic(raise("TypeError", "must be str, not %s", typeName(args[0])))
	case separator == "":
		panic(raise("ValueError", "empty separator"))
	}
	at := strings.Index(s, separator)
	if a.name == "rpartition" {
		at = strings.LastIndex(s, separator)
	}
	parts := []any{s, "", ""}
	if at >= 0 {
		parts = []any{s[:at], separator, s[at+len(separator):]}
	} else if a.name == "rpartition" {
		parts = []any{"", "", s}
	}
	a.alloc(limit.ItemSize + 3*16)
	return &tuple{parts}
}

// strStrip implements strip, lstrip and rstrip.
func strStrip(a *arguments) any {
	s, args := a.stringSelf(0, 1)
	strips := python.IsSpace
	if args[0] != absent && args[0] != nil {
		set := requireString(args[0], a.name+" arg must be None or str")
		a.chargeSteps(len(s) / 64 * (1 + len(set)))
		strips = func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	if a.name != "rstrip" {
		s = strings.TrimLeftFunc(s, strips)
	}
	if a.name != "lstrip" {
		s = strings.TrimRightFunc(s, strips)
	}
	return s
}

// strRemove implements removeprefix and removesuffix.
func strRemove(a *arguments) any {
	s, args := a.stringSelf(1, 1)
	affix := requireString(args[0], a.name+"() argument must be str, not %s")
	if a.name == "removeprefix" {
		return strings.TrimPrefix(s, affix)
	}
	return strings.TrimSuffix(s, affix)
}
