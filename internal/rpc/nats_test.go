package rpc

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// TestStartWaitLog waits for ten minutes: the log has a line at once and then at growing intervals,
// and one at the end.
func TestStartWaitLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var got []string
		wait := &startWait{address: "nats://n:4222", logger: slog.New(lineHandler(func(record slog.Record) {
			got = append(got, time.Since(began).Round(time.Second).String()+" "+record.Message)
		}))}
		early := errors.New("not yet")
		err := wait.retry(t.Context(), func(err error) bool { return errors.Is(err, early) }, func() error {
			if time.Since(began) < 5*time.Minute {
				return early
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wait.end()
		const waiting = " waiting for NATS and its streams"
		want := []string{
			"0s" + waiting, "5s" + waiting, "15s" + waiting, "35s" + waiting, "1m15s" + waiting, "2m15s" + waiting, "3m15s" + waiting, "4m15s" + waiting,
			"5m0s NATS and its streams are ready",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// lineHandler calls a function with each line of a log.
type lineHandler func(slog.Record)

func (h lineHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h lineHandler) Handle(_ context.Context, record slog.Record) error {
	h(record)
	return nil
}
func (h lineHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h lineHandler) WithGroup(string) slog.Handler      { return h }

// TestLongConnectWaits connects before NATS is there: it waits for NATS, then for the streams, and
// names both.
func TestLongConnectWaits(t *testing.T) {
	cfg := DefaultConfig()
	address := porttest.Address(t)
	cfg.NATSURL, cfg.Service = "nats://"+address, Evaluator
	reasons := make(chan string, 1000)
	logger := slog.New(lineHandler(func(record slog.Record) {
		record.Attrs(func(a slog.Attr) bool {
			if a.Key == "reason" {
				reasons <- a.Value.String()
			}
			return true
		})
	}))
	connected := make(chan error, 1)
	go func() {
		node, err := Connect(t.Context(), cfg, Options{Logger: logger})
		if err == nil {
			err = node.Close()
		}
		connected <- err
	}()
	if got := <-reasons; !strings.Contains(got, "no servers available") {
		t.Errorf("first line: got %q, want that no server is there", got)
	}
	natstest.Serve(t, natsserver.Config{Dir: t.TempDir(), Listen: address})
	const missing = "open bus: stream SETUP: not ready: toolsandbox bus init makes it"
	for got := range reasons {
		if got == missing {
			break
		}
	}
	if err := InitBus(t.Context(), cfg, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if err := <-connected; err != nil {
		t.Errorf("Connect: got %v, want nil", err)
	}
}

// TestInitBusAgain makes the streams twice and changes their retention: only that is logged.
func TestInitBusAgain(t *testing.T) {
	cfg := DefaultConfig()
	cfg.NATSURL = "nats://" + porttest.Address(t)
	natstest.Serve(t, natsserver.Config{Dir: t.TempDir(), Listen: strings.TrimPrefix(cfg.NATSURL, "nats://")})
	var changes []string
	logger := slog.New(lineHandler(func(record slog.Record) {
		if record.Message == "the settings of the streams have changed" {
			record.Attrs(func(a slog.Attr) bool { changes = append(changes, a.String()); return true })
		}
	}))
	for _, retention := range []time.Duration{2 * time.Hour, 2 * time.Hour, time.Hour} {
		cfg.Bus.Retention = retention
		if err := InitBus(t.Context(), cfg, logger); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"before=retention 2h0m0s, 1 replicas, -1 bytes of SETUP", "after=retention 1h0m0s, 1 replicas, -1 bytes of SETUP"}
	if !slices.Equal(changes, want) {
		t.Errorf("changes: got %q, want %q", changes, want)
	}
}

// TestLongPasswordChanges changes the password of a connected user at NATS, and only after several
// refusals in the user's file. The connection is restored, and one line of the log tells of them.
func TestLongPasswordChanges(t *testing.T) {
	dir := t.TempDir()
	write := func(name, password string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(password), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, role := range bus.Roles() {
		write(string(role), "first")
	}
	server := natsserver.Config{Dir: t.TempDir(), Listen: porttest.Address(t), Access: natsserver.Access{Passwords: dir, Shards: 1}}
	stop := natstest.Serve(t, server)
	var refusals atomic.Int32
	logger := slog.New(lineHandler(func(record slog.Record) {
		if record.Message == "NATS connection error" {
			refusals.Add(1)
		}
	}))
	cfg := DefaultConfig()
	cfg.NATSPasswordFile = write("ours", "first")
	options, err := natsOptions(cfg, bus.RoleEvaluator, logger)
	if err != nil {
		t.Fatal(err)
	}
	restored := make(chan struct{})
	conn := natstest.Dial(t, "nats://"+server.Listen, append(options, nats.ReconnectHandler(func(*nats.Conn) { close(restored) }))...)
	stop()
	write("evaluator", "second")
	natstest.Serve(t, server)
	ticker := time.NewTicker(connectInterval)
	defer ticker.Stop()
	for conn.Stats().Reconnects < 3 && !conn.IsClosed() { // the statistics count attempts
		<-ticker.C
	}
	write("ours", "second")
	select {
	case <-restored:
	case <-time.After(time.Minute):
		t.Fatalf("connection after three refusals: got %s, want CONNECTED once the password is right", conn.Status())
	}
	if got := refusals.Load(); got != 1 {
		t.Errorf("got %d lines of refusals, want 1", got)
	}
}
