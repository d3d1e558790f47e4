package agentgw_test

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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

// selfSigned returns a self-signed certificate for this machine and its PEM file.
func selfSigned(t *testing.T) (certificate tls.Certificate, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "plug-in"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// TestLongPluginTLS dials a plug-in with TLS, with and without its authority.
func TestLongPluginTLS(t *testing.T) {
	t.Parallel()
	certificate, ca := selfSigned(t)
	_, stranger := selfSigned(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	agentv1.RegisterAgentServiceServer(srv, agentFunc{act: func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) {
		return &agentv1.ActResponse{Text: "hello"}, nil
	}})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	address := listener.Addr().String()
	for name, test := range map[string]struct {
		ca, player string
		code       codes.Code
	}{
		"vouched for":       {ca, "grpcs://" + address, codes.OK},
		"another authority": {stranger, "grpcs://" + address, codes.Unavailable},
		"the system's":      {"", "grpcs://" + address, codes.Unavailable},
		"plain text":        {ca, "grpc://" + address, codes.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := agentgw.DefaultConfig()
			cfg.AgentCA = test.ca
			client := serve(t, cfg, natstest.Start(t))
			got, err := client.Respond(t.Context(), ask(play(t, test.player)))
			if status.Code(err) != test.code || test.code == codes.OK && messagetext.Content(got.GetMessages()[0]) != "hello" {
				t.Errorf("Respond: got %v, %v, want code %s", got, err, test.code)
			}
		})
	}
}

func TestAgentCA(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{empty: "--agent-ca " + empty + ": no PEM certificate in it", empty + ".not": "--agent-ca: open "} {
		cfg := agentgw.DefaultConfig()
		cfg.AgentCA = file
		if _, err := agentgw.NewServer(cfg, nil, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("NewServer: got %v, want an error that begins with %q", err, want)
		}
	}
}
