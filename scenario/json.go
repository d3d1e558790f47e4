package scenario

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// jsonText formats a value as a model writes JSON: fields in file order, a space after commas and
// colons.
func jsonText(v *value) string {
	var out strings.Builder
	writeJSON(&out, v)
	return out.String()
}

func writeJSON(out *strings.Builder, v *value) {
	switch v.shape {
	case shapeNull, shapeBroken:
		out.WriteString("null")
	case shapeBool:
		if v.boolean {
			out.WriteString("true")
		} else {
			out.WriteString("false")
		}
	case shapeNumber:
		out.WriteString(v.text)
	case shapeText:
		out.WriteString(jsonString(v.text))
	case shapeList:
		out.WriteByte('[')
		for i, item := range v.list {
			if i > 0 {
				out.WriteString(", ")
			}
			writeJSON(out, item)
		}
		out.WriteByte(']')
	case shapeMapping:
		out.WriteByte('{')
		for i, f := range v.fields {
			if i > 0 {
				out.WriteString(", ")
			}
			out.WriteString(jsonString(f.key) + ": ")
			writeJSON(out, f.value)
		}
		out.WriteByte('}')
	}
}

// jsonString quotes a text with the minimum of escapes.
func jsonString(text string) string { return python.JSON(python.Str(text)) }
