// Package health serves grpc.health.v1 for the probes of a process, in plain text on an address of
// its own: a kubelet has no certificate. The service "" tells whether the process lives, and
// Readiness whether it can do its work now.
package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/toolsandbox/toolsandbox/internal/filelimit"
)

// Readiness is the service of grpc.health.v1 that is NOT_SERVING while the process cannot do its
// work: until it serves, while something that it needs is unavailable, and from the beginning of
// its drain. The service "" is SERVING until the process ends.
const Readiness = "readiness"

const (
	// interval is the time between two checks of readiness.
	interval = time.Second
	// checkTimeout bounds one check. Something that answers later is unavailable.
	checkTimeout = 2 * time.Second
	// noticeAfter is the time after which a process that has never been ready says why. A start takes
	// less. noticeEvery is the interval of further lines.
	noticeAfter = 10 * time.Second
	noticeEvery = time.Minute

	// A probe needs one call at a time and sends a name.
	maxCalls        = 16
	maxRequestBytes = 1 << 10
	maxHeaderBytes  = 8 << 10
	connectTimeout  = 5 * time.Second
)

// Config configures the server.
type Config struct {
	// Listen is the address of the server. Empty means that there is none.
	Listen string
}

// RegisterFlags adds the flag of this package.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Listen, "health-listen", c.Listen,
		`host:port of grpc.health.v1 in plain text, for probes: "" lives, "readiness" has NATS and its peers (default: no such port)`)
}

// Validate names the field that is out of range.
func (c Config) Validate() error {
	if _, port, err := net.SplitHostPort(c.Listen); c.Listen != "" && (err != nil || port == "") {
		return fmt.Errorf("--health-listen: %q given, expected HOST:PORT, e.g. :7400", c.Listen)
	}
	return nil
}

// Server answers probes. Nil answers none. Safe for concurrent use.
type Server struct {
	states *health.Server
	server *grpc.Server
	served chan error
	logger *slog.Logger
}

// Start serves: the process lives, and is not ready. Without an address it returns nil. The caller
// closes the server.
func Start(ctx context.Context, cfg Config, logger *slog.Logger) (*Server, error) {
	if cfg.Listen == "" {
		return nil, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for probes on %s: %w: choose another --health-listen", cfg.Listen, err)
	}
	s := &Server{
		states: health.NewServer(),
		server: grpc.NewServer(grpc.MaxConcurrentStreams(maxCalls), grpc.MaxRecvMsgSize(maxRequestBytes),
			grpc.MaxHeaderListSize(maxHeaderBytes), grpc.ConnectionTimeout(connectTimeout)),
		served: make(chan error, 1),
		logger: logger,
	}
	s.states.SetServingStatus(Readiness, healthv1.HealthCheckResponse_NOT_SERVING)
	healthv1.RegisterHealthServer(s.server, s.states)
	go func() { s.served <- s.server.Serve(filelimit.Listener(listener, logger)) }()
	return s, nil
}

// Follow makes readiness follow a check until ctx is done; then the process is not ready for good.
// The check returns why it is not, within its context. Follow logs each change, and again why the
// process is not ready yet or still. Call it once.
func (s *Server) Follow(ctx context.Context, check func(context.Context) error) {
	if s == nil {
		return
	}
	defer s.states.SetServingStatus(Readiness, healthv1.HealthCheckResponse_NOT_SERVING)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	ready, notice := false, time.Now().Add(noticeAfter)
	for {
		err := Check(ctx, check)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil && !ready:
			s.states.SetServingStatus(Readiness, healthv1.HealthCheckResponse_SERVING)
			s.logger.Info("ready")
		case err != nil && (ready || !time.Now().Before(notice)):
			notice = time.Now().Add(noticeEvery)
			s.states.SetServingStatus(Readiness, healthv1.HealthCheckResponse_NOT_SERVING)
			s.logger.Warn("not ready", "reason", err)
		}
		ready = err == nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Check returns what a check of readiness returns, within the time that it may take.
func Check(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return check(ctx)
}

// Close ends the server and its calls.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	s.server.Stop()
	if err := <-s.served; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // stopped before it began
		return fmt.Errorf("answer probes: %w", err)
	}
	return nil
}
