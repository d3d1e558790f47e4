package source

import (
	"strconv"
	"strings"

	"go.starlark.net/starlark"
)

// formatText is str.format. Fields name an argument by position or name, with neither attributes nor subscripts.
func (r *run) formatText(template string, a arguments) (starlark.Value, error) {
	var pieces []starlark.Value
	put := func(text string) error {
		pieces = append(pieces, starlark.String(text))
		return r.allocItems(1)
	}
	next := 0
	for rest := template; rest != ""; {
		n := strings.IndexAny(rest, "{}")
		if n < 0 {
			n = len(rest)
		}
		if err := put(rest[:n]); err != nil {
			return nil, err
		}
		if rest = rest[n:]; rest == "" {
			break
		}
		if strings.HasPrefix(rest, "{{") || strings.HasPrefix(rest, "}}") {
			if err := put(rest[:1]); err != nil {
				return nil, err
			}
			rest = rest[2:]
			continue
		}
		end := strings.IndexByte(rest, '}')
		if rest[0] == '}' {
			return nil, raise("ValueError", "Single '}' encountered in format string")
		}
		if end < 0 {
			return nil, raise("ValueError", "Single '{' encountered in format string")
		}
		text, err := r.replacement(rest[1:end], a, &next)
		if err != nil {
			return nil, err
		}
		if err := put(text); err != nil {
			return nil, err
		}
		rest = rest[end+1:]
	}
	return r.concatenateTexts("", pieces)
}

// replacement formats one field of a template: name, !conversion, :specification.
func (r *run) replacement(field string, a arguments, next *int) (string, error) {
	field, format, _ := strings.Cut(field, ":")
	name, conversion, _ := strings.Cut(field, "!")
	if strings.ContainsAny(name, ".[{") || strings.Contains(format, "{") {
		return "", raise("ValueError", "fields with attributes, subscripts or fields cannot be executed here")
	}
	if name == "" {
		name = strconv.Itoa(*next)
		*next++
	}
	if i, err := strconv.Atoi(name); err == nil {
		if i < 0 || i >= len(a.positional) {
			return "", raisef("IndexError", "Replacement index %s out of range for positional args tuple", name)
		}
		return r.converted(a.positional[i], conversion, format)
	}
	for _, pair := range a.keyword {
		if pair[0] == starlark.String(name) {
			return r.converted(pair[1], conversion, format)
		}
	}
	shown, err := r.repr(starlark.String(name))
	if err != nil {
		return "", err
	}
	return "", raise("KeyError", shown)
}

// percent is text % values, with the conversions s, r, d, i, f, e, g, x and %%.
func (r *run) percent(template string, values starlark.Value) (starlark.Value, error) {
	args, ok := values.(starlark.Tuple)
	if !ok {
		args = starlark.Tuple{values}
	}
	var pieces []starlark.Value
	for rest := template; ; {
		before, after, found := strings.Cut(rest, "%")
		pieces = append(pieces, starlark.String(before))
		if err := r.allocItems(1); err != nil {
			return nil, err
		}
		if !found {
			break
		}
		n := len(after) - len(strings.TrimLeft(after, "+-0123456789."))
		if n == len(after) {
			return nil, raise("ValueError", "incomplete format")
		}
		flags, verb := after[:n], after[n]
		rest = after[n+1:]
		if verb == '%' {
			pieces = append(pieces, starlark.String("%"))
			continue
		}
		if len(args) == 0 {
			return nil, raise("TypeError", "not enough arguments for format string")
		}
		text, err := r.percentField(args[0], flags, verb)
		if err != nil {
			return nil, err
		}
		args = args[1:]
		pieces = append(pieces, starlark.String(text))
	}
	if _, isDict := values.(*starlark.Dict); len(args) > 0 && !isDict {
		return nil, raise("TypeError", "not all arguments converted during string formatting")
	}
	return r.concatenateTexts("", pieces)
}

func (r *run) percentField(x starlark.Value, flags string, verb byte) (string, error) {
	align := ">"
	if strings.HasPrefix(flags, "-") {
		align, flags = "<", flags[1:]
	}
	i, f, isFloat, isNumber := number(x)
	switch verb {
	case 's', 'r':
		conversion := string(verb)
		return r.converted(x, conversion, align+flags)
	case 'd', 'i', 'x':
		if !isNumber || isFloat && verb == 'x' {
			return "", raisef("TypeError", "%%%c format: a number is required, not %s", verb, typeName(x))
		}
		whole := starlark.Value(i)
		if isFloat {
			var err error
			if whole, err = truncate(f); err != nil {
				return "", err
			}
		}
		if verb == 'i' {
			verb = 'd'
		}
		return r.formatted(whole, numberSpec(align, flags, verb))
	case 'f', 'e', 'g':
		if !isNumber {
			return "", raisef("TypeError", "must be real number, not %s", typeName(x))
		}
		return r.formatted(x, numberSpec(align, flags, verb))
	default:
		return "", raisef("ValueError", "unsupported format character '%c' (%#x)", verb, verb)
	}
}

// numberSpec returns the format specification of a conversion; zeros pad behind the sign.
func numberSpec(align, flags string, verb byte) string {
	if strings.HasPrefix(strings.TrimPrefix(flags, "+"), "0") {
		align = ""
	}
	return align + flags + string(verb)
}
