package agentgw

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// runGateway runs a gateway over TCP until stop is called, which returns a channel of its error.
func runGateway(t *testing.T, natsURL string) (client agentgwv1.AgentGatewayServiceClient, stop func() <-chan error) {
	t.Helper()
	cfg := rpc.DefaultConfig()
	cfg.Service, cfg.NATSURL, cfg.AgentGateways, cfg.Grace = rpc.AgentGateway, natsURL, []string{porttest.Address(t)}, time.Minute
	node, err := rpc.Connect(t.Context(), cfg, rpc.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended, result := make(chan struct{}), make(chan error, 1)
	gateway := DefaultConfig()
	gateway.Getenv = func(string) string { return "" }
	gateway.ModelBaseURLs = []string{"*"}
	go func() {
		defer close(ended)
		result <- Run(ctx, gateway, node.Network(), node.Bus().AgentGateway())
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	return agentgwv1.NewAgentGatewayServiceClient(node.Conn(rpc.AgentGateway)), func() <-chan error { cancel(); return result }
}

// awaitTwo waits until two gateways know each other.
func awaitTwo(t *testing.T, heartbeats *nats.Subscription) {
	t.Helper()
	for heard := make(map[string]int); len(heard) < 2 || slices.Min(slices.Collect(maps.Values(heard))) < 2; {
		heartbeat, err := heartbeats.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		heard[string(heartbeat.Data)]++
	}
}

// TestForwardedTurnsAreDrained stops a gateway that has no callers while it plays turns of another
// gateway under several keys. No turn is asked for twice.
func TestForwardedTurnsAreDrained(t *testing.T) {
	const keys = 8 // of which each gateway owns about half
	arrived, leave := make(chan string, 3*keys), make(chan struct{})
	address := serveProvider(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.URL.Path
		<-leave
		_, _ = io.WriteString(w, answer)
	})
	url, conn := natstest.Listen(t)
	heartbeats, err := conn.SubscribeSync("replica.agentgw.*")
	if err != nil {
		t.Fatal(err)
	}
	client, _ := runGateway(t, url)
	_, stop := runGateway(t, url)
	awaitTwo(t, heartbeats)
	answered := make(chan error, keys)
	for n := range keys {
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
			defer cancel()
			got, err := client.Respond(ctx, turnRequest(fmt.Sprint("s.", n), fmt.Sprint(address, "/", n)))
			if err == nil && len(got.GetMessages()) != 1 {
				err = fmt.Errorf("got %v, want an answer", got)
			}
			answered <- err
		}()
	}
	for range keys {
		select {
		case <-arrived:
		case err := <-answered:
			t.Fatalf("Respond: got %v, want it to wait for the model", err)
		}
	}
	release := sync.OnceFunc(func() { close(leave) })
	defer release()
	stopped := stop()
	select { // a turn that is cut off is asked for again at once
	case path := <-arrived:
		t.Errorf("%s is asked for twice", path)
	case err := <-stopped:
		t.Fatalf("Run with turns in flight: got %v, want it to wait", err)
	case <-time.After(500 * time.Millisecond):
	}
	release()
	for range keys {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	if err := <-stopped; err != nil {
		t.Errorf("Run: got %v, want nil", err)
	}
	if n := len(arrived); n > 0 {
		t.Errorf("requests: got %d, want %d", keys+n, keys)
	}
}
