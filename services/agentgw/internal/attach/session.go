package attach

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

// maxStray is how many answers to nothing an agent may send on one stream before the stream ends. Some are natural: the turn's
// time was over.
const maxStray = 1000

// errGone says that the stream ended before the answer came.
var errGone = errors.New("the agent's stream has ended")

// session is one stream of one agent.
type session struct {
	stream agentv1.AttachService_AttachServer
	// out hands requests to the one goroutine that sends.
	out chan *agentv1.AttachResponse
	// gone is closed when the stream has ended.
	gone chan struct{}

	mu      sync.Mutex
	last    int64
	pending map[int64]chan *agentv1.AttachAnswer
}

func newSession(stream agentv1.AttachService_AttachServer) *session {
	return &session{
		stream: stream, out: make(chan *agentv1.AttachResponse), gone: make(chan struct{}),
		pending: make(map[int64]chan *agentv1.AttachAnswer),
	}
}

// serve passes requests and answers on until the stream ends. It returns what the agent is to hear.
func (s *session) serve() error {
	var sending sync.WaitGroup
	sending.Go(s.send)
	defer sending.Wait()
	defer close(s.gone)
	return s.receive()
}

// send ends with the session, or with a stream that is broken: receive hears of that too.
func (s *session) send() {
	for {
		select {
		case request := <-s.out:
			if s.stream.Send(request) != nil {
				return
			}
		case <-s.gone:
			return
		}
	}
}

// receive delivers answers to who waits for them.
func (s *session) receive() error {
	for stray := 0; stray <= maxStray; {
		message, err := s.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !s.deliver(message.GetAnswer()) {
			stray++
		}
	}
	return status.Errorf(codes.InvalidArgument, "more than %d answers to nothing that was asked", maxStray)
}

// deliver says whether anybody waited for the answer.
func (s *session) deliver(answer *agentv1.AttachAnswer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.pending[answer.GetRequestId()]
	if answer == nil || waiting == nil {
		return false
	}
	delete(s.pending, answer.GetRequestId())
	if answer.GetResponse() == nil && answer.GetError() == "" {
		answer.Response = &agentv1.ActResponse{} // an empty turn, as a dialled agent may answer
	}
	waiting <- answer
	return true
}

// ask sends a request and waits for its answer. Errors: errGone, or that of ctx.
func (s *session) ask(ctx context.Context, act *agentv1.ActRequest) (*agentv1.AttachAnswer, error) {
	answer := make(chan *agentv1.AttachAnswer, 1)
	s.mu.Lock()
	s.last++
	id := s.last
	s.pending[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pending, id)
	}()
	select {
	case s.out <- &agentv1.AttachResponse{RequestId: id, Request: act}:
	case <-s.gone:
		return nil, errGone
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case got := <-answer:
		return got, nil
	case <-s.gone:
		return nil, errGone
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
