package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxRequest bounds the body of a request.
	maxRequest = 16 << 20
	lengthName = "content-length:"

	lastWords = `{"role": "assistant", "content": "That is all."}`
	callForm  = `{"role": "assistant", "content": null, "tool_calls": [{"id": "call_%d", "type": "function", "function": {"name": %q, "arguments": "{}"}}]}`
	bodyForm  = `{"id": "x", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": %s}], ` +
		`"usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}`
)

// firstTool finds the name of a request's first tool.
var firstTool = regexp.MustCompile(`"tools":\[\{"type":"function","function":\{"name":"([^"]+)"`)

// slowModel answers chat completions of OpenAI over HTTP/1.1 or HTTP/2, each after a delay. Of
// HTTP/1.1 and JSON it knows no more than the gateway sends, because thousands of its connections
// live in the process that is measured, and what it takes counts.
type slowModel struct {
	address  string
	delay    time.Duration
	calls    int
	requests atomic.Int64
	calling  atomic.Int64 // requests that were answered with a call

	listener net.Listener
	server   *http.Server // nil over HTTP/1.1
	bodies   sync.Pool    // of *bytes.Buffer
	group    sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]bool // nil after close
	failed   error             // why no more connections are accepted
	closed   chan struct{}
}

func serveModel(ctx context.Context, delay time.Duration, calls int, http2 bool) (*slowModel, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the slow model: %w", err)
	}
	m := &slowModel{
		address: "http://" + listener.Addr().String() + "/v1", delay: delay, calls: calls,
		listener: listener, bodies: sync.Pool{New: func() any { return new(bytes.Buffer) }}, open: make(map[net.Conn]bool), closed: make(chan struct{}),
	}
	if http2 {
		m.shareConnections()
		return m, nil
	}
	m.group.Go(m.accept)
	return m, nil
}

// accept serves connections until the listener is closed.
func (m *slowModel) accept() {
	for {
		conn, err := m.listener.Accept()
		if err != nil {
			m.fail(err)
			return
		}
		if m.hold(conn, true) {
			m.group.Go(func() {
				_ = m.serve(conn) // the gateway sees why
				m.hold(conn, false)
				_ = conn.Close()
			})
		}
	}
}

// hold notes that a connection is open or no longer is, and says whether the model is.
func (m *slowModel) hold(conn net.Conn, open bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.open == nil:
		_ = conn.Close()
	case open:
		m.open[conn] = true
	default:
		delete(m.open, conn)
	}
	return m.open != nil
}

// close ends all connections and waits for them.
func (m *slowModel) close() error {
	close(m.closed)
	if m.server != nil {
		err := m.server.Close()
		m.group.Wait()
		return err
	}
	err := m.listener.Close()
	m.mu.Lock()
	for conn := range m.open {
		err = errors.Join(err, conn.Close())
	}
	m.open = nil
	m.mu.Unlock()
	m.group.Wait()
	return err
}

// serve answers one request after the other.
func (m *slowModel) serve(conn net.Conn) error {
	reader, timer := bufio.NewReader(conn), time.NewTimer(m.delay)
	defer timer.Stop()
	for {
		length, err := readHead(reader)
		if err != nil {
			return err
		}
		message, err := m.next(io.LimitReader(reader, length))
		if err != nil {
			return err
		}
		m.requests.Add(1)
		timer.Reset(m.delay)
		select {
		case <-timer.C:
		case <-m.closed:
			return net.ErrClosed
		}
		body := fmt.Sprintf(bodyForm, message)
		_, err = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if err != nil {
			return err
		}
	}
}

// readHead reads a request up to its body, and returns the length of that.
func readHead(reader *bufio.Reader) (length int64, err error) {
	for first := true; ; first = false {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		text := strings.TrimSpace(string(line))
		switch {
		case first && !strings.Contains(text, "/chat/completions "):
			return 0, fmt.Errorf("a request %q, expected chat completions", text)
		case text == "":
			return length, nil
		case len(text) > len(lengthName) && strings.EqualFold(text[:len(lengthName)], lengthName):
			length, err = strconv.ParseInt(strings.TrimSpace(text[len(lengthName):]), 10, 64)
			if err != nil || length > maxRequest {
				return 0, fmt.Errorf("a request of %q bytes", text)
			}
		}
	}
}

// next reads a request's body and returns the model's next message: a call of the first tool until
// it has made enough. It looks for texts instead of reading JSON; Model checks that it has found
// them.
func (m *slowModel) next(request io.Reader) (message string, err error) {
	body := m.bodies.Get().(*bytes.Buffer) //nolint:errcheck,forcetypeassert // of nothing else
	defer m.bodies.Put(body)
	body.Reset()
	if _, err := body.ReadFrom(request); err != nil {
		return "", err
	}
	turn, name := bytes.Count(body.Bytes(), []byte(`"role":"assistant"`)), firstTool.FindSubmatch(body.Bytes())
	if turn >= m.calls || name == nil {
		return lastWords, nil
	}
	m.calling.Add(1)
	return fmt.Sprintf(callForm, turn, name[1]), nil
}
