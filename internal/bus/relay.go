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
	// relayTimeout carries how long the asker waits, in milliseconds, for clocks may differ.
	relayTimeout = "Timeout-Ms"
	// relayTooLarge carries the length of an answer that NATS does not take.
	relayTooLarge = "Too-Large"
)

// ErrTooLarge: NATS does not take a message of this length.
var ErrTooLarge = errors.New("more than fits into one message of NATS")

// Ask sends a request to one of the processes that answer to a name, and waits for the answer until
// ctx is done. Nothing is stored: a request whose asker or answerer dies is lost. The name is one
// token of a subject. Errors: ErrNotFound (nobody answers to the name), ErrTooLarge.
func (b Relay) Ask(ctx context.Context, name string, request []byte) ([]byte, error) {
	message := nats.NewMsg(relaySubject + name)
	message.Data = request
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(message.Header))
	if deadline, ok := ctx.Deadline(); ok {
		message.Header.Set(relayTimeout, strconv.FormatInt(time.Until(deadline).Milliseconds(), 10))
	}
	answer, err := b.js.Conn().RequestMsgWithContext(ctx, message)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("ask %s: %w", name, ErrNotFound)
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return nil, fmt.Errorf("ask %s: %d bytes: %w", name, len(request), ErrTooLarge)
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", name, err)
	}
	if length := answer.Header.Get(relayTooLarge); length != "" {
		return nil, fmt.Errorf("ask %s: an answer of %s bytes: %w", name, length, ErrTooLarge)
	}
	return answer.Data, nil
}

// Answer answers the requests to a name, each in a goroutine of its own whose ctx ends at the
// asker's deadline, if it has one, until stop is called. atOnce bounds how many it answers at once;
// the connection buffers the next ones. Of several processes that answer to the name each request
// reaches one. stop ends the contexts of all and waits for the goroutines;
// requests that have arrived by then are still answered.
func (b Relay) Answer(
	name string, atOnce int, answer func(ctx context.Context, request []byte) []byte,
) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	free := make(chan struct{}, atOnce)
	subscription, err := b.js.Conn().QueueSubscribe(relaySubject+name, relayQueue, func(message *nats.Msg) {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			asked, done := askedFor(traced(ctx, message.Header), message)
			defer done()
			respond(message, answer(asked, message.Data))
		})
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("answer %s: %w", name, err)
	}
	closed := make(chan struct{})
	subscription.SetClosedHandler(func(string) { close(closed) })
	return func() error {
		cancel()
		err := subscription.Drain()
		if err == nil {
			<-closed // the last callback has returned: nothing starts any more
		}
		running.Wait()
		if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			return fmt.Errorf("answer %s: stop: %w", name, err)
		}
		return nil
	}, nil
}

// respond answers a request, if need be by saying that the answer is too long. An asker that hears
// nothing asks again.
func respond(message *nats.Msg, answer []byte) {
	if err := message.Respond(answer); !errors.Is(err, nats.ErrMaxPayload) {
		return
	}
	long := nats.NewMsg(message.Reply)
	long.Header.Set(relayTooLarge, strconv.Itoa(len(answer)))
	_ = message.RespondMsg(long)
}

// askedFor returns a context that ends at the deadline of a message's asker.
func askedFor(ctx context.Context, message *nats.Msg) (context.Context, context.CancelFunc) {
	wait, err := strconv.ParseInt(message.Header.Get(relayTimeout), 10, 64)
	if err != nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(wait)*time.Millisecond)
}
