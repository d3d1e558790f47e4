package httpclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
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
			var conns, asked, came, dialled atomic.Int32
			started, all := make(chan struct{}), make(chan struct{})
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GetConn: func(string) {
				if asked.Add(1) == requests {
					close(started)
				}
			}})
			server := serveProtocol(t, test.tls, test.plain, &conns, func(w http.ResponseWriter, _ *http.Request) {
				if came.Add(1) == test.together {
					<-started
					dialled.Store(conns.Load()) // a slow machine dials again for what follows: the transport waits 50 ms for the end of a request
					close(all)
				}
				<-all
				_, _ = w.Write([]byte("{}"))
			})
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
					if err := sendPatiently(ctx, client, to); err != nil {
						t.Errorf("Send: got %v, want nil", err)
					}
				})
			}
			group.Wait()
			if got := dialled.Load(); got > bound { // several may be dialled before the first is known to be shared
				t.Errorf("connections: got %d, want %d at most", got, bound)
			}
		})
	}
}

// serveProtocol serves HTTP/2 with TLS, HTTP/2 without TLS or HTTP/1.1 until the test ends, and
// counts the open connections.
func serveProtocol(t *testing.T, tls, plain bool, conns *atomic.Int32, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handle)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			conns.Add(1)
		case http.StateClosed:
			conns.Add(-1)
		}
	}
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(!plain)
	server.Config.Protocols.SetHTTP2(tls)
	server.Config.Protocols.SetUnencryptedHTTP2(plain)
	server.EnableHTTP2 = tls
	if tls {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

// sendPatiently sends a request again whose connection the server closes. That of net/http does if
// the machine stops in the first two seconds of HTTP/2.
func sendPatiently(ctx context.Context, client *Client, to provider.Endpoint) (err error) {
	for range 10 {
		_, err = client.Send(ctx, to, &provider.Request{Path: "/p"}, time.Minute)
		failure, ok := errors.AsType[*provider.Failure](err)
		if !ok || !failure.Network || failure.Timeout {
			return err
		}
	}
	return err
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
