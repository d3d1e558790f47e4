package porttest_test

import (
	"net"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// TestReserve listens on a reserved port several times in succession. Before, between and after
// nobody answers there.
func TestReserve(t *testing.T) {
	address, release, err := porttest.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if conn, err := net.Dial("tcp", address); err == nil { //nolint:noctx // on this machine
			t.Errorf("dial a reserved port: got a connection to %s, want none", conn.RemoteAddr())
			_ = conn.Close()
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatalf("listen on a reserved port: %v", err)
		}
		conn, err := net.Dial("tcp", address) //nolint:noctx // on this machine
		if err != nil {
			t.Fatalf("dial a reserved port on which somebody listens: %v", err)
		}
		served, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []interface{ Close() error }{served, conn, listener} { // the server's end waits for late packets
			if err := end.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
