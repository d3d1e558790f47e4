package filelimit_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/filelimit"
)

// TestListener accepts connections with no descriptor left. The log says so once.
func TestListener(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	listener := filelimit.Listener(inner, slog.New(slog.NewTextHandler(&log, nil)))
	defer func() { _ = listener.Close() }()
	waiting, err := new(net.Dialer).DialContext(t.Context(), "tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = waiting.Close() }()
	restore := exhaust(t)
	for range 3 {
		if _, err := listener.Accept(); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("Accept: got %v, want EMFILE", err)
		}
	}
	restore()
	if n := strings.Count(log.String(), "out of file descriptors (limit "); n != 1 {
		t.Errorf("the log names the limit %d times, want 1:\n%s", n, log.String())
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatalf("Accept after the shortage: %v", err)
	}
	_ = conn.Close()
}

// exhaust lowers the limit to the open descriptors and returns a function that restores it.
func exhaust(t *testing.T) (restore func()) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	next, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	lowered := syscall.Rlimit{Cur: uint64(next.Fd()), Max: limit.Max}
	_ = next.Close()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lowered); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}
}
