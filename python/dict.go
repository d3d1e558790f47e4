package python

import "slices"

// indexThreshold is the number of items from which a Dict indexes its keys.
const indexThreshold = 16

// Item is one entry of a Dict.
type Item struct {
	Key   string
	Value Value
}

// Dict is a dict with str keys in insertion order. The zero Dict is empty and ready to use; a nil
// *Dict reads as empty. Reading is safe for concurrent use, Set is not.
type Dict struct {
	items []Item
	index map[string]int
}

// Value returns the dict as a Value that shares it.
func (d *Dict) Value() Value { return Value{v: d} }

// Len returns the number of items.
func (d *Dict) Len() int {
	if d == nil {
		return 0
	}
	return len(d.items)
}

// Items returns the items in order. The caller must not change them.
func (d *Dict) Items() []Item {
	if d == nil {
		return nil
	}
	return d.items
}

// Get returns the value of a key.
func (d *Dict) Get(key string) (v Value, ok bool) {
	i := d.find(key)
	if i < 0 {
		return Value{}, false
	}
	return d.items[i].Value, true
}

// Set stores the value of a key: in the key's place if it is there, else at the end.
func (d *Dict) Set(key string, v Value) {
	if i := d.find(key); i >= 0 {
		d.items[i].Value = v
		return
	}
	d.items = append(d.items, Item{key, v})
	switch {
	case d.index != nil:
		d.index[key] = len(d.items) - 1
	case len(d.items) >= indexThreshold:
		d.index = make(map[string]int, 2*indexThreshold)
		for i := range d.items {
			d.index[d.items[i].Key] = i
		}
	}
}

// Grow makes room for n more items.
func (d *Dict) Grow(n int) { d.items = slices.Grow(d.items, n) }

func (d *Dict) find(key string) int {
	if d == nil {
		return -1
	}
	if d.index != nil {
		if i, ok := d.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range d.items {
		if d.items[i].Key == key {
			return i
		}
	}
	return -1
}
