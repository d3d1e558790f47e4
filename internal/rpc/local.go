package rpc

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/natsserver"
)

// StreamDirectory is the subdirectory of the embedded NATS server's streams.
const StreamDirectory = "nats"

// local creates an installation in this process. Services communicate in memory, and an embedded
// NATS server stores its streams in dir. It ignores the addresses, TLS and NATS settings of cfg. It
// fails if it cannot write to dir.
func local(ctx context.Context, cfg Config, dir string, options Options) (*Node, error) {
	if err := cfg.Bus.Validate(); err != nil {
		return nil, err
	}
	cfg.TLSCert, cfg.TLSKey, cfg.TLSCA = "", "", ""
	srv, err := natsserver.Start(natsserver.Config{Dir: filepath.Join(dir, StreamDirectory), Sync: cfg.Sync})
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, telemetry: options.Telemetry, logger: options.Logger, hosted: make(map[Service]bool)}
	for _, service := range Services() {
		n.hosted[service] = true
	}
	n.server = srv
	n.onClose(srv.Close)
	conn, err := srv.Connect(logErrors(options.Logger))
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	n.nats = conn
	n.onClose(func() error { conn.Close(); return nil })
	js, err := jetstream.New(conn)
	if err == nil {
		n.bus, err = bus.Make(ctx, js, cfg.Bus, func(error) {})
	}
	if err == nil {
		err = n.dial(newMemory(cfg, options.Logger))
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// RunNATS waits until ctx is done. It fails when the embedded NATS server ends by itself.
func (n *Node) RunNATS(ctx context.Context) error {
	if n.server == nil {
		<-ctx.Done()
		return nil
	}
	return n.server.Run(ctx)
}
