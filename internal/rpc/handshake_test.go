package rpc

import (
	"bufio"
	"fmt"
	"net"
	"testing"

	"github.com/nats-io/nats.go"
)

// TestLateHandshake connects to a NATS server that refuses a user, or that has waited too long for
// one because this machine stopped: only the second may end otherwise the next time.
func TestLateHandshake(t *testing.T) {
	for refusal, want := range map[string]bool{"Authentication Timeout": true, "Authorization Violation": false} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				ended <- err
				return
			}
			_, _ = fmt.Fprint(conn, `INFO {"server_id": "x", "version": "2.15.2", "auth_required": true, "max_payload": 1048576}`, "\r\n")
			_, _ = bufio.NewReader(conn).ReadString('\n') // CONNECT
			_, _ = fmt.Fprintf(conn, "-ERR '%s'\r\n", refusal)
			ended <- conn.Close()
		}()
		_, err = nats.Connect("nats://" + listener.Addr().String())
		if err == nil || isUnreachable(err) != want {
			t.Errorf("%s: got %v, which may pass %t, want %t", refusal, err, isUnreachable(err), want)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}
}
