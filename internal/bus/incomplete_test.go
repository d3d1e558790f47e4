package bus_test

import (
	"bytes"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestLostMessages loses the answer to one request for messages. The list has all of them.
func TestLostMessages(t *testing.T) {
	address, other := natstest.Listen(t)
	if _, err := other.Subscribe("lost.>", func(*nats.Msg) {}); err != nil { // or the server would not send them
		t.Fatal(err)
	}
	dialer := &losingDialer{}
	conn, err := nats.Connect(address, nats.SetCustomDialer(dialer))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Open(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"s.0", "s.1", "s.2"}
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
		t.Errorf("got %v, and a lost answer %t, want %v and a lost answer", got, !dialer.lose.Load(), want)
	}
}

// losingDialer makes connections that can lose the answer to one request for messages.
type losingDialer struct{ lose atomic.Bool }

func (d *losingDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address) //nolint:noctx // the interface has no context
	return &losingConn{conn, &d.lose}, err
}

type losingConn struct {
	net.Conn
	lose *atomic.Bool
}

// Write replaces the address of the answer.
func (c *losingConn) Write(p []byte) (int, error) {
	const request = "$JS.API.CONSUMER.MSG.NEXT."
	if at := bytes.Index(p, []byte(request)); at >= 0 && c.lose.CompareAndSwap(true, false) {
		p = bytes.Clone(p)
		line, _, _ := bytes.Cut(p[at:], []byte("\r\n"))
		inbox := bytes.Fields(line)[1]
		copy(inbox, "lost."+strings.Repeat("x", len(inbox)-len("lost.")))
	}
	return c.Conn.Write(p)
}
