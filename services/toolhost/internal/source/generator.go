package source

import (
	"slices"

	"go.starlark.net/starlark"
)

// generator is what a generator expression gives: items that are taken one after the other. They are computed at once.
type generator struct {
	items *starlark.List
	next  int
}

func (g *generator) String() string {
	return "<generator object <genexpr> at 0x7F0000000000>"
}
func (g *generator) Type() string         { return "generator" }
func (g *generator) Freeze()              {}
func (g *generator) Truth() starlark.Bool { return true }
func (g *generator) Hash() (uint32, error) {
	return 0, raise("TypeError", "unhashable type: 'generator'")
}

// Iterate takes the items that are left.
func (g *generator) Iterate() starlark.Iterator { return &generatorIterator{g} }

type generatorIterator struct{ *generator }

func (i *generatorIterator) Next(item *starlark.Value) bool {
	if i.next >= i.items.Len() {
		return false
	}
	*item = i.items.Index(i.next)
	i.next++
	return true
}

func (i *generatorIterator) Done() {}

// newGenerator makes a generator of the list of its items.
func (r *run) newGenerator(a arguments) (starlark.Value, error) {
	items, err := r.items(a.positional[0])
	return &generator{items: starlark.NewList(items)}, err
}

// advance is next().
func (r *run) advance(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "iterator", "default")
	if err != nil {
		return nil, err
	}
	g, ok := args[0].(*generator)
	if !ok {
		return nil, raisef("TypeError", "'%s' object is not an iterator", typeName(args[0]))
	}
	var item starlark.Value
	switch iterator := g.Iterate(); {
	case iterator.Next(&item):
		return item, nil
	case args[1] != nil:
		return args[1], nil
	default:
		return nil, raise("StopIteration", "")
	}
}

// generated returns where the generator expression ends that begins with the bracket at place i; 0 if none does.
func generated(tokens []token, i int) int {
	depth, found := 0, false
	for n, k := range tokens[i:] {
		if k.kind == kindName && k.text == "for" && depth == 1 {
			found = true
		}
		if k.kind != kindMark {
			continue
		}
		if slices.Contains([]string{"(", "[", "{"}, k.text) {
			depth++
		}
		if slices.Contains([]string{")", "]", "}"}, k.text) {
			if depth--; depth == 0 {
				if found {
					return i + n
				}
				return 0
			}
		}
	}
	return 0
}

// generate writes a generator expression, which begins and ends with brackets, as a call with a list.
func (t *translator) generate(tokens []token, called bool) error {
	first := tokens[0]
	at, end := first.at, first.at+1
	if called {
		t.put("(", at, end)
	}
	t.putLiteral(literal{kind: literalGenerator}, at, end)
	t.put("(", at, end)
	t.put("[", at, end)
	if err := t.tokens(tokens[1 : len(tokens)-1]); err != nil {
		return err
	}
	last := tokens[len(tokens)-1]
	t.put("]", last.at, last.at+1)
	t.put(")", last.at, last.at+1)
	if called {
		t.put(")", last.at, last.at+1)
	}
	return nil
}

// follow says whether the token at place i follows a value, so that an opening bracket there belongs to that.
func follow(tokens []token, i int) bool {
	if i == 0 {
		return false
	}
	switch before := tokens[i-1]; before.kind {
	case kindMark:
		return before.text == ")" || before.text == "]" || before.text == "}"
	case kindName:
		return !isWord(before.text) && before.text != "return"
	default:
		return true
	}
}
