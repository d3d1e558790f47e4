package plugin_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/plugin"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type greeter struct {
	agentv1.UnimplementedAgentServiceServer
}

func (greeter) Act(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	return &agentv1.ActResponse{Text: "hello"}, nil
}

// certificate returns a self-signed certificate for a host and the pool that trusts it.
func certificate(t *testing.T, host string, until time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: until.Add(-24 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// serveGreeter serves the greeter until the test ends and returns its port.
func serveGreeter(t *testing.T, options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(options...)
	agentv1.RegisterAgentServiceServer(srv, greeter{})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return "localhost:" + port
}

// TestHandshakes dials plug-ins that are not trusted, or that disagree with the address on TLS. The
// error says why.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	good, trusted := certificate(t, "localhost", time.Now().Add(time.Hour))
	old, alsoOld := certificate(t, "localhost", time.Now().Add(-time.Hour))
	other, alsoOther := certificate(t, "elsewhere.invalid", time.Now().Add(time.Hour))
	secure := func(c tls.Certificate) grpc.ServerOption { return grpc.Creds(credentials.NewServerTLSFromCert(&c)) }
	for name, test := range map[string]struct {
		scheme string
		roots  *x509.CertPool
		server []grpc.ServerOption
		want   string
	}{
		"trusted":                     {"grpcs://", trusted, []grpc.ServerOption{secure(good)}, ""},
		"another authority":           {"grpcs://", alsoOther, []grpc.ServerOption{secure(good)}, "certificate signed by unknown authority"},
		"expired":                     {"grpcs://", alsoOld, []grpc.ServerOption{secure(old)}, "certificate has expired"},
		"another host":                {"grpcs://", alsoOther, []grpc.ServerOption{secure(other)}, "certificate is valid for elsewhere.invalid, not localhost"},
		"plain text where TLS is":     {"", nil, []grpc.ServerOption{secure(good)}, "; it may expect TLS: then its address begins with grpcs://"},
		"TLS where plain text is":     {"grpcs://", trusted, nil, "; it may speak plain text, without TLS: then its address begins with grpc://"},
		"plain text, as it was meant": {"", nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialer := plugin.NewDialer(plugin.Config{Connections: 1, MessageBytes: 1 << 20, TurnBytes: 1 << 20, RetryWait: 5 * time.Millisecond, Roots: test.roots}, nil)
			t.Cleanup(func() {
				if err := dialer.Close(); err != nil {
					t.Error(err)
				}
			})
			got, err := dialer.Respond(t.Context(), actRequestTo(test.scheme+serveGreeter(t, test.server...)), turn.AnyTools())
			if test.want == "" {
				if err != nil || messagetext.Content(got.GetMessages()[0]) != "hello" {
					t.Errorf("Respond: got %v, %v, want hello", got, err)
				}
				return
			}
			if !errors.Is(err, plugin.ErrUnavailable) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Respond: got %v, %v, want ErrUnavailable in one line with %q", got, err, test.want)
			}
		})
	}
}

// actRequestTo returns the request for an agent's first turn.
func actRequestTo(address string) *agentgwv1.RespondRequest {
	return &agentgwv1.RespondRequest{
		RolloutId: "s.0", Index: 1, Role: worldv1.Role_ROLE_AGENT,
		Player: &agentgwv1.Player{Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{Address: address}}},
		View:   []*worldv1.Message{{Sender: worldv1.Role_ROLE_USER, Recipient: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Text{Text: "hi"}}},
	}
}
