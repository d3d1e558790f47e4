package rpc

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// TestExplain stops NATS under a service. Only errors that this may cause mention NATS.
func TestExplain(t *testing.T) {
	address := porttest.Address(t)
	stop := natstest.Serve(t, natsserver.Config{Dir: t.TempDir(), Listen: address})
	cfg := DefaultConfig()
	cfg.NATSURL = "nats://me:secret@" + address
	if err := InitBus(t.Context(), cfg, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	m, err := Connect(t.Context(), cfg, Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	call := func(code codes.Code) error { return m.explain(status.Error(code, "store it")) }
	const plain = "rpc error: code = DeadlineExceeded desc = store it"
	if err := call(codes.DeadlineExceeded); err == nil || err.Error() != plain {
		t.Errorf("with NATS: got %v, want %s", err, plain)
	}
	lost := m.nats.StatusChanged(nats.RECONNECTING)
	stop()
	<-lost
	want := "rpc error: code = Unavailable desc = store it: NATS at nats://" + address + " cannot be reached from there"
	if err := call(codes.DeadlineExceeded); err == nil || err.Error() != want {
		t.Errorf("without NATS: got %v, want %s", err, want)
	}
	for _, code := range []codes.Code{codes.OK, codes.NotFound, codes.InvalidArgument} {
		if err := call(code); err != nil && strings.Contains(err.Error(), "NATS") {
			t.Errorf("without NATS: got %v, want nothing about NATS", err)
		}
	}
}
