package record

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const needle = "Needle4711"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEncodings checks that a text is found in every encoding at any offset.
func TestEncodings(t *testing.T) {
	for before := range 4 {
		for after := range 4 {
			text := strings.Repeat("<", before) + needle + strings.Repeat(">", after)
			for name, data := range map[string]string{
				"plain": text, "hex": hex.EncodeToString([]byte(text)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(text))),
				"base64": base64.StdEncoding.EncodeToString([]byte(text)), "base64 for URLs": base64.URLEncoding.EncodeToString([]byte(text)),
			} {
				r := New(needle)
				r.Add("w", []byte(data))
				if got := r.Hits(needle)["w"]; got == 0 {
					t.Errorf("%s with %d bytes before and %d behind: got no hit in %s, want some", name, before, after, data)
				}
			}
		}
	}
	r := New(needle)
	r.Add("w", []byte(needle[1:]))
	if got := r.Hits(needle); len(got) > 0 {
		t.Errorf("hits in a part of the text: got %v, want none", got)
	}
}

// TestTCP sends a text twice, byte by byte.
func TestTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			received <- err.Error()
			return
		}
		data, err := io.ReadAll(conn)
		received <- fmt.Sprintf("%s %v %v", data, err, conn.Close())
	}()
	r := New(needle)
	address, err := r.TCP("w", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address) //nolint:noctx // on this machine
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []byte(needle + "-" + needle) {
		if _, err := conn.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := <-received, needle+"-"+needle+" <nil> <nil>"; got != want {
		t.Errorf("received: got %q, want %q", got, want)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := r.Hits(needle)["w"]; got != 2 {
		t.Errorf("hits: got %d, want 2", got)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
}

// TestGRPC checks that a text is found in requests, metadata and errors, and that calls and streams
// are forwarded.
func TestGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	healthy := health.NewServer()
	server := grpc.NewServer()
	healthv1.RegisterHealthServer(server, healthy)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	r := New(needle)
	address, err := r.GRPC("w", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	client := healthv1.NewHealthClient(conn)
	hits := func(what string, want int) {
		if got := r.Hits(needle)["w"]; got != want {
			t.Errorf("hits after %s: got %d, want %d", what, got, want)
		}
	}
	if answer, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil || answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("Check: got %v and %v, want SERVING", answer, err)
	}
	hits("a call without the text", 0)
	if _, err := client.Check(metadata.AppendToOutgoingContext(t.Context(), "x", needle), &healthv1.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	hits("metadata", 1)
	if _, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: needle}); status.Code(err) != codes.NotFound {
		t.Errorf("Check of an unknown service: got %v, want NotFound", err)
	}
	hits("a request", 2)
	stream, err := client.Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := stream.Recv(); err != nil || answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("Watch: got %v and %v, want SERVING", answer, err)
	}
	if got := r.Bytes()["w"]; got == 0 {
		t.Errorf("bytes: got %d, want some", got)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	server.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
