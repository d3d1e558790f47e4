package scenario

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// expandChange expands a constraint with a measure as a key: update: {contact: row} becomes table,
// measure, expect and, by default, start as the reference.
func (r *reader) expandChange(v *document.Value) {
	at := slices.IndexFunc(v.Fields, func(f document.Field) bool { return slices.Contains(form.ChangeMeasures(), f.Key) })
	if at < 0 {
		return
	}
	written := v.Fields[at]
	for _, f := range v.Fields {
		if f.Key != written.Key && slices.Contains(append([]string{"call", "says", "table", "measure", "expect"}, form.ChangeMeasures()...), f.Key) {
			r.Fail(f.Position, "cannot stand beside %s; write two constraints", written.Key)
			return
		}
	}
	before := len(r.Errors)
	if r.object(written.Value, form.WantedTable(r.schema)) == nil || len(written.Value.Fields) != 1 {
		return
	}
	table, measure := written.Value.Fields[0], *written.Position
	measure.Shape, measure.Text = document.ShapeText, written.Key
	name := *table.Position
	name.Shape, name.Text = document.ShapeText, table.Key
	if len(r.Errors) > before { // it is no table
		name.Shape, table.Value.Shape = document.ShapeBroken, document.ShapeBroken
	}
	v.Fields = slices.Concat(v.Fields[:at:at], v.Fields[at+1:], []document.Field{
		{Key: "table", Position: table.Position, Value: &name}, {Key: "expect", Position: table.Position, Value: table.Value},
	})
	if written.Key == form.ChangeMeasures()[0] {
		return
	}
	v.Fields = append(v.Fields, document.Field{Key: "measure", Position: written.Position, Value: &measure})
	if v.Get("reference") == nil {
		start := *written.Position
		start.Shape, start.Text = document.ShapeText, startReference
		v.Fields = append(v.Fields, document.Field{Key: "reference", Position: written.Position, Value: &start})
	}
}
