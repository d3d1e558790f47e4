package python

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// nonPrintableText is the first and last code point, in hexadecimal digits, of each run that repr
// escapes in Python 3.9.18, as tools/nonprintable.jsonl of the conformance vectors has them.
//
//go:embed nonprintable.txt
var nonPrintableText string

var nonPrintable = sync.OnceValue(func() []rune {
	var ends []rune
	for field := range strings.FieldsSeq(nonPrintableText) {
		if r, err := strconv.ParseInt(field, 16, 32); err == nil {
			ends = append(ends, rune(r))
		}
	}
	return ends
})

// Printable reports whether Python 3.9 prints a code point as it is.
func Printable(r rune) bool {
	at, found := slices.BinarySearch(nonPrintable(), r)
	return !found && at%2 == 0
}
