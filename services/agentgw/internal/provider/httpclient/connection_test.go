package httpclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/filelimit"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// TestConnections sends concurrent requests and answers none before all that can arrive have
// arrived: as many as connections over HTTP/1.1, all over HTTP/2 with and without TLS.
func TestConnections(t *testing.T) {
	const requests, bound = 20, 3
	for _, test := range []struct {
		name       string
		tls, plain bool
		together   int32
	}{{"HTTP/1.1", false, false, bound}, {"HTTP/2 with TLS", true, false, requests}, {"HTTP/2 without TLS", false, true, requests}} {
		t.Run(test.name, func(t *testing.T) {
			var conns, came atomic.Int32
			all := make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if came.Add(1) == test.together {
					close(all)
				}
				<-all
				_, _ = w.Write([]byte("{}"))
			}))
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					conns.Add(1)
				}
			}
			server.Config.Protocols = new(http.Protocols)
			server.Config.Protocols.SetHTTP1(!test.plain)
			server.Config.Protocols.SetHTTP2(test.tls)
			server.Config.Protocols.SetUnencryptedHTTP2(test.plain)
			server.EnableHTTP2 = test.tls
			if test.tls {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			client := NewClient(1<<10, bound)
			defer client.Close()
			to := provider.Endpoint{BaseURL: server.URL}
			switch {
			case test.plain:
				to.BaseURL = strings.Replace(server.URL, "http://", "h2c://", 1)
			case test.tls:
				trusting := server.Client().Transport.(*http.Transport) // of httptest
				client.http.TLSClientConfig = trusting.TLSClientConfig.Clone()
				client.http.TLSClientConfig.NextProtos = nil
			}
			var group sync.WaitGroup
			for range requests {
				group.Go(func() {
					if _, err := client.Send(t.Context(), to, &provider.Request{Path: "/p"}, time.Minute); err != nil {
						t.Errorf("Send: got %v, want nil", err)
					}
				})
			}
			group.Wait()
			if got := conns.Load(); got > bound { // several may be dialled before the first is known to be shared
				t.Errorf("connections: got %d, want %d at most", got, bound)
			}
		})
	}
}

// TestDescriptorsExhausted dials without free file descriptors. The failure names the limit and is
// not retryable.
func TestDescriptorsExhausted(t *testing.T) {
	client := NewClient(1<<10, 1)
	client.http.DialContext = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EMFILE}
	}
	_, err := client.Send(t.Context(), provider.Endpoint{BaseURL: "http://localhost:1"}, &provider.Request{Path: "/p"}, time.Minute)
	failure, ok := errors.AsType[*provider.Failure](err)
	if !ok || failure.Retryable || !strings.Contains(failure.Detail, filelimit.ErrLimit.Error()) || !strings.Contains(failure.Detail, "ulimit -n") {
		t.Errorf("got %v, want a failure that is not tried again and names the limit", err)
	}
}
