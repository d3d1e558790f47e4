package output

import (
	"bytes"
	"encoding/json"
)

// JSON encodes a value with minimal escapes, indented if indent is not empty, without trailing
// newline.
func JSON(value any, indent string) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
