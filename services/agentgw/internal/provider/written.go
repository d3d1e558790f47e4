package provider

// Written is sound JSON.
type Written []byte

// WithTools returns the body of a request, an object with a field at least, with its tools, unless
// they are nil, as the last one. encoding/json would read all of them once more.
func WithTools(body []byte, tools Written) []byte {
	if tools == nil {
		return body
	}
	return append(append(append(body[:len(body)-1], `,"tools":`...), tools...), '}')
}

// MarshalJSON implements json.Marshaler.
func (w Written) MarshalJSON() ([]byte, error) { return w, nil }

// WriteTools returns what write makes of the tools, or what it made of them in the same format for
// an earlier query. It is not to be changed. The error is that of write.
func (q *Query) WriteTools(format string, write func() ([]byte, error)) (Written, error) {
	return q.ToolText.In(format, write)
}
