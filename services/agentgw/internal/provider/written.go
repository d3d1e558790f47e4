package provider

// Written is sound JSON. The encoders of the SDKs take it as it is, where some of them read a
// json.RawMessage once more.
type Written []byte

// MarshalJSON implements json.Marshaler.
func (w Written) MarshalJSON() ([]byte, error) { return w, nil }

// WriteTools returns what write makes of the tools, or what it made of them in the same format for
// an earlier query. It is not to be changed. The error is that of write.
func (q *Query) WriteTools(format string, write func() ([]byte, error)) (Written, error) {
	return q.ToolText.In(format, write)
}
