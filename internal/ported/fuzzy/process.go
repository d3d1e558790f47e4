package fuzzy

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed process.txt
var bundled string

// runeMapping maps a range of code points in default processing: to a space, or by adding offset.
type runeMapping struct {
	first, last, offset rune
	space               bool
}

// mappings returns the ranges of process.txt in ascending order. It decodes the file once.
var mappings = sync.OnceValue(func() []runeMapping {
	list, err := decode(bundled)
	if err != nil {
		panic(fmt.Sprintf("fuzzy: process.txt: %v", err)) // the file is built in
	}
	return list
})

func decode(text string) ([]runeMapping, error) {
	var list []runeMapping
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("line %q has %d fields, want 3", line, len(fields))
		}
		first, err := strconv.ParseInt(fields[0], 16, 32)
		if err != nil {
			return nil, err
		}
		last, err := strconv.ParseInt(fields[1], 16, 32)
		if err != nil {
			return nil, err
		}
		c := runeMapping{first: rune(first), last: rune(last), space: fields[2] == "space"}
		if !c.space {
			offset, err := strconv.ParseInt(fields[2], 10, 32)
			if err != nil {
				return nil, err
			}
			c.offset = rune(offset)
		}
		list = append(list, c)
	}
	return list, nil
}

// processRune applies default processing to a character.
func processRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
		return r
	case r >= 'A' && r <= 'Z':
		return r + 'a' - 'A'
	case r < utf8.RuneSelf:
		return ' '
	}
	list := mappings()
	i, _ := slices.BinarySearchFunc(list, r, func(c runeMapping, r rune) int { return cmp.Compare(c.last, r) })
	switch {
	case i == len(list) || r < list[i].first:
		return r
	case list[i].space:
		return ' '
	default:
		return r + list[i].offset
	}
}
