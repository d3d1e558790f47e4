package provider

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
)

// RawJSON is valid JSON.
type RawJSON []byte

// maxReused bounds the size of the buffers that Marshal reuses.
const maxReused = 1 << 20

var buffers sync.Pool // of *bytes.Buffer

// Marshal returns the JSON of a value without HTML escapes. It fails if raw JSON in it is invalid.
func Marshal(value any) ([]byte, error) { return MarshalWithTools(value, nil) }

// MarshalWithTools returns the JSON of an object, which must have at least one field, without HTML
// escapes and with a last field for the tools. Nil tools add no field. encoding/json would scan all
// tools again.
func MarshalWithTools(value any, tools RawJSON) ([]byte, error) {
	buffer, ok := buffers.Get().(*bytes.Buffer)
	if !ok {
		buffer = new(bytes.Buffer)
	}
	defer func() {
		if buffer.Cap() <= maxReused {
			buffer.Reset()
			buffers.Put(buffer)
		}
	}()
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	text := bytes.TrimSpace(buffer.Bytes())
	if tools == nil {
		return bytes.Clone(text), nil
	}
	return slices.Concat(text[:len(text)-1], []byte(`,"tools":`), []byte(tools), []byte("}")), nil
}

// MarshalJSON implements json.Marshaler.
func (w RawJSON) MarshalJSON() ([]byte, error) { return w, nil }

// EncodeTools returns encode's result for the tools, or the cached result of the same format.
// Callers must not change it. The error is that of encode.
func (q *Query) EncodeTools(format string, encode func() ([]byte, error)) (RawJSON, error) {
	return q.ToolText.Encode(format, encode)
}

// IsEmpty reports whether a field is absent, null or an empty text, list or object.
func IsEmpty(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}":
		return true
	default:
		return false
	}
}
