package syntax

import (
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
)

// numberValue returns the value of a number literal: an int, a *big.Int beyond 64 bits, or a
// float64.
func numberValue(text string) (value any, ok bool) {
	if !validUnderscores(text) {
		return nil, false
	}
	s := strings.ReplaceAll(text, "_", "")
	based := hasBasePrefix(s)
	switch {
	case !based && strings.Trim(s, "0123456789") != "":
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil || errors.Is(err, strconv.ErrRange)
	case len(s) > limit.IntDigits || !based && s[0] == '0' && strings.Trim(s, "0") != "":
		return nil, false
	}
	base := 10
	if based {
		base = 0
	}
	if i, err := strconv.ParseInt(s, base, 64); err == nil {
		return int(i), true
	}
	i, ok := new(big.Int).SetString(s, base)
	return i, ok
}

func hasBasePrefix(s string) bool {
	return len(s) > 1 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// validUnderscores reports whether every underscore is between two digits or after a base prefix.
func validUnderscores(s string) bool {
	based := hasBasePrefix(s)
	between := func(c byte) bool { return isDigit(c) || based && c|0x20 >= 'a' && c|0x20 <= 'f' }
	for i := range len(s) {
		if s[i] != '_' {
			continue
		}
		if i == 0 || i == len(s)-1 || !between(s[i+1]) || !between(s[i-1]) && (!based || i != 2) {
			return false
		}
	}
	return true
}

// stringValue returns the value of a string literal with prefix r or u and in one or three quotes.
func stringValue(literal string) (text string, ok bool) {
	start := strings.IndexAny(literal, `'"`)
	quote := 1
	if len(literal) >= start+6 && strings.Count(literal[start:start+3], literal[start:start+1]) == 3 {
		quote = 3
	}
	raw := literal[0]|0x20 == 'r'
	s := literal[start+quote : len(literal)-quote]
	if strings.IndexByte(s, 0) >= 0 {
		return "", false
	}
	if strings.IndexByte(s, '\r') < 0 && (raw || strings.IndexByte(s, '\\') < 0) {
		return s, true
	}
	var built []byte
	for s != "" {
		n := strings.IndexAny(s, "\\\r")
		if n < 0 {
			break
		}
		built = append(built, s[:n]...)
		switch s = s[n:]; {
		case s[0] == '\r' && quote == 3:
			built = append(built, '\n')
			s = strings.TrimPrefix(s[1:], "\n")
		case s[0] == '\r' || len(s) == 1:
			return "", false
		case raw && s[1] == '\r':
			built = append(built, s[0])
			s = s[1:]
		case raw:
			built = append(built, s[:2]...)
			s = s[2:]
		default:
			if built, s, ok = escape(built, s[1:]); !ok {
				return "", false
			}
		}
	}
	return string(append(built, s...)), true
}

// escape appends what an escape sequence stands for whose backslash stands before s.
func escape(dst []byte, s string) (built []byte, rest string, ok bool) {
	c, rest := s[0], s[1:]
	if i := strings.IndexByte(`\'"abfnrtv`, c); i >= 0 {
		return append(dst, "\\'\"\a\b\f\n\r\t\v"[i]), rest, true
	}
	digits, base := 0, 16
	switch {
	case c == '\n':
		return dst, rest, true
	case c == '\r':
		return dst, strings.TrimPrefix(rest, "\n"), true
	case c == 'N':
		return dst, s, false
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	case c >= '0' && c <= '7':
		base, rest = 8, s
		for digits < 3 && digits < len(s) && s[digits] >= '0' && s[digits] <= '7' {
			digits++
		}
	default:
		return append(dst, '\\'), s, true
	}
	if len(rest) < digits {
		return dst, s, false
	}
	r, err := strconv.ParseUint(rest[:digits], base, 32)
	if err != nil || r > 0x10FFFF {
		return dst, s, false
	}
	return python.AppendRune(dst, rune(r)), rest[digits:], true
}
