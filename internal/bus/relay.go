package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"
)

const (
	relaySubject = "relay."
	relayQueue   = "relay"
	// relayTimeout is the header with the requester's timeout in milliseconds. A deadline would depend
	// on synchronized clocks.
	relayTimeout = "Timeout-Ms"
	// relayTooLarge is the header with the length of an answer that exceeds one NATS message.
	relayTooLarge = "Too-Large"
)

// ErrTooLarge means that the data exceeds one NATS message.
var ErrTooLarge = errors.New("more than fits into one message of NATS")

// Request sends a request to one of the processes that serve a name, and waits for the response
// until ctx is done. Nothing is stored: a request is lost if either side dies. The name ends a
// subject. Errors: ErrNotFound (no process serves the name), ErrTooLarge.
func (b Relay) Request(ctx context.Context, name string, request []byte) ([]byte, error) {
	message := nats.NewMsg(relaySubject + name)
	message.Data = request
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(message.Header))
	if deadline, ok := ctx.Deadline(); ok {
		message.Header.Set(relayTimeout, strconv.FormatInt(time.Until(deadline).Milliseconds(), 10))
	}
	response, err := b.js.Conn().RequestMsgWithContext(ctx, message)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("request %s: %w", name, ErrNotFound)
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return nil, fmt.Errorf("request %s: %d bytes: %w", name, len(request), ErrTooLarge)
	}
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", name, err)
	}
	if length := response.Header.Get(relayTooLarge); length != "" {
		return nil, fmt.Errorf("request %s: an answer of %s bytes: %w", name, length, ErrTooLarge)
	}
	return response.Data, nil
}

// Serve handles the requests to a name until stop is called. Each request runs in its own
// goroutine, with a context that ends at the requester's deadline. concurrency bounds the
// concurrent requests. The connection buffers further ones. Each request reaches one of the
// processes that serve the name.
//
// stop accepts no more requests, handles those that have arrived, and waits for their goroutines.
// When its ctx is done, it cancels their contexts. Further calls of stop wait for the first.
func (b Relay) Serve(
	name string, concurrency int, handle func(ctx context.Context, request []byte) []byte,
) (stop func(ctx context.Context) error, err error) {
	s := &relayServer{slots: make(chan struct{}, concurrency), handle: handle, closed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if s.subscription, err = b.js.Conn().QueueSubscribe(relaySubject+name, relayQueue, s.accept); err != nil {
		s.cancel()
		return nil, fmt.Errorf("serve %s: %w", name, err)
	}
	s.subscription.SetClosedHandler(func(string) { close(s.closed) })
	var once sync.Once
	return func(ctx context.Context) (err error) {
		once.Do(func() {
			if err = s.stop(ctx); err != nil {
				err = fmt.Errorf("serve %s: stop: %w", name, err)
			}
		})
		return err
	}, nil
}

// relayServer handles the requests to one name.
type relayServer struct {
	subscription *nats.Subscription
	slots        chan struct{}
	handle       func(ctx context.Context, request []byte) []byte
	closed       chan struct{}   // closed when the subscription has delivered its last request
	ctx          context.Context // of the handlers
	cancel       context.CancelFunc

	mu      sync.Mutex
	ended   bool // no further handler starts
	running sync.WaitGroup
}

// accept handles a request in a goroutine.
func (s *relayServer) accept(message *nats.Msg) {
	s.slots <- struct{}{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		<-s.slots
		return
	}
	s.running.Go(func() {
		defer func() { <-s.slots }()
		ctx, cancel := requesterContext(propagation.TraceContext{}.Extract(s.ctx, propagation.HeaderCarrier(message.Header)), message)
		defer cancel()
		respond(message, s.handle(ctx, message.Data))
	})
}

// stop ends the subscription and waits for the handlers.
func (s *relayServer) stop(ctx context.Context) error {
	defer s.cancel()
	defer context.AfterFunc(ctx, s.cancel)()
	err := s.subscription.Drain()
	if err == nil {
		select {
		case <-s.closed:
		case <-s.ctx.Done(): // NATS may be away, and draining waits for it
		}
	}
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.running.Wait()
	if errors.Is(err, nats.ErrConnectionClosed) {
		return nil
	}
	return err
}

// respond sends the response to a request. It sends only the length if the response is too long. A
// requester without a response repeats its request.
func respond(message *nats.Msg, response []byte) {
	if err := message.Respond(response); !errors.Is(err, nats.ErrMaxPayload) {
		return
	}
	tooLarge := nats.NewMsg(message.Reply)
	tooLarge.Header.Set(relayTooLarge, strconv.Itoa(len(response)))
	_ = message.RespondMsg(tooLarge)
}

// requesterContext returns a context that ends at the deadline of a message's requester.
func requesterContext(ctx context.Context, message *nats.Msg) (context.Context, context.CancelFunc) {
	timeout, err := strconv.ParseInt(message.Header.Get(relayTimeout), 10, 64)
	if err != nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(timeout)*time.Millisecond)
}
