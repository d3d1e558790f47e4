// Package natstest runs a real NATS JetStream server inside a test.
package natstest

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

const readyTimeout = 30 * time.Second

// OneShard configures a bus whose streams a test can name.
var OneShard = bus.Config{Shards: 1, Replicas: 1}

// Start returns a bus with default streams on a server of its own, without a network port. Both end
// with the test.
func Start(tb testing.TB) *bus.Bus {
	tb.Helper()
	return Open(tb, Connect(tb, tb.TempDir()), bus.DefaultConfig())
}

// Connect starts a server that stores its streams in dir and returns a connection to it. Both end
// with the test.
func Connect(tb testing.TB, dir string) *nats.Conn {
	tb.Helper()
	return ConnectPayload(tb, dir, server.MAX_PAYLOAD_SIZE)
}

// ConnectPayload is Connect with the size of the largest message.
func ConnectPayload(tb testing.TB, dir string, maxPayload int32) *nats.Conn {
	tb.Helper()
	srv := start(tb, &server.Options{JetStream: true, StoreDir: dir, DontListen: true, NoSigs: true, NoLog: true, MaxPayload: maxPayload})
	return connect(tb, "", nats.InProcessServer(srv))
}

// Listen starts a server for processes of their own and returns its URL, on a port of this machine
// that was free, and a connection to it. Both end with the test.
func Listen(tb testing.TB) (url string, conn *nats.Conn) {
	tb.Helper()
	srv := start(tb, &server.Options{
		JetStream: true, StoreDir: tb.TempDir(), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
	})
	return srv.ClientURL(), connect(tb, srv.ClientURL())
}

func start(tb testing.TB, options *server.Options) *server.Server {
	tb.Helper()
	srv, err := server.NewServer(options)
	if err != nil {
		tb.Fatalf("start NATS: %v", err)
	}
	srv.Start()
	tb.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(readyTimeout) {
		tb.Fatal("start NATS: not ready in time")
	}
	return srv
}

func connect(tb testing.TB, url string, options ...nats.Option) *nats.Conn {
	tb.Helper()
	conn, err := nats.Connect(url, options...)
	if err != nil {
		tb.Fatalf("connect to NATS: %v", err)
	}
	tb.Cleanup(conn.Close)
	return conn
}

// Open opens a bus on a connection.
func Open(tb testing.TB, conn *nats.Conn, cfg bus.Config) *bus.Bus {
	tb.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		tb.Fatalf("open JetStream: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	b, err := bus.Open(ctx, js, cfg)
	if err != nil {
		tb.Fatalf("open bus: %v", err)
	}
	return b
}
