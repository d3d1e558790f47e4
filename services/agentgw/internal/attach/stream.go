package attach

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	// maxUnsolicited is how many more messages an agent may send on one stream than it was asked for.
	maxUnsolicited = 1000
	// frameBytes is the overhead of a message around the request.
	frameBytes = 64
)

// errStreamEnded: the stream ended before the answer arrived.
var errStreamEnded = errors.New("the agent's stream has ended")

// agentStream is one stream of one agent.
type agentStream struct {
	stream agentv1.AttachService_AttachServer
	// instance is the process at its other end.
	instance *agentgwv1.Instance
	// refused passes the reason why the stream ends, at most one.
	refused chan error
	// out passes requests to the one goroutine that sends.
	out chan outgoing
	// closed is closed when the stream has ended and the registry has removed it.
	closed chan struct{}

	mu      sync.Mutex
	last    int64
	pending map[int64]chan *agentv1.AttachAnswer
}

// outgoing is a request and the deadline of its answer. The zero deadline is none.
type outgoing struct {
	response *agentv1.AttachResponse
	deadline time.Time
}

func newAgentStream(stream agentv1.AttachService_AttachServer, instance *agentgwv1.Instance) *agentStream {
	return &agentStream{
		stream: stream, instance: instance, refused: make(chan error, 1), out: make(chan outgoing), closed: make(chan struct{}),
		pending: make(map[int64]chan *agentv1.AttachAnswer),
	}
}

// send sends requests until the agent leaves or the stream breaks. receive notices a broken stream
// too.
func (s *agentStream) send() {
	for {
		select {
		case next := <-s.out:
			if !next.deadline.IsZero() {
				next.response.TimeoutMs = max(1, time.Until(next.deadline).Milliseconds())
			}
			if s.stream.Send(next.response) != nil {
				return
			}
		case <-s.closed:
			return
		}
	}
}

// refuse ends the stream with a reason. The first one counts.
func (s *agentStream) refuse(reason error) {
	select {
	case s.refused <- reason:
	default:
	}
}

// receive delivers answers to their waiters until the stream ends. It returns the status for the
// agent. Late answers are normal, but an agent that sends maxUnsolicited more than it was asked for
// loses its stream.
func (s *agentStream) receive() error {
	for received := int64(1); ; received++ {
		message, err := s.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if received > s.deliver(message.GetAnswer())+maxUnsolicited {
			return status.Errorf(codes.InvalidArgument, "%d answers more than were asked for", maxUnsolicited)
		}
	}
}

// deliver passes an answer to its waiter, if there is one, and returns the number of requests so
// far.
func (s *agentStream) deliver(answer *agentv1.AttachAnswer) (requests int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.pending[answer.GetRequestId()]
	if answer == nil || waiting == nil {
		return s.last
	}
	delete(s.pending, answer.GetRequestId())
	switch {
	case codeOf(answer) != codes.OK:
		answer.Error = cmp.Or(answer.GetError(), "it gives no reason")
	case answer.GetResponse() == nil:
		answer.Response = &agentv1.ActResponse{} // an empty turn, as a dialled agent may answer
	}
	waiting <- answer
	return s.last
}

// request sends a request and waits for its answer. Errors: errStreamEnded, or that of ctx.
func (s *agentStream) request(ctx context.Context, act *agentv1.ActRequest) (*agentv1.AttachAnswer, error) {
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
	deadline, _ := ctx.Deadline()
	select {
	case s.out <- outgoing{&agentv1.AttachResponse{RequestId: id, Request: act}, deadline}:
	case <-s.closed:
		return nil, errStreamEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case got := <-answer:
		return got, nil
	case <-s.closed:
		return nil, errStreamEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
