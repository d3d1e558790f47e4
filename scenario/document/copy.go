package document

import "strings"

// Copy returns a deep copy, so that a reader that expands short forms leaves v as it is.
func (v *Value) Copy() *Value { return v.duplicate(func(*Value) {}) }

// CopyTo returns a deep copy at the position of another value. In field paths it replaces the
// prefix from.
func (v *Value) CopyTo(at *Value, from, to string) *Value {
	return v.duplicate(func(c *Value) {
		c.Line, c.Column, c.Inside = at.Line, at.Column, TextPosition{}
		if rest, ok := strings.CutPrefix(c.Path, from); ok {
			c.Path = to + rest
		}
	})
}

func (v *Value) duplicate(change func(*Value)) *Value {
	if v == nil {
		return nil
	}
	c := *v
	change(&c)
	if v.List != nil {
		c.List = make([]*Value, len(v.List))
	}
	for i, item := range v.List {
		c.List[i] = item.duplicate(change)
	}
	if v.Fields != nil {
		c.Fields = make([]Field, len(v.Fields))
	}
	for i, f := range v.Fields {
		c.Fields[i] = Field{Key: f.Key, Position: f.Position.duplicate(change), Value: f.Value.duplicate(change)}
	}
	return &c
}

// Size returns the number of values of a document, keys included.
func (v *Value) Size() int {
	size := 1
	for _, item := range v.List {
		size += item.Size()
	}
	for _, f := range v.Fields {
		size += 1 + f.Value.Size()
	}
	return size
}
