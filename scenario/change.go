package scenario

import "slices"

// expandChange expands a constraint with a measure as a key: update: {contact: row} becomes table,
// measure, expect and, by default, start as the reference.
func (r *reader) expandChange(v *value) {
	at := slices.IndexFunc(v.fields, func(f field) bool { return slices.Contains(changeMeasures, f.key) })
	if at < 0 {
		return
	}
	written := v.fields[at]
	for _, f := range v.fields {
		if f.key != written.key && slices.Contains(append([]string{"call", "says", "table", "measure", "expect"}, changeMeasures...), f.key) {
			r.fail(f.position, "cannot stand beside %s; write two constraints", written.key)
			return
		}
	}
	if r.object(written.value, wantedTableForm(r.world())) == nil || len(written.value.fields) != 1 {
		return
	}
	table, measure := written.value.fields[0], *written.position
	measure.shape, measure.text = shapeText, written.key
	name := *table.position
	name.shape, name.text = shapeText, table.key
	v.fields = slices.Concat(v.fields[:at:at], v.fields[at+1:], []field{
		{key: "table", position: table.position, value: &name}, {key: "expect", position: table.position, value: table.value},
	})
	if written.key == changeMeasures[0] {
		return
	}
	v.fields = append(v.fields, field{key: "measure", position: written.position, value: &measure})
	if v.get("reference") == nil {
		start := *written.position
		start.shape, start.text = shapeText, startReference
		v.fields = append(v.fields, field{key: "reference", position: written.position, value: &start})
	}
}
