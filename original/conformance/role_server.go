package conformance

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// maxRoleBody is the largest size of a recorded request body in bytes.
const maxRoleBody = 16 << 20

// roleServer is an HTTP server in place of a provider. It records requests and sends the given
// answers.
type roleServer struct {
	server  *http.Server
	address string
	served  chan error

	mu       sync.Mutex
	answers  []roleAnswer
	requests []*roleRequest
}

// startRoleServer returns a running server. The caller closes it.
func startRoleServer() (*roleServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("play a provider: %w", err)
	}
	s := &roleServer{address: "http://" + listener.Addr().String(), served: make(chan error, 1)}
	s.server = &http.Server{Handler: http.HandlerFunc(s.handle), ReadHeaderTimeout: callTimeout}
	go func() { s.served <- s.server.Serve(listener) }()
	return s, nil
}

// close stops the server immediately.
func (s *roleServer) close() error {
	err := s.server.Close()
	if serveErr := <-s.served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}

// setAnswers sets the next answers and clears the recorded requests. The server repeats the last
// answer.
func (s *roleServer) setAnswers(answers []roleAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers, s.requests = answers, nil
}

// received returns the requests since setAnswers.
func (s *roleServer) received() []*roleRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *roleServer) handle(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRoleBody))
	if err != nil {
		return // the client disconnected
	}
	request := &roleRequest{Method: r.Method, Path: r.URL.RequestURI(), Body: body, Headers: make(map[string]string)}
	for name := range r.Header {
		request.Headers[strings.ToLower(name)] = r.Header.Get(name)
	}
	answer := s.record(request)
	switch answer.NetworkError {
	case "":
	case "timeout":
		<-r.Context().Done()
		return
	default:
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	answer.write(w)
}

// record stores a request and returns its answer.
func (s *roleServer) record(request *roleRequest) roleAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := s.answers[min(len(s.requests), len(s.answers)-1)]
	s.requests = append(s.requests, request)
	return answer
}

func (a *roleAnswer) write(w http.ResponseWriter) {
	raw, contentType := a.Body, "application/json"
	switch {
	case a.Text != nil:
		raw, contentType = []byte(*a.Text), "text/plain"
	case len(raw) == 0:
		raw = []byte(`{"error": {"message": "no details"}}`)
	}
	w.Header().Set("Content-Type", contentType)
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	_, _ = w.Write(unquoteNumbers(raw)) // the client reports a failed connection
}
