package units

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

//go:embed units.json
var bundled []byte

// table is the default registry. It is immutable.
type table struct {
	prefixes []prefix               // in order of precedence
	units    map[string]*definition // by name, symbol and alias
}

// prefix is a prefix under one of its names.
type prefix struct {
	text, name string
	scale      number
}

// unitKind is the way to convert a unit to its reference.
type unitKind uint8

const (
	scaled      unitKind = iota // multiply by a factor
	base                        // no conversion: the reference is a dimension
	offset                      // multiply by a factor and add an offset
	logarithmic                 // raise to a power and multiply by a factor
)

// definition is a unit: scale times its reference. Units that are not multiplicative have more
// fields.
type definition struct {
	name      string
	kind      unitKind
	scale     number
	offset    number
	logBase   number
	logFactor number
	reference container
}

// multiplicative reports whether 0 of the unit is 0 of its reference.
func (d *definition) multiplicative() bool { return d.kind == scaled || d.kind == base }

// document is the format of units.json. The text of a number distinguishes an int from a float.
type document struct {
	Prefixes []struct {
		Name    string
		Aliases []string
		Scale   json.Number
	}
	Units []unitEntry
}

// unitEntry is a unit of the document. A reference is a list of units, or dimensions, with powers,
// e.g. meter, second^-2.
type unitEntry struct {
	Name      string
	Aliases   []string
	Base      bool
	Scale     json.Number
	Offset    json.Number
	Logarithm *struct{ Base, Factor json.Number }
	Reference []string
}

// load decodes the registry once.
var load = sync.OnceValues(func() (*table, error) {
	t, err := decode(bundled)
	if err != nil {
		return nil, fmt.Errorf("read units.json: %w", err)
	}
	return t, nil
})

func decode(raw []byte) (*table, error) {
	var d document
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	t := &table{units: make(map[string]*definition)}
	for _, p := range d.Prefixes {
		scale, err := parseNumber(p.Scale.String())
		if err != nil {
			return nil, fmt.Errorf("prefix %s: %w", p.Name, err)
		}
		for _, text := range append([]string{p.Name}, p.Aliases...) {
			t.prefixes = append(t.prefixes, prefix{text: text, name: p.Name, scale: scale})
		}
	}
	for _, entry := range d.Units {
		unit, err := entry.definition()
		if err != nil {
			return nil, fmt.Errorf("unit %s: %w", entry.Name, err)
		}
		for _, text := range append([]string{entry.Name}, entry.Aliases...) {
			t.units[text] = unit
		}
	}
	return t, nil
}

func (e unitEntry) definition() (*definition, error) {
	d := &definition{name: e.Name}
	var err error
	read := func(text string) (n number) {
		if err == nil {
			n, err = parseNumber(text)
		}
		return n
	}
	d.scale = read(e.Scale.String())
	switch {
	case e.Base:
		d.kind = base
	case e.Offset != "":
		d.kind, d.offset = offset, read(e.Offset.String())
	case e.Logarithm != nil:
		d.kind, d.logBase, d.logFactor = logarithmic, read(e.Logarithm.Base.String()), read(e.Logarithm.Factor.String())
	}
	for _, term := range e.Reference {
		name, power, hasPower := strings.Cut(term, "^")
		if !hasPower {
			power = "1"
		}
		d.reference = append(d.reference, factor{name, read(power)})
	}
	return d, err
}
