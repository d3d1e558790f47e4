package main

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"
)

const (
	// maxRequest is the maximum size of a request body in bytes.
	maxRequest = 16 << 20

	lastWords = `{"role": "assistant", "content": "That is all."}`
	callForm  = `{"role": "assistant", "content": null, "tool_calls": [{"id": "call_%d", "type": "function", "function": {"name": %q, "arguments": "{}"}}]}`
	bodyForm  = `{"id": "x", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": %s}], ` +
		`"usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}`
)

// firstTool finds the name of a request's first tool.
var firstTool = regexp.MustCompile(`"tools":\[\{"type":"function","function":\{"name":"([^"]+)"`)

// model searches texts in the gateway's requests instead of decoding JSON, because it shares the
// processors with the measured program.
type model struct {
	delay  time.Duration
	calls  int
	bodies sync.Pool // of *bytes.Buffer
}

// ServeHTTP answers one request.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	message, err := m.next(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	timer := time.NewTimer(m.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, bodyForm, message)
}

// next reads a request and returns the model's next message.
func (m *model) next(r *http.Request) (message string, err error) {
	body, ok := m.bodies.Get().(*bytes.Buffer)
	if !ok {
		body = new(bytes.Buffer)
	}
	defer m.bodies.Put(body)
	body.Reset()
	if _, err := body.ReadFrom(http.MaxBytesReader(nil, r.Body, maxRequest)); err != nil {
		return "", err
	}
	turn := bytes.Count(body.Bytes(), []byte(`"role":"assistant"`))
	if turn >= m.calls {
		return lastWords, nil
	}
	name := firstTool.FindSubmatch(body.Bytes())
	if name == nil {
		return "", fmt.Errorf("a request to %s without a tool to call, expected chat completions with tools", r.URL.Path)
	}
	return fmt.Sprintf(callForm, turn, name[1]), nil
}
