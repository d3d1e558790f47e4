package turn

import "sync"

// ToolText keeps how a list of tools is written for models: that takes as long as all the rest of a
// request, and thousands of requests have the same tools. The zero value is empty, and nil keeps
// nothing. It is safe for concurrent use.
type ToolText struct {
	mu      sync.Mutex
	formats map[string][]byte
}

// In returns what write makes of the tools, and for the same format the same from then on. It is
// not to be changed. The error is that of write.
func (t *ToolText) In(format string, write func() ([]byte, error)) ([]byte, error) {
	if t == nil {
		return write()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if kept, ok := t.formats[format]; ok {
		return kept, nil
	}
	text, err := write()
	if err != nil {
		return nil, err
	}
	if t.formats == nil {
		t.formats = make(map[string][]byte)
	}
	t.formats[format] = text
	return text, nil
}
