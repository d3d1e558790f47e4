package source

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// attribute returns x.name.
func (r *run) attribute(x starlark.Value, name string) (starlark.Value, error) {
	var f function
	switch x := x.(type) {
	case starlark.String:
		f = r.textMethod(string(x), name)
	case *starlark.List:
		f = r.listMethod(x, name)
	case *starlark.Dict:
		f = r.dictMethod(x, name)
	case *module:
		f = x.members[name]
	case *class:
		if name == "__name__" {
			return starlark.String(x.name), nil
		}
		if x.name == "str" && r.textMethod("", name) != nil { // a method without its text, as a key
			f = func(a arguments) (starlark.Value, error) {
				args, err := a.bind(1, "self")
				if err != nil {
					return nil, err
				}
				text, err := a.text(args[0])
				if err != nil {
					return nil, err
				}
				return r.textMethod(text, name)(arguments{name: name})
			}
		}
	case *starlark.Function:
		if name == "__name__" {
			return starlark.String(x.Name()), nil
		}
	}
	if f == nil {
		return nil, raisef("AttributeError", "'%s' object has no attribute '%s'", typeName(x), name)
	}
	return wrap(name, f), nil
}

// textMethod returns a method of a text. Those that Starlark has too and that count no characters are Starlark's.
func (r *run) textMethod(s, name string) function {
	switch name {
	case "join":
		return func(a arguments) (starlark.Value, error) {
			args, err := a.bind(1, "iterable")
			if err != nil {
				return nil, err
			}
			items, err := r.items(args[0])
			if err != nil {
				return nil, err
			}
			return r.concatenateTexts(s, items)
		}
	case "format":
		return func(a arguments) (starlark.Value, error) { return r.formatText(s, a) }
	case "replace":
		return func(a arguments) (starlark.Value, error) { return r.replace(s, a) }
	case "find", "rfind", "index", "rindex":
		return func(a arguments) (starlark.Value, error) { return r.findText(s, a) }
	case "zfill", "ljust", "rjust", "center":
		return func(a arguments) (starlark.Value, error) { return r.pad(s, a) }
	case "isnumeric", "isdecimal":
		name = "isdigit"
	case "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "startswith", "endswith", "count", "upper", "lower",
		"capitalize", "title", "isalnum", "isalpha", "isdigit", "islower", "isspace", "istitle", "isupper", "partition",
		"rpartition", "removeprefix", "removesuffix":
	case "casefold":
		name = "lower"
	default:
		return nil
	}
	return func(a arguments) (starlark.Value, error) {
		if err := r.allocItems(1 + len(s)); err != nil { // a split may make a text of each character
			return nil, err
		}
		method, err := starlark.String(s).Attr(name)
		if err != nil {
			return nil, err
		}
		result, err := starlark.Call(r.thread, method, a.positional, a.keyword)
		if err != nil {
			return nil, raise("TypeError", strings.TrimPrefix(r.exception(err).Error(), "TypeError: "))
		}
		return result, nil
	}
}

func (r *run) replace(s string, a arguments) (starlark.Value, error) {
	args, err := a.bind(2, "old", "new", "count")
	if err != nil {
		return nil, err
	}
	before, err := a.text(args[0])
	if err != nil {
		return nil, err
	}
	after, err := a.text(args[1])
	if err != nil {
		return nil, err
	}
	limit := -1
	if args[2] != nil {
		if limit, err = starlark.AsInt32(args[2]); err != nil {
			return nil, raisef("TypeError", "'%s' object cannot be interpreted as an integer", typeName(args[2]))
		}
	}
	n := strings.Count(s, before)
	if limit >= 0 {
		n = min(n, limit)
	}
	if n > maxMemory || len(after) > 0 && n > maxMemory/len(after) {
		return nil, r.alloc(maxMemory + 1)
	}
	if err := r.alloc(len(s) + n*len(after)); err != nil {
		return nil, err
	}
	return starlark.String(strings.Replace(s, before, after, limit)), r.spend(len(s) / 64)
}

// findText is find, rfind, index and rindex, in characters, with optional bounds.
func (r *run) findText(s string, a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "sub", "start", "end")
	if err != nil {
		return nil, err
	}
	wanted, err := a.text(args[0])
	if err != nil {
		return nil, err
	}
	for i := range args {
		if args[i] == nil {
			args[i] = starlark.None
		}
	}
	within, err := r.slice(starlark.String(s), args[1], args[2], starlark.None)
	if err != nil {
		return nil, err
	}
	first, _, _, err := bounds(args[1], args[2], starlark.None, length(s))
	if err != nil {
		return nil, err
	}
	text, _ := starlark.AsString(within)
	at := strings.Index(text, wanted)
	if a.name[0] == 'r' {
		at = strings.LastIndex(text, wanted)
	}
	switch {
	case at >= 0:
		return starlark.MakeInt(first + length(text[:at])), nil
	case strings.HasSuffix(a.name, "index"):
		return nil, raise("ValueError", "substring not found")
	default:
		return starlark.MakeInt(-1), nil
	}
}

// pad is zfill, ljust, rjust and center.
func (r *run) pad(s string, a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "width", "fillchar")
	if err != nil {
		return nil, err
	}
	size, err := starlark.AsInt32(args[0])
	if err != nil {
		return nil, raisef("TypeError", "'%s' object cannot be interpreted as an integer", typeName(args[0]))
	}
	fill, err := a.text(args[1])
	if err != nil {
		return nil, err
	}
	if fill == "" {
		fill = " "
	}
	align := map[string]byte{"zfill": '=', "ljust": '<', "rjust": '>', "center": '^'}[a.name]
	if align == '=' {
		fill = "0"
	}
	text, err := r.padded(s, fill, align, size)
	return starlark.String(text), err
}

// padded fills a text up to a size in characters; '=' fills behind the sign.
func (r *run) padded(s, fill string, align byte, size int) (string, error) {
	missing := size - length(s)
	if missing <= 0 {
		return s, nil
	}
	if missing > maxMemory {
		return "", r.alloc(maxMemory + 1)
	}
	if err := r.alloc(len(s) + missing*len(fill)); err != nil {
		return "", err
	}
	switch align {
	case '<':
		return s + strings.Repeat(fill, missing), nil
	case '^':
		return strings.Repeat(fill, missing/2) + s + strings.Repeat(fill, missing-missing/2), nil
	case '=':
		sign := ""
		if s != "" && (s[0] == '-' || s[0] == '+') {
			sign, s = s[:1], s[1:]
		}
		return sign + strings.Repeat(fill, missing) + s, nil
	default:
		return strings.Repeat(fill, missing) + s, nil
	}
}

// listMethod returns a method of a list.
func (r *run) listMethod(list *starlark.List, name string) function {
	params, required := map[string][]string{
		"append": {"object"}, "extend": {"iterable"}, "insert": {"index", "object"}, "remove": {"value"}, "pop": {"index"},
		"index": {"value"}, "count": {"value"}, "clear": {}, "copy": {}, "reverse": {}, "sort": {"key", "reverse"},
	}[name], map[string]int{"append": 1, "extend": 1, "insert": 2, "remove": 1, "index": 1, "count": 1}[name]
	if params == nil {
		return nil
	}
	return func(a arguments) (starlark.Value, error) {
		args, err := a.bind(required, params...)
		if err != nil {
			return nil, err
		}
		switch name {
		case "append":
			if err := r.allocItems(1); err != nil {
				return nil, err
			}
			return starlark.None, list.Append(args[0])
		case "extend":
			return starlark.None, r.extend(list, args[0])
		case "clear":
			return starlark.None, list.Clear()
		case "copy":
			return r.concatenate(list)
		case "pop":
			return r.pop(list, args[0])
		case "index", "count", "remove":
			return r.search(list, args[0], name)
		default:
			return starlark.None, r.rearrange(list, args, name)
		}
	}
}

// rearrange is insert, reverse and sort.
func (r *run) rearrange(list *starlark.List, args []starlark.Value, name string) error {
	items, err := r.items(list)
	if err != nil {
		return err
	}
	switch name {
	case "insert":
		at, err := starlark.AsInt32(args[0])
		if err != nil {
			return raisef("TypeError", "'%s' object cannot be interpreted as an integer", typeName(args[0]))
		}
		if at < 0 {
			at += len(items)
		}
		items = slices.Insert(items, max(0, min(at, len(items))), args[1])
	case "reverse":
		slices.Reverse(items)
	default:
		if items, err = r.sort(items, args[0], args[1]); err != nil {
			return err
		}
	}
	return refill(list, items)
}

// refill replaces the items of a list.
func refill(list *starlark.List, items []starlark.Value) error {
	if err := list.Clear(); err != nil {
		return err
	}
	for _, item := range items {
		if err := list.Append(item); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) pop(list *starlark.List, at starlark.Value) (starlark.Value, error) {
	if list.Len() == 0 {
		return nil, raise("IndexError", "pop from empty list")
	}
	if at == nil {
		at = starlark.MakeInt(-1)
	}
	i, err := index(at, list.Len(), "pop")
	if err != nil {
		return nil, err
	}
	items, err := r.items(list)
	if err != nil {
		return nil, err
	}
	return items[i], refill(list, slices.Delete(slices.Clone(items), i, i+1))
}

// search is index, count and remove.
func (r *run) search(list *starlark.List, wanted starlark.Value, name string) (starlark.Value, error) {
	items, err := r.items(list)
	if err != nil {
		return nil, err
	}
	found := 0
	for i, item := range items {
		equal, err := r.equal(item, wanted, 0)
		switch {
		case err != nil:
			return nil, err
		case equal && name == "index":
			return starlark.MakeInt(i), nil
		case equal && name == "remove":
			return starlark.None, refill(list, slices.Delete(items, i, i+1))
		case equal:
			found++
		}
	}
	if name == "count" {
		return starlark.MakeInt(found), nil
	}
	if name == "remove" {
		return nil, raise("ValueError", "list.remove(x): x not in list")
	}
	text, err := r.repr(wanted)
	if err != nil {
		return nil, err
	}
	return nil, raise("ValueError", text+" is not in list")
}
