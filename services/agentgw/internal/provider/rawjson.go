package provider

import "slices"

// RawJSON is valid JSON.
type RawJSON []byte

// WithTools appends a tools field to the body of a request, which must be an object with at least
// one field. Nil tools leave the body as it is. encoding/json would scan all tools again.
func WithTools(body []byte, tools RawJSON) []byte {
	if tools == nil {
		return body
	}
	const field = `,"tools":`
	body = slices.Grow(body, len(field)+len(tools))
	return append(append(append(body[:len(body)-1], field...), tools...), '}')
}

// MarshalJSON implements json.Marshaler.
func (w RawJSON) MarshalJSON() ([]byte, error) { return w, nil }

// EncodeTools returns encode's result for the tools, or the cached result of the same format.
// Callers must not change it. The error is that of encode.
func (q *Query) EncodeTools(format string, encode func() ([]byte, error)) (RawJSON, error) {
	return q.ToolText.Encode(format, encode)
}
