package rpc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // of the certificate
	dir  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	a.file, _, a.key = a.issue(t, "authority", a.cert)
	return a
}

// issue writes a certificate, signed by the authority or, for the authority itself, by its own key.
func (a *authority) issue(t *testing.T, name string, template *x509.Certificate) (certFile, keyFile string, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer := key
	if a.key != nil {
		signer = a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(suffix, kind string, raw []byte) string {
		path := filepath.Join(a.dir, strings.ReplaceAll(name, "/", "-")+suffix)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write(".pem", "CERTIFICATE", der), write(".key", "PRIVATE KEY", private), key
}

// peer writes a certificate for a process on this machine, for both ends of a connection. Its role
// is its name.
func (a *authority) peer(t *testing.T, name string) (certFile, keyFile string) {
	t.Helper()
	return a.peerUntil(t, name, time.Now().Add(time.Hour))
}

// peerUntil is peer with the end of the certificate.
func (a *authority) peerUntil(t *testing.T, name string, until time.Time) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile, _ = a.issue(t, name, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		URIs:        []*url.URL{{Scheme: "spiffe", Host: "toolsandbox", Path: "/" + name}},
	})
	return certFile, keyFile
}

// call calls a service. A refused client retries until its deadline.
func call(t *testing.T, conn grpc.ClientConnInterface) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience/10)
	defer cancel()
	_, err := orchestratorv1.NewOrchestratorServiceClient(conn).GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"}, grpc.WaitForReady(false))
	return err
}

func TestLongTLS(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	serverCert, serverKey := ours.peer(t, "server")
	clientCert, clientKey := ours.peer(t, "client")
	strangerCert, strangerKey := theirs.peer(t, "stranger")
	tests := []struct {
		name   string
		ca     string // of the server
		client func(*rpc.Config)
		want   codes.Code
	}{
		{"both prove who they are", ours.file, func(c *rpc.Config) { c.TLSCert, c.TLSKey, c.TLSCA = clientCert, clientKey, ours.file }, codes.OK},
		{"no proof asked for", "", func(c *rpc.Config) { c.TLSCert, c.TLSKey, c.TLSCA = strangerCert, strangerKey, ours.file }, codes.OK},
		{"plain text", ours.file, func(*rpc.Config) {}, codes.Unavailable},
		{"client of another authority", ours.file, func(c *rpc.Config) { c.TLSCert, c.TLSKey, c.TLSCA = strangerCert, strangerKey, ours.file }, codes.Unavailable},
		{"server of another authority", "", func(c *rpc.Config) { c.TLSCert, c.TLSKey, c.TLSCA = clientCert, clientKey, theirs.file }, codes.Unavailable},
		{"authority of the system", "", func(c *rpc.Config) { c.TLSCert, c.TLSKey = clientCert, clientKey }, codes.Unavailable},
	}
	nats := startNATS(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := rpc.DefaultConfig()
			cfg.Service, cfg.NATSURL, cfg.Orchestrators = rpc.Orchestrator, nats, []string{porttest.Address(t)}
			client := cfg
			cfg.TLSCert, cfg.TLSKey, cfg.TLSCA = serverCert, serverKey, test.ca
			m, err := rpc.Connect(t.Context(), cfg, options())
			server := closed(t, m, err)
			client.Remote = true
			test.client(&client)
			m, err = rpc.Open(t.Context(), client, "", options())
			l := link{server: server, client: closed(t, m, err)}
			l.serve(t, &orchestrator{trajectory: echo})
			waitForPort(t, cfg.Orchestrators[0])
			if err := call(t, l.client.Conn(rpc.Orchestrator)); status.Code(err) != test.want {
				t.Errorf("call: got %v, want %v", err, test.want)
			}
		})
	}
}

// TestTLSWithoutClientCertificate checks that a client without a certificate is accepted only by a
// server without mutual TLS.
func TestTLSWithoutClientCertificate(t *testing.T) {
	ours := newAuthority(t)
	cert, key := ours.peer(t, "server")
	nats := startNATS(t)
	pool := x509.NewCertPool()
	pool.AddCert(ours.parsed(t))
	for ca, want := range map[string]codes.Code{"": codes.OK, ours.file: codes.Unavailable} {
		cfg := rpc.DefaultConfig()
		cfg.Service, cfg.NATSURL, cfg.Orchestrators = rpc.Orchestrator, nats, []string{porttest.Address(t)}
		cfg.TLSCert, cfg.TLSKey, cfg.TLSCA = cert, key, ca
		m, err := rpc.Connect(t.Context(), cfg, options())
		link{server: closed(t, m, err)}.serve(t, &orchestrator{trajectory: echo})
		waitForPort(t, cfg.Orchestrators[0])
		conn, err := grpc.NewClient(cfg.Orchestrators[0], grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13})))
		if err != nil {
			t.Fatal(err)
		}
		if err := call(t, conn); status.Code(err) != want {
			t.Errorf("call of a server with --tls-ca %q: got %v, want %v", ca, err, want)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (a *authority) parsed(t *testing.T) *x509.Certificate {
	t.Helper()
	raw, err := os.ReadFile(a.file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(raw)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// waitForPort waits until a server listens on an address.
func waitForPort(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("nobody listens on %s: %v", address, err)
		}
	}
}

func TestTLSFiles(t *testing.T) {
	ours := newAuthority(t)
	cert, key := ours.peer(t, "server")
	missing := filepath.Join(t.TempDir(), "missing.pem")
	tests := []struct {
		name          string
		cert, key, ca string
		want          string
	}{
		{"no certificate", missing, key, "", "--tls-cert " + missing + ", --tls-key " + key + ": …"},
		{"another key", cert, filepath.Join(ours.dir, "authority.key"), "", "--tls-cert " + cert + ", --tls-key …: …"},
		{"no authority", cert, key, missing, "--tls-ca: …" + missing + "…"},
		{"authority without a certificate", cert, key, key, "--tls-ca " + key + ": no PEM certificate in it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := rpc.DefaultConfig()
			cfg.Remote, cfg.TLSCert, cfg.TLSKey, cfg.TLSCA = true, test.cert, test.key, test.ca
			_, err := rpc.Open(t.Context(), cfg, "", options())
			checkError(t, "Open", err, test.want)
		})
	}
}
