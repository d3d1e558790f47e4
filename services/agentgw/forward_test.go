package agentgw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// replicaPair returns two replicas that receive each other's heartbeats. The first owns the key of
// an address.
func replicaPair(tb testing.TB, address string, change func(c *ratelimit.Config)) (owner, other *Server) {
	tb.Helper()
	b := natstest.Start(tb)
	return replicaPairOver(tb, address, b, b, change)
}

// replicaPairOver is replicaPair over two connections, that of the owner and that of the other one
// in either order.
func replicaPairOver(tb testing.TB, address string, one, two *bus.Bus, change func(c *ratelimit.Config)) (owner, other *Server) {
	tb.Helper()
	owner, other = newLimitedServer(tb, one, change), newLimitedServer(tb, two, change)
	key, ok := owner.models.Key(tb.Context(), turnRequest("s.0", address).GetPlayer().GetModel())
	if !ok {
		tb.Fatal("the model has no key")
	}
	for ctx, name := tb.Context(), key.Provider+"."+key.Fingerprint; ; {
		first, changed := owner.replicas.Owner(name)
		second, _ := other.replicas.Owner(name)
		_, heard := owner.replicas.Contact(other.replica)
		_, both := other.replicas.Contact(owner.replica)
		heard = heard && both
		if heard && first == second && first == owner.replica {
			return owner, other
		}
		if heard && first == second && first == other.replica {
			return other, owner
		}
		select {
		case <-changed:
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			tb.Fatal(ctx.Err())
		}
	}
}

// TestForwardToOwner asks a replica for turns under a key of another one, with a limit of one
// concurrent request. The provider never sees two, answers and errors come back, and a turn that is
// asked at both replicas is sent once.
func TestForwardToOwner(t *testing.T) {
	var asked, running, most atomic.Int64
	address := serveProvider(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		raw, _ := io.ReadAll(r.Body)
		if strings.Contains(string(raw), "broken") {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		<-time.After(5 * time.Millisecond)
		_, _ = io.WriteString(w, answer)
	})
	owner, other := replicaPair(t, address, func(c *ratelimit.Config) { c.Limits = map[string]ratelimit.Limit{"default": {Concurrency: 1}} })
	var group sync.WaitGroup
	const turns = 20
	for n := range turns {
		for _, server := range []*Server{owner, other} {
			group.Go(func() {
				got, err := server.Respond(t.Context(), turnRequest(fmt.Sprint("s.", n), address))
				if err != nil || len(got.GetMessages()) != 1 || got.GetMessages()[0].GetText() != "hello" {
					t.Errorf("turn %d: got %v, %v, want the answer", n, got, err)
				}
			})
		}
	}
	group.Wait()
	if asked.Load() != turns || most.Load() != 1 {
		t.Errorf("requests: got %d and %d at once, want %d and 1", asked.Load(), most.Load(), turns)
	}
	request := turnRequest("s.broken", address)
	request.View[0].Body = &worldv1.Message_Text{Text: "broken"}
	_, err := other.Respond(t.Context(), request)
	var failure *agentgwv1.Failure
	for _, detail := range status.Convert(err).Details() {
		failure, _ = detail.(*agentgwv1.Failure)
	}
	if status.Code(err) != codes.Aborted || failure.GetClass() != agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER {
		t.Errorf("a turn that fails at the owner: got %v with %v, want ABORTED and the provider's fault", err, failure)
	}
}

// TestOwnerLeaves stops the owner of a key during a forwarded turn. The other replica plays the
// turn itself.
func TestOwnerLeaves(t *testing.T) {
	arrived, leave := make(chan struct{}, 10), make(chan struct{})
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		select {
		case <-leave:
		case <-time.After(time.Minute):
		}
		_, _ = io.WriteString(w, answer)
	})
	owner, other := replicaPair(t, address, func(*ratelimit.Config) {})
	answered := make(chan error, 1)
	go func() {
		got, err := other.Respond(t.Context(), turnRequest("s.0", address))
		if err == nil && len(got.GetMessages()) != 1 {
			err = fmt.Errorf("got %v, want an answer", got)
		}
		answered <- err
	}()
	<-arrived
	replicas, _ := owner.replicas.(interface{ Leave() error })
	if err := replicas.Leave(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-arrived: // asked again, by the other replica
	case err := <-answered:
		t.Fatalf("the turn: got %v, want it to be asked again", err)
	}
	close(leave)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestOwnerDrains drains the owner of a key during a forwarded turn. The turn is asked once, and
// the next one at the other replica.
func TestOwnerDrains(t *testing.T) {
	arrived, leave := make(chan struct{}, 10), make(chan struct{})
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-leave
		_, _ = io.WriteString(w, answer)
	})
	owner, other := replicaPair(t, address, func(*ratelimit.Config) {})
	answered := make(chan error, 2)
	play := func(rollout string) {
		got, err := other.Respond(t.Context(), turnRequest(rollout, address))
		if err == nil && len(got.GetMessages()) != 1 {
			err = fmt.Errorf("got %v, want an answer", got)
		}
		answered <- err
	}
	go play("s.0")
	<-arrived
	replicas, _ := owner.replicas.(interface{ Drain() error })
	_, changed := other.replicas.Owner("")
	if err := replicas.Drain(); err != nil {
		t.Fatal(err)
	}
	<-changed
	go play("s.1")
	<-arrived
	close(leave)
	for range 2 {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	if n := len(arrived); n > 0 {
		t.Errorf("requests: got %d, want 2", n+2)
	}
}

// TestTooLargeTurnIsPlayedHere asks a replica for a turn that exceeds a message to the owner.
func TestTooLargeTurnIsPlayedHere(t *testing.T) {
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
	_, other := replicaPair(t, address, func(*ratelimit.Config) {})
	request := turnRequest("s.0", address)
	request.View[0].Body = &worldv1.Message_Text{Text: strings.Repeat("long ", 4<<20)}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if got, err := other.Respond(ctx, request); err != nil || len(got.GetMessages()) != 1 {
		t.Errorf("got %v, %v, want an answer", got, err)
	}
}

// TestNoOwner asks a replica that receives no heartbeats, not even its own. The turn waits until
// its deadline.
func TestNoOwner(t *testing.T) {
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
	server := newLimitedServer(t, natstest.Start(t), func(*ratelimit.Config) {})
	server.replicas = noHeartbeats{server.replicas}
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if got, err := server.Respond(ctx, turnRequest("s.0", address)); status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "no replica owns the model's key") {
		t.Errorf("got %v, %v, want DEADLINE_EXCEEDED with the reason", got, err)
	}
}

// noHeartbeats knows no owner.
type noHeartbeats struct{ Replicas }

func (noHeartbeats) Owner(string) (string, <-chan struct{}) { return "", nil }

// BenchmarkTurn plays turns of a model that answers at once, at the owner of its key and at another
// replica.
func BenchmarkTurn(b *testing.B) {
	address := serveProvider(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
	owner, other := replicaPair(b, address, func(*ratelimit.Config) {})
	for name, server := range map[string]*Server{"owner": owner, "forwarded": other} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := server.Respond(b.Context(), turnRequest("s."+uuid.NewString(), address)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// cutDialer dials NATS. While it is cut, its connection is closed and no other one comes about.
type cutDialer struct {
	mu   sync.Mutex
	conn net.Conn
	cut  bool
}

// Dial implements nats.CustomDialer.
func (d *cutDialer) Dial(network, address string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cut {
		return nil, errors.New("cut")
	}
	var err error
	d.conn, err = (&net.Dialer{}).DialContext(context.Background(), network, address)
	return d.conn, err
}

func (d *cutDialer) set(cut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = cut
	if cut {
		_ = d.conn.Close()
	}
}

// TestForwardedAnswerIsLost cuts the connection of the replica that forwarded a turn, until the
// owner has answered, or until it drains and still plays the turn. The replica gets the owner's
// answer, and the provider no second request.
func TestForwardedAnswerIsLost(t *testing.T) {
	for name, drains := range map[string]bool{"answered": false, "draining": true} {
		t.Run(name, func(t *testing.T) {
			arrived, let := make(chan struct{}, 10), make(chan struct{})
			address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
				arrived <- struct{}{}
				<-let
				_, _ = io.WriteString(w, answer)
			})
			owner, other, dialer := cuttablePair(t, address)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			answered := make(chan error, 1)
			go func() {
				got, err := other.Respond(ctx, turnRequest("s.0", address))
				if err == nil && len(got.GetMessages()) != 1 {
					err = fmt.Errorf("got %v, want an answer", got)
				}
				answered <- err
			}()
			<-arrived
			before, _ := other.replicas.Contact(owner.replica)
			dialer.set(true)
			if drains {
				replicas, _ := owner.replicas.(interface{ Drain() error })
				if err := replicas.Drain(); err != nil {
					t.Fatal(err)
				}
				dialer.set(false)
				for now := before; now == before; now, _ = other.replicas.Contact(owner.replica) {
					<-time.After(5 * time.Millisecond)
				}
			}
			close(let)
			for inFlight(owner) > 0 { // the owner records the answer and sends it
				<-time.After(5 * time.Millisecond)
			}
			dialer.set(false)
			if err := <-answered; err != nil {
				t.Error(err)
			}
			if n := len(arrived); n != 0 {
				t.Errorf("further requests to the provider: got %d, want none", n)
			}
		})
	}
}

// cuttablePair is replicaPair over two connections, with the dialer of the other one's.
func cuttablePair(t *testing.T, address string) (owner, other *Server, dialer *cutDialer) {
	t.Helper()
	url, _ := natstest.Listen(t)
	dialers := make(map[attach.Relay]*cutDialer)
	open := func() *bus.Bus {
		dialer := &cutDialer{}
		conn := natstest.Dial(t, url, nats.SetCustomDialer(dialer), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
		b := natstest.Open(t, conn, bus.DefaultConfig())
		dialers[b] = dialer
		return b
	}
	owner, other = replicaPairOver(t, address, open(), open(), func(*ratelimit.Config) {})
	return owner, other, dialers[other.relay]
}

// inFlight returns the number of turns that a replica plays.
func inFlight(s *Server) int {
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	return len(s.turns.inFlight)
}
