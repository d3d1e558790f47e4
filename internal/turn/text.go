package turn

import "sync"

// ToolText caches the encodings of a list of tools. Encoding the tools takes as long as the rest of
// a request, and thousands of requests share them. The zero value is empty. Nil caches nothing.
// Safe for concurrent use.
type ToolText struct {
	mu      sync.Mutex
	formats map[string][]byte
}

// Encode returns encode's result for a format, cached after the first success. Callers must not
// change it. The error is that of encode.
func (t *ToolText) Encode(format string, encode func() ([]byte, error)) ([]byte, error) {
	if t == nil {
		return encode()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if cached, ok := t.formats[format]; ok {
		return cached, nil
	}
	text, err := encode()
	if err != nil {
		return nil, err
	}
	if t.formats == nil {
		t.formats = make(map[string][]byte)
	}
	t.formats[format] = text
	return text, nil
}
