package bench

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/descriptor"
)

// streams is how many requests share a connection.
const streams = 250

// shareConnections serves HTTP/2 without TLS.
func (m *slowModel) shareConnections() {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	m.address = strings.Replace(m.address, "http://", "h2c://", 1)
	m.server = &http.Server{
		Handler: http.HandlerFunc(m.answer), Protocols: protocols, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streams}, ReadHeaderTimeout: time.Minute,
	}
	m.group.Go(func() { m.fail(m.server.Serve(m.listener)) })
}

// answer answers one request.
func (m *slowModel) answer(w http.ResponseWriter, r *http.Request) {
	message, err := m.next(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return // the gateway sees why
	}
	m.requests.Add(1)
	timer := time.NewTimer(m.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.closed:
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, bodyForm, message)
}

// fail notes why no more connections are accepted, and ends those that are open: whoever waits is
// to hear of it.
func (m *slowModel) fail(err error) {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return
	}
	err, _ = descriptor.WithLimit(err)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = fmt.Errorf("the slow model: %w", err)
	_ = m.listener.Close()
	for conn := range m.open {
		_ = conn.Close()
	}
}

// failure returns why no more connections are accepted, nil if they are.
func (m *slowModel) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}
