package document

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// JSON formats a value as a model writes JSON: fields in file order, a space after commas and
// colons.
func JSON(v *Value) string {
	var out strings.Builder
	writeJSON(&out, v)
	return out.String()
}

func writeJSON(out *strings.Builder, v *Value) {
	switch v.Shape {
	case ShapeNull, ShapeBroken:
		out.WriteString("null")
	case ShapeBool:
		if v.Boolean {
			out.WriteString("true")
		} else {
			out.WriteString("false")
		}
	case ShapeNumber:
		out.WriteString(v.Text)
	case ShapeText:
		out.WriteString(Quote(v.Text))
	case ShapeList:
		out.WriteByte('[')
		for i, item := range v.List {
			if i > 0 {
				out.WriteString(", ")
			}
			writeJSON(out, item)
		}
		out.WriteByte(']')
	case ShapeMapping:
		out.WriteByte('{')
		for i, f := range v.Fields {
			if i > 0 {
				out.WriteString(", ")
			}
			out.WriteString(Quote(f.Key) + ": ")
			writeJSON(out, f.Value)
		}
		out.WriteByte('}')
	}
}

// Quote quotes a text with the minimum of escapes.
func Quote(text string) string { return python.JSON(python.Str(text)) }
