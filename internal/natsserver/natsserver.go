// Package natsserver runs a NATS JetStream server inside a process.
package natsserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	readyTimeout = 20 * time.Second
	maxPayload   = 8 << 20
	tlsTimeout   = 10 * time.Second // of a handshake on a busy machine
)

// Config configures a server.
type Config struct {
	// Dir holds the streams. Start creates it.
	Dir string
	// Listen is the host:port for clients. Empty serves this process only.
	Listen string
	// Sync is the sync policy. Empty selects SyncInterval.
	Sync Sync
	// Access is who may connect, and to what. The zero value lets everybody do everything.
	Access Access
}

// Server is an embedded NATS JetStream server. It is safe for concurrent use.
type Server struct {
	nats    *server.Server
	dir     string
	failure *failure
}

// Start starts a server and waits until it has read and checked all stored messages. The caller
// closes it.
func Start(cfg Config) (*Server, error) {
	if err := ensureWritable(cfg.Dir); err != nil {
		return nil, err
	}
	if err := errors.Join(removeIndexes(cfg.Dir), removeFutureDeliveries(cfg.Dir, time.Now())); err != nil {
		return nil, fmt.Errorf("start NATS in %s: %w", cfg.Dir, err)
	}
	options := &server.Options{
		ServerName: "toolsandbox",
		JetStream:  true,
		StoreDir:   cfg.Dir,
		MaxPayload: maxPayload,
		NoSigs:     true,
		NoLog:      true,
		DontListen: cfg.Listen == "",
		SyncAlways: cfg.Sync == SyncAlways,
	}
	if cfg.Listen != "" {
		host, port, err := splitAddress(cfg.Listen)
		if err != nil {
			return nil, err
		}
		probe, err := net.Listen("tcp", cfg.Listen)
		if err != nil {
			return nil, fmt.Errorf("NATS: listen on %s: %w: stop the other process or choose another --listen", cfg.Listen, err)
		}
		if err := probe.Close(); err != nil {
			return nil, fmt.Errorf("NATS: listen on %s: %w", cfg.Listen, err)
		}
		options.Host, options.Port = host, port
	}
	if err := cfg.Access.apply(options); err != nil {
		return nil, err
	}
	if options.SyncAlways {
		// A syncing goroutine blocks its processor.
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 2*runtime.NumCPU()))
	}
	srv, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("start NATS in %s: %w", cfg.Dir, err)
	}
	failed := &failure{reached: make(chan struct{})}
	srv.SetLoggerV2(failed, false, false, false)
	srv.Start()
	if !srv.ReadyForConnections(readyTimeout) {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, fmt.Errorf("start NATS in %s: not ready after %s: is the directory in use by another process?", cfg.Dir, readyTimeout)
	}
	return &Server{nats: srv, dir: cfg.Dir, failure: failed}, nil
}

// Connect returns an in-process connection. The caller closes it before the server.
func (s *Server) Connect(options ...nats.Option) (*nats.Conn, error) {
	conn, err := nats.Connect("", append(options, nats.InProcessServer(s.nats), nats.Name("toolsandbox"), nats.Timeout(readyTimeout))...)
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded NATS server: %w", err)
	}
	return conn, nil
}

// Close stops the server and waits until its files are closed.
func (s *Server) Close() error {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	return nil
}

// removeIndexes removes the index files of streams. Without them the server reads all blocks,
// checks every message and drops damaged ones. With them nats-server 2.15.2 trusts the messages,
// and loops and exhausts memory on a flipped bit in a sequence.
func removeIndexes(dir string) error {
	indexes, err := fs.Glob(os.DirFS(dir), "jetstream/*/streams/*/msgs/index.db")
	for _, index := range indexes {
		err = errors.Join(err, os.Remove(filepath.Join(dir, index)))
	}
	return err
}

// removeFutureDeliveries removes the state of consumers that was written at a time that is yet to
// come, because the clock has gone back since. The server delivers their messages again. With that
// state it waits for the acknowledgements until that time.
func removeFutureDeliveries(dir string, now time.Time) error {
	states, err := fs.Glob(os.DirFS(dir), "jetstream/*/streams/*/obs/*/o.dat")
	for _, state := range states {
		path := filepath.Join(dir, state)
		info, statErr := os.Stat(path)
		if statErr != nil {
			err = errors.Join(err, statErr)
		} else if info.ModTime().After(now) {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// ensureWritable creates a directory and checks that files can be created in it.
func ensureWritable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("data directory %s cannot be made: %w: choose another one", dir, err)
	}
	probe, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return fmt.Errorf("data directory %s cannot be written: %w: choose another one", dir, err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("data directory %s cannot be written: %w: choose another one", dir, err)
	}
	return nil
}

// splitAddress splits host:port into its parts.
func splitAddress(address string) (string, int, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("--listen: %w: expected host:port", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return "", 0, fmt.Errorf("--listen %s: port %q is no number", address, text)
	}
	return host, port, nil
}
