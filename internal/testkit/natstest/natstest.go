// Package natstest runs a real NATS JetStream server inside a test.
package natstest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

const readyTimeout = 30 * time.Second

// OneShard configures a bus whose streams a test can name.
var OneShard = bus.Config{Shards: 1, Replicas: 1, CreateTimeout: readyTimeout}

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
	return Dial(tb, "", nats.InProcessServer(srv))
}

// Listen starts a server with streams for processes of their own and returns its URL, on a port of
// this machine that was free, and a connection to it. Both end with the test.
func Listen(tb testing.TB) (address string, conn *nats.Conn) {
	tb.Helper()
	srv := start(tb, &server.Options{
		JetStream: true, StoreDir: tb.TempDir(), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
	})
	conn = Dial(tb, srv.ClientURL())
	Open(tb, conn, bus.DefaultConfig())
	return srv.ClientURL(), conn
}

// Serve starts the program's own NATS server, which another call may start again in the same
// directory. stop ends it, and so does the end of the test.
func Serve(tb testing.TB, cfg natsserver.Config) (stop func()) {
	tb.Helper()
	srv, err := natsserver.Start(cfg)
	if err != nil {
		tb.Fatalf("start NATS: %v", err)
	}
	var once sync.Once
	stop = func() {
		tb.Helper()
		once.Do(func() {
			if err := srv.Close(); err != nil {
				tb.Errorf("close NATS: %v", err)
			}
		})
	}
	tb.Cleanup(stop)
	return stop
}

// MakeStreams makes the default streams of a server at an address, as toolsandbox bus init does.
func MakeStreams(tb testing.TB, address string) {
	tb.Helper()
	Open(tb, Dial(tb, "nats://"+address), bus.DefaultConfig())
}

// Cluster prepares servers of a JetStream cluster that are not started yet. startServer starts one
// and returns its URL. They end with the test.
func Cluster(tb testing.TB, size int) (startServer func(i int) string) {
	tb.Helper()
	var routes []*url.URL
	for range size {
		routes = append(routes, &url.URL{Scheme: "nats", Host: porttest.Address(tb)})
	}
	return func(i int) string {
		port, err := strconv.Atoi(routes[i].Port())
		if err != nil {
			tb.Fatal(err)
		}
		srv := start(tb, &server.Options{
			ServerName: "n" + strconv.Itoa(i), JetStream: true, StoreDir: tb.TempDir(), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
		return srv.ClientURL()
	}
}

// Secured starts a server with the users that toolsandbox bus permissions prints, and returns its
// URL and a function that connects as a role. All end with the test.
func Secured(tb testing.TB, shards int) (address string, as func(role bus.Role) *nats.Conn) {
	tb.Helper()
	var users strings.Builder
	if err := bus.WritePermissions(&users, shards, true); err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(tb.TempDir(), "permissions.conf")
	text := fmt.Sprintf("listen: \"127.0.0.1:-1\"\njetstream: {store_dir: %q}\n%s", tb.TempDir(), users.String())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	for _, role := range bus.Roles() {
		variable := bus.PasswordVariable(role)
		if err := os.Setenv(variable, "secret-of-"+string(role)); err != nil { //nolint:usetesting // tb may be parallel
			tb.Fatal(err)
		}
	}
	address = File(tb, file)
	return address, func(role bus.Role) *nats.Conn {
		return Dial(tb, address, nats.UserInfo(string(role), "secret-of-"+string(role)), nats.CustomInboxPrefix(bus.InboxPrefix(role)),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // LastError returns what is denied
	}
}

// File starts a server with a configuration file and returns its URL. It ends with the test.
func File(tb testing.TB, file string) (address string) {
	tb.Helper()
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	options.NoSigs, options.NoLog = true, true
	return start(tb, options).ClientURL()
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

// Dial connects to a server at a URL. The connection ends with the test.
func Dial(tb testing.TB, url string, options ...nats.Option) *nats.Conn {
	tb.Helper()
	conn, err := nats.Connect(url, append(options, nats.Timeout(readyTimeout))...)
	if err != nil {
		tb.Fatalf("connect to NATS: %v", err)
	}
	tb.Cleanup(conn.Close)
	return conn
}

// Open makes the streams and opens a bus on a connection.
func Open(tb testing.TB, conn *nats.Conn, cfg bus.Config) *bus.Bus {
	tb.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		tb.Fatalf("open JetStream: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	b, err := bus.Make(ctx, js, cfg, func(err error) { tb.Log(err) })
	if err != nil {
		tb.Fatalf("make streams and open the bus: %v", err)
	}
	return b
}
