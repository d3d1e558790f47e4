package euroeval

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// kindOf returns the kind of the values that a schema declares, by BFCL's and JSON Schema's names.
// Types of other programming languages are unknown.
func kindOf(schema *python.Dict) (kind python.Kind, known bool) {
	declared, _ := schema.Get("type")
	name, _ := declared.AsStr()
	switch name {
	case "string", "any":
		return python.KindStr, true
	case "integer":
		return python.KindInt, true
	case "float", "number":
		return python.KindFloat, true
	case "boolean":
		return python.KindBool, true
	case "array", "tuple":
		return python.KindList, true
	case "dict", "object":
		return python.KindDict, true
	default:
		return python.KindNone, false
	}
}

func typeName(schema *python.Dict) string {
	declared, _ := schema.Get("type")
	return python.Text(declared)
}

// fitsKind reports whether a value is of a kind. An int fits a float; a bool fits a bool alone.
func fitsKind(kind python.Kind, v python.Value) bool {
	return v.Kind() == kind || kind == python.KindFloat && v.Kind() == python.KindInt
}

// usualPlace returns the place of the first accepted value that is not the empty text, -1 without
// any.
func usualPlace(options []python.Value) int {
	return slices.IndexFunc(options, func(option python.Value) bool { return !option.Equal(python.Str("")) })
}

// usualKind returns the kind of the first accepted value that is not the empty text.
func usualKind(options []python.Value) (kind python.Kind, ok bool) {
	i := usualPlace(options)
	if i < 0 {
		return python.KindNone, false
	}
	return options[i].Kind(), true
}

// itemsFit reports whether the elements of a list have the declared type, or else the type that
// those of an accepted list have. It holds for any other value.
func itemsFit(schema *python.Dict, options []python.Value, v python.Value) bool {
	items, _ := v.AsList()
	declared := dictAt(schema, "items")
	kind, known := kindOf(declared)
	if !known {
		return true
	}
	return !slices.ContainsFunc(items, func(item python.Value) bool {
		if fitsKind(kind, item) {
			return !itemsFit(declared, flatten(options), item)
		}
		return !slices.ContainsFunc(options, func(option python.Value) bool {
			accepted, _ := option.AsList()
			usual, ok := usualKind(accepted)
			return ok && usual == item.Kind()
		})
	})
}

// flatten returns the elements of all lists in a list.
func flatten(lists []python.Value) (elements []python.Value) {
	for _, list := range lists {
		items, _ := list.AsList()
		elements = append(elements, items...)
	}
	return elements
}

// acceptedValue reports whether a value is an option by BFCL's rules: texts by their standard form,
// also in lists; an object by the options that the accepted object has for each key.
func acceptedValue(option, v python.Value) bool {
	switch {
	case option.Kind() != v.Kind():
		return strictlyEqual(option, v)
	case v.Kind() == python.KindStr:
		a, _ := option.AsStr()
		b, _ := v.AsStr()
		return a == b || standardText(a) == standardText(b)
	case v.Kind() == python.KindList:
		a, _ := option.AsList()
		b, _ := v.AsList()
		return slices.EqualFunc(a, b, acceptedValue)
	case v.Kind() == python.KindDict:
		a, _ := option.AsDict()
		b, _ := v.AsDict()
		return acceptedDict(a, b)
	default:
		return strictlyEqual(option, v)
	}
}

func acceptedDict(options, given *python.Dict) bool {
	for _, item := range given.Items() {
		accepted, ok := options.Get(item.Key)
		if !ok {
			return false
		}
		list, isList := accepted.AsList()
		if !isList {
			list = []python.Value{accepted}
		}
		if !slices.ContainsFunc(list, func(option python.Value) bool { return acceptedValue(option, item.Value) }) {
			return false
		}
	}
	for _, item := range options.Items() {
		if _, ok := given.Get(item.Key); !ok && !optional(item.Value) {
			return false
		}
	}
	return true
}

// standardText drops white space between words and light punctuation, and lowers letters.
func standardText(text string) string {
	text = strings.Map(func(r rune) rune {
		switch r {
		case ' ', ',', '.', '/', '-', '_', '*', '^':
			return -1
		case '\'':
			return '"'
		default:
			return r
		}
	}, text)
	return strings.ToLower(text)
}

// strictlyEqual is Python's == except that a bool equals a bool alone, also inside lists and dicts.
func strictlyEqual(v, w python.Value) bool {
	if (v.Kind() == python.KindBool) != (w.Kind() == python.KindBool) {
		return false
	}
	switch v.Kind() {
	case python.KindList:
		a, _ := v.AsList()
		b, ok := w.AsList()
		return ok && slices.EqualFunc(a, b, strictlyEqual)
	case python.KindDict:
		a, _ := v.AsDict()
		b, ok := w.AsDict()
		if !ok || a.Len() != b.Len() {
			return false
		}
		return !slices.ContainsFunc(a.Items(), func(item python.Item) bool {
			other, ok := b.Get(item.Key)
			return !ok || !strictlyEqual(item.Value, other)
		})
	default:
		return v.Equal(w)
	}
}
