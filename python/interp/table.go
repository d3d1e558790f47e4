package interp

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python/limit"
)

type (
	dict struct{ table }

	// set keeps its items in insertion order.
	set struct {
		table
		frozen bool
	}
)

// table holds keys, and values for dicts, in insertion order.
type table struct {
	entries []entry
	index   map[any]int // position of an entry by hash; nil up to linearSearchLimit
	live    int
}

type entry struct {
	hash       any // nil: deleted
	key, value any
}

// linearSearchLimit is the number of entries up to which a table has no index.
const linearSearchLimit = 8

func (t *table) find(hash any) int {
	if t.index != nil {
		if i, ok := t.index[hash]; ok {
			return i
		}
		return -1
	}
	for i := range t.entries {
		if t.entries[i].hash == hash {
			return i
		}
	}
	return -1
}

// grow makes room for n more entries.
func (t *table) grow(n int) { t.entries = slices.Grow(t.entries, n) }

// put replaces the value of a key, or appends the key.
func (t *table) put(hash, key, value any) {
	if i := t.find(hash); i >= 0 {
		t.entries[i].value = value
		return
	}
	t.entries = append(t.entries, entry{hash, key, value})
	t.live++
	switch n := len(t.entries); {
	case t.index != nil:
		t.index[hash] = n - 1
	case n > linearSearchLimit:
		t.reindex()
	}
}

func (t *table) reindex() {
	t.index = make(map[any]int, 2*len(t.entries))
	for i := range t.entries {
		t.index[t.entries[i].hash] = i
	}
}

// remove deletes the entry at index i. It compacts the entries when most are deleted.
func (t *table) remove(i int) {
	if t.index != nil {
		delete(t.index, t.entries[i].hash)
	}
	t.entries[i] = entry{}
	t.live--
	for n := len(t.entries); n > 0 && t.entries[n-1].hash == nil; n-- {
		t.entries = t.entries[:n-1]
	}
	if len(t.entries) > 2*t.live+linearSearchLimit {
		t.entries = slices.DeleteFunc(slices.Clone(t.entries), func(e entry) bool { return e.hash == nil })
		if t.index != nil {
			t.reindex()
		}
	}
}

func (t *table) clear() { *t = table{} }

// all returns the entries that are not deleted.
func (t *table) all() []entry {
	if t.live == len(t.entries) {
		return t.entries
	}
	return slices.DeleteFunc(slices.Clone(t.entries), func(e entry) bool { return e.hash == nil })
}

// These are hashes of values that cannot be map keys themselves.
type (
	bigHash  string
	seqHash  string
	nanHash  struct{}
	noneHash struct{}
)

// hash returns the map key of a value, which is equal for equal values.
func (m *machine) hash(v any) any {
	switch v := plain(v).(type) {
	case nil:
		return noneHash{}
	case bool:
		if v {
			return 1
		}
		return 0
	case int, string:
		m.chargeSteps(textCost(v))
		return v
	case *big.Int:
		m.alloc(v.BitLen() / 5)
		return bigHash(v.Text(62))
	case float64:
		if math.IsNaN(v) {
			return nanHash{}
		}
		if v == math.Trunc(v) && !math.IsInf(v, 0) {
			return m.hash(truncate(v))
		}
		return v
	case *tuple, *set:
		if s, ok := v.(*set); ok && !s.frozen {
			break
		}
		return seqHash(m.hashText(v, 0))
	case *list, *dict, *view, *slice:
	case ordered:
		return v.hash()
	case *builtin, *tool, *rangeValue:
		text := m.repr(v)
		return seqHash(typeName(v) + text)
	default:
		return v
	}
	panic(raise("TypeError", "unhashable type: '%s'", typeName(v)))
}

func textCost(v any) int {
	s, _ := v.(string)
	return len(s) / 64
}

// hashText returns a text that is equal for equal tuples and frozen sets.
func (m *machine) hashText(v any, depth int) string {
	if depth > limit.ValueDepth {
		panic(tooDeep())
	}
	m.alloc(16)
	m.chargeSteps(1)
	var items []any
	frozen := false
	switch v := v.(type) {
	case *tuple:
		items = v.items
	case *set:
		if frozen = v.frozen; !frozen {
			panic(raise("TypeError", "unhashable type: 'set'"))
		}
		items = v.keys()
	default:
		return m.hashAtom(v)
	}
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = m.hashText(item, depth+1)
		m.alloc(len(parts[i]) + 32)
	}
	open := "("
	if frozen {
		open = "{"
		slices.Sort(parts)
	}
	return open + strings.Join(parts, "") + ")"
}

func (m *machine) hashAtom(v any) string {
	hash := m.hash(v)
	var text string
	switch hash := hash.(type) {
	case string:
		text = "s" + hash
	case int:
		text = "i" + strconv.Itoa(hash)
	case float64:
		text = "f" + strconv.FormatFloat(hash, 'g', -1, 64)
	case bigHash:
		text = "b" + string(hash)
	case seqHash:
		text = "q" + string(hash)
	case noneHash, nanHash:
		text = typeName(v)
	default:
		text = "o" + strconv.Itoa(m.identity(hash))
	}
	m.alloc(len(text))
	return strconv.Itoa(len(text)) + ":" + text
}

// identity returns a number for an object that hashes by identity.
func (m *machine) identity(v any) int {
	if m.identities == nil {
		m.identities = make(map[any]int)
	}
	if _, exists := m.identities[v]; !exists {
		m.identities[v] = len(m.identities)
	}
	return m.identities[v]
}

// keys returns the keys in order.
func (t *table) keys() []any {
	entries := t.all()
	keys := make([]any, len(entries))
	for i := range entries {
		keys[i] = entries[i].key
	}
	return keys
}

// put stores an item of a dict or set.
func (m *machine) put(t *table, key, value any) {
	hash := m.hash(key)
	m.allocItems(2)
	t.put(hash, key, value)
}

// get returns the index of a key, -1 if it is missing.
func (m *machine) get(t *table, key any) int {
	return t.find(m.hash(key))
}
