// Package record proxies connections between the processes of a test and counts texts in them: in
// gRPC requests, responses, metadata and errors, and in plain TCP streams.
package record

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"sync"
)

// Recorder counts the occurrences of texts on named wires: verbatim, in hexadecimal and in base64.
// It stores no data. It is safe for concurrent use. Close it last.
type Recorder struct {
	patterns map[string][][]byte
	longest  int
	// appended is added to each message of gRPC.
	appended []byte

	mu     sync.Mutex
	hits   map[string]map[string]int // text → wire → number
	bytes  map[string]int64
	closed []func() error
}

// New returns a recorder of texts.
func New(texts ...string) *Recorder {
	r := &Recorder{patterns: make(map[string][][]byte), hits: make(map[string]map[string]int), bytes: make(map[string]int64)}
	for _, text := range texts {
		r.patterns[text] = patterns(text)
		r.hits[text] = make(map[string]int)
		for _, pattern := range r.patterns[text] {
			r.longest = max(r.longest, len(pattern))
		}
	}
	return r
}

// Append makes later proxies of gRPC append data to each message, such as a field that its receiver
// does not know.
func (r *Recorder) Append(data []byte) { r.appended = data }

// patterns returns the encodings of a text.
func patterns(text string) [][]byte {
	forms := [][]byte{[]byte(text), []byte(hex.EncodeToString([]byte(text))), bytes.ToUpper([]byte(hex.EncodeToString([]byte(text))))}
	for shift := range 3 {
		// Three bytes are four digits. Digits that also depend on the neighbours are omitted.
		padded := append(bytes.Repeat([]byte{0}, shift), text...)
		whole := len(padded) / 3 * 3
		first := 0
		if shift > 0 {
			first = 4
		}
		digits := base64.RawStdEncoding.EncodeToString(padded[:whole])[first:]
		forms = append(forms, []byte(digits))
		if url := base64.RawURLEncoding.EncodeToString(padded[:whole])[first:]; url != digits {
			forms = append(forms, []byte(url))
		}
	}
	return forms
}

// Add counts occurrences in one piece of data.
func (r *Recorder) Add(wire string, data []byte) { r.count(wire, data, 0, len(data)) }

// count counts the occurrences that end after the first overlap bytes. fresh is the number of new
// bytes.
func (r *Recorder) count(wire string, data []byte, overlap, fresh int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes[wire] += int64(fresh)
	for text, forms := range r.patterns {
		for _, form := range forms {
			if n := bytes.Count(data, form) - bytes.Count(data[:overlap], form); n > 0 {
				r.hits[text][wire] += n
			}
		}
	}
}

// Hits returns the number of occurrences by wire, without wires that have none.
func (r *Recorder) Hits(text string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.hits[text])
}

// Bytes returns the number of bytes by wire.
func (r *Recorder) Bytes() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.bytes)
}

// stream is one direction of a connection. A text may span several writes.
type stream struct {
	recorder *Recorder
	wire     string
	tail     []byte
}

// Write implements io.Writer.
func (s *stream) Write(data []byte) (int, error) {
	overlap := len(s.tail)
	s.tail = append(s.tail, data...)
	s.recorder.count(s.wire, s.tail, overlap, len(data))
	s.tail = append([]byte(nil), s.tail[max(0, len(s.tail)-s.recorder.longest+1):]...)
	return len(data), nil
}

// onClose registers a function for Close.
func (r *Recorder) onClose(closing func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = append(r.closed, closing)
}

// Close closes all proxies and waits for them.
func (r *Recorder) Close() error {
	r.mu.Lock()
	closing := r.closed
	r.closed = nil
	r.mu.Unlock()
	var first error
	for _, done := range closing {
		if err := done(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
