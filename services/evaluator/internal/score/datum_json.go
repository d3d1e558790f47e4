package score

import (
	"encoding/json"
	"strconv"
	"strings"
)

// json writes the datum as a JSON text, with NaN and infinities as Python's json module spells
// them.
func (d *datum) json() string {
	var b strings.Builder
	d.write(&b)
	return b.String()
}

// write appends the text.
func (d *datum) write(b *strings.Builder) {
	switch d.kind {
	case datumNull:
		b.WriteString("null")
	case datumBool:
		b.WriteString(strconv.FormatBool(d.number != 0))
	case datumString:
		quote(b, d.text)
	case datumList, datumObject:
		brackets := map[datumKind]string{datumList: "[]", datumObject: "{}"}[d.kind]
		b.WriteByte(brackets[0])
		for i := range d.items {
			if i > 0 {
				b.WriteString(", ")
			}
			if d.kind == datumObject {
				quote(b, d.names[i])
				b.WriteString(": ")
			}
			d.items[i].write(b)
		}
		b.WriteByte(brackets[1])
	default:
		b.WriteString(strings.NewReplacer("nan", "NaN", "inf", "Infinity").Replace(printed(d)))
	}
}

// quote appends a text as a JSON string.
func quote(b *strings.Builder, text string) {
	raw := new(strings.Builder)
	encoder := json.NewEncoder(raw)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string always encodes
	b.WriteString(strings.TrimSuffix(raw.String(), "\n"))
}
