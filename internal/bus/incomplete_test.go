package bus_test

import (
	"bytes"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestLostMessages loses the answer to one request for messages, or one message of it. The list has
// all of them.
func TestLostMessages(t *testing.T) {
	address, other := natstest.Listen(t)
	if _, err := other.Subscribe("lost.>", func(*nats.Msg) {}); err != nil { // or the server would not send them
		t.Fatal(err)
	}
	want := []string{"s.0", "s.1", "s.2"}
	for name, lose := range map[string]func(request []byte) error{
		"answer": func(request []byte) error {
			inbox := bytes.Fields(request)[1]
			copy(inbox, "lost."+strings.Repeat("x", len(inbox)-len("lost.")))
			return nil
		},
		"message": func(request []byte) error {
			_, err := other.RequestWithContext(t.Context(), string(bytes.Fields(request)[0]), []byte(`{"batch": 1, "no_wait": true}`))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dialer := &losingDialer{change: lose}
			b := open(t, jetStream(t, natstest.Dial(t, address, nats.SetCustomDialer(dialer))))
			for _, id := range want {
				if _, err := b.PublishResult(t.Context(), &busv1.Result{Rollout: &busv1.Rollout{Id: id}}); err != nil {
					t.Fatal(err)
				}
			}
			dialer.lose.Store(true)
			var got []string
			if err := b.ResultIDs(t.Context(), "s", func(id string, _ int32) { got = append(got, id) }); err != nil {
				t.Fatal(err)
			}
			if slices.Sort(got); !slices.Equal(slices.Compact(got), want) || dialer.lose.Load() {
				t.Errorf("got %v, and a loss %t, want %v and a loss", got, !dialer.lose.Load(), want)
			}
		})
	}
}

// losingDialer makes connections that change one request for messages, so that its answer or a part
// of it is lost.
type losingDialer struct {
	lose   atomic.Bool
	change func(request []byte) error
}

func (d *losingDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address) //nolint:noctx // the interface has no context
	return &losingConn{conn, d}, err
}

type losingConn struct {
	net.Conn
	dialer *losingDialer
}

// Write changes the request from its subject on.
func (c *losingConn) Write(p []byte) (int, error) {
	const request = "$JS.API.CONSUMER.MSG.NEXT."
	if at := bytes.Index(p, []byte(request)); at >= 0 && c.dialer.lose.CompareAndSwap(true, false) {
		p = bytes.Clone(p)
		line, _, _ := bytes.Cut(p[at:], []byte("\r\n"))
		if err := c.dialer.change(line); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}
