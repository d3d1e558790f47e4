package rpc_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// TestLongNothingListens checks that a client gives up soon on an address that no service has ever
// answered at, and says what is wrong there.
func TestLongNothingListens(t *testing.T) {
	t.Parallel()
	closed := porttest.Address(t)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	closing := listen(t, func(conn net.Conn) { _ = conn.Close() })
	silent := listen(t, func(net.Conn) {})
	ca := newAuthority(t)
	cert, key := ca.peer(t, "client")
	secure := serveTLS(t, cert, key)
	plain := grpc.NewServer()
	plainAddress := serveGRPC(t, plain)

	for name, test := range map[string]struct {
		address string
		tls     bool
		want    string
	}{
		"nothing":           {closed, false, "nothing listens there: start it with toolsandbox serve orchestrator or give another --orchestrator-addr"},
		"HTTP":              {strings.TrimPrefix(web.URL, "http://"), false, "another server answers, which is none of the services"},
		"closes":            {closing, false, "it closes the connection; it may use TLS (--tls-cert"},
		"silent":            {silent, false, "it closes the connection; it may use TLS (--tls-cert"},
		"TLS for plaintext": {secure, false, "it closes the connection; it may use TLS (--tls-cert"},
		"plaintext for TLS": {plainAddress, true, "it does not use TLS; leave out --tls-cert, --tls-key and --tls-ca"},
		"another service":   {plainAddress, false, "another server answers, which is not this service"},
		"unknown host":      {"nowhere.invalid:7401", false, "the host is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := rpc.DefaultConfig()
			cfg.Remote, cfg.Orchestrators = true, []string{test.address}
			if test.tls {
				cfg.TLSCert, cfg.TLSKey, cfg.TLSCA = cert, key, ca.file
			}
			node, err := rpc.Open(t.Context(), cfg, "", options())
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := node.Close(); err != nil {
					t.Error(err)
				}
			}()
			began := time.Now()
			_, err = orchestratorv1.NewOrchestratorServiceClient(node.Conn(rpc.Orchestrator)).ListSweeps(t.Context(), &orchestratorv1.ListSweepsRequest{})
			if said := status.Convert(err).Message(); !strings.HasPrefix(said, "orchestrator at "+test.address) || !strings.Contains(said, test.want) {
				t.Errorf("got %v, want an error of the orchestrator at %s with %q", err, test.address, test.want)
			}
			if took := time.Since(began); took > patience { // one that was reached before is waited for longer
				t.Errorf("the call took %s, want some seconds", took)
			}
		})
	}
}

// TestAddresses checks that an address that cannot be dialled is a mistake on the command line.
func TestAddresses(t *testing.T) {
	for address, valid := range map[string]bool{
		"localhost:7401": true, "[::1]:7401": true, "dns:///host:7401": true,
		"localhost": false, "http://localhost:7401": false, "": false,
	} {
		cfg := rpc.DefaultConfig()
		cfg.Evaluators = []string{address}
		if err := cfg.Validate(); (err == nil) != valid || err != nil && !strings.HasPrefix(err.Error(), "--evaluator-addr: ") {
			t.Errorf("%q: got %v, want valid %v", address, err, valid)
		}
	}
}

// listen accepts connections and passes them to handle. It closes them at the end of the test.
func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }() // at the end of the test
			handle(conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return listener.Addr().String()
}

func serveTLS(t *testing.T, cert, key string) string {
	t.Helper()
	creds, err := credentials.NewServerTLSFromFile(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return serveGRPC(t, grpc.NewServer(grpc.Creds(creds)))
}

func serveGRPC(t *testing.T, server *grpc.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}
