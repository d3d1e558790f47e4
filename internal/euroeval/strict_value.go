package euroeval

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// kindOf returns the kind of values that a schema declares, by BFCL's or JSON Schema's type names.
// Types of other programming languages are unknown.
func kindOf(schema python.Value) (kind python.Kind, known bool) {
	switch name, _ := schema.Field("type").AsStr(); name {
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

// fitsKind reports whether a value is of a kind. An int is a valid float; only a bool is a valid
// bool.
func fitsKind(kind python.Kind, v python.Value) bool {
	return v.Kind() == kind || kind == python.KindFloat && v.Kind() == python.KindInt
}

// usualIndex returns the index of the first accepted value that is not the empty text, otherwise
// -1.
func usualIndex(options []python.Value) int {
	return slices.IndexFunc(options, func(option python.Value) bool { return !option.Equal(python.Str("")) })
}

// usualKind returns the kind of the first accepted value that is not the empty text.
func usualKind(options []python.Value) (kind python.Kind, ok bool) {
	i := usualIndex(options)
	if i < 0 {
		return python.KindNone, false
	}
	return options[i].Kind(), true
}

// itemsFit reports whether the items of a list have the declared item type, otherwise the item type
// of an accepted list. It is true for any other value.
func itemsFit(schema python.Value, options []python.Value, v python.Value) bool {
	items, _ := v.AsList()
	declared := schema.Field("items")
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

// flatten concatenates lists.
func flatten(lists []python.Value) (elements []python.Value) {
	for _, list := range lists {
		items, _ := list.AsList()
		elements = append(elements, items...)
	}
	return elements
}

// acceptedValue reports whether a value matches an option by BFCL's rules. It compares texts by
// their standard form, also in lists. It compares an object by the accepted values of each key.
func acceptedValue(option, v python.Value) bool {
	switch {
	case option.Kind() != v.Kind():
		return strictlyEqual(option, v)
	case v.Kind() == python.KindStr:
		a, _ := option.AsStr()
		b, _ := v.AsStr()
		return a == b || standardText(a) == standardText(b)
	case v.Kind() == python.KindList:
		return option.EqualFunc(v, acceptedValue)
	case v.Kind() == python.KindDict:
		a, _ := option.AsDict()
		b, _ := v.AsDict()
		return acceptedDict(a, b)
	default:
		return strictlyEqual(option, v)
	}
}

func acceptedDict(options, actual *python.Dict) bool {
	for _, item := range actual.Items() {
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
		if _, ok := actual.Get(item.Key); !ok && !optional(item.Value) {
			return false
		}
	}
	return true
}

// standardText removes spaces and light punctuation, replaces ' by ", and converts to lower case.
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

// strictlyEqual is Python's == except that a bool equals only a bool, also inside lists and dicts.
func strictlyEqual(v, w python.Value) bool {
	return (v.Kind() == python.KindBool) == (w.Kind() == python.KindBool) && v.EqualFunc(w, strictlyEqual)
}
