package attach

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

// TestLongSubject introduces processes whose certificates have long subjects. What is kept of one
// can be sent and stored wherever it is cut.
func TestLongSubject(t *testing.T) {
	first := &agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Name{Name: "mine"}}
	for before := range 3 {
		subject := pkix.Name{CommonName: strings.Repeat("x", before) + strings.Repeat("ü", maxCertificate)}
		chains := [][]*x509.Certificate{{{Subject: subject}}}
		ctx := peer.NewContext(t.Context(), &peer.Peer{
			Addr: &net.TCPAddr{}, AuthInfo: credentials.TLSInfo{State: tls.ConnectionState{VerifiedChains: chains}},
		})
		_, instance, err := introduction(ctx, first)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proto.Marshal(instance); err != nil || len(instance.GetCertificate()) < maxCertificate-1 {
			t.Errorf("%d: got %q and %v, want %d bytes of the subject", before, instance.GetCertificate(), err, maxCertificate)
		}
	}
}
