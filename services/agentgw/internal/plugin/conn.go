package plugin

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// ErrAddress says that a player's address, or the name of an agent that attaches itself, cannot be
// one as it is written.
var ErrAddress = errors.New("plug-in")

// ErrBusy says that the bound on connections is reached and all of them are in use.
var ErrBusy = errors.New("too many plug-ins at once")

const (
	// A gRPC server of any language tolerates pings every five minutes; the turn's deadline finds a
	// hanging peer sooner.
	keepaliveTime    = 6 * time.Minute
	keepaliveTimeout = 20 * time.Second

	dialBaseDelay  = 100 * time.Millisecond
	dialMaxDelay   = 2 * time.Second
	connectTimeout = 5 * time.Second

	// secureScheme begins the address of a plug-in that is dialled with TLS.
	secureScheme = "grpcs://"
)

// retryConfig repeats a call whose connection was lost or refused, or that the agent cannot answer
// now. Its parameter is the first wait in seconds, to which gRPC adds a fifth of jitter as to the
// others. This is the only layer that tries an agent that answers again at once: ErrAgain tells the
// callers not to.
const retryConfig = `{
  "methodConfig": [{
    "name": [{"service": "toolsandbox.agent.v1.AgentService"}],
    "retryPolicy": {
      "maxAttempts": 5,
      "initialBackoff": "%.3fs",
      "maxBackoff": "2s",
      "backoffMultiplier": 3,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
}`

// pool keeps one connection per address.
type pool struct {
	cfg Config

	mu    sync.Mutex
	conns map[string]*pooled
	clock uint64
}

// pooled is one connection and who uses it.
type pooled struct {
	conn *grpc.ClientConn
	uses int
	used uint64 // the pool's clock when it was last taken
}

func newPool(cfg Config) *pool { return &pool{cfg: cfg, conns: make(map[string]*pooled)} }

// take returns the connection to an address. The caller calls release when its call has ended.
func (p *pool) take(address string) (conn *grpc.ClientConn, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := p.conns[address]
	if entry == nil {
		if err := p.makeRoom(); err != nil {
			return nil, nil, err
		}
		dialled, err := p.dial(address)
		if err != nil {
			return nil, nil, err
		}
		entry = &pooled{conn: dialled}
		p.conns[address] = entry
	}
	p.clock++
	entry.used = p.clock
	entry.uses++
	return entry.conn, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		entry.uses--
	}, nil
}

// makeRoom closes the connection that nobody uses and that was not used for longest, if the pool is
// full.
func (p *pool) makeRoom() error {
	if len(p.conns) < p.cfg.Connections {
		return nil
	}
	oldest := ""
	for address, entry := range p.conns {
		if entry.uses == 0 && (oldest == "" || entry.used < p.conns[oldest].used) {
			oldest = address
		}
	}
	if oldest == "" {
		return fmt.Errorf("%w: %d connections are in use", ErrBusy, p.cfg.Connections)
	}
	err := p.conns[oldest].conn.Close()
	delete(p.conns, oldest)
	return err
}

func (p *pool) dial(address string) (*grpc.ClientConn, error) {
	target, secure := strings.CutPrefix(address, secureScheme)
	if err := player.CheckAddress(target); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	security := insecure.NewCredentials()
	if secure {
		security = credentials.NewTLS(&tls.Config{RootCAs: p.cfg.Roots, MinVersion: tls.VersionTLS12})
	}
	conn, err := grpc.NewClient("dns:///"+target,
		grpc.WithTransportCredentials(security),
		grpc.WithStatsHandler(otelgrpc.NewClientHandler()),
		grpc.WithDefaultServiceConfig(fmt.Sprintf(retryConfig, cmp.Or(p.cfg.RetryWait, attach.FirstPause).Seconds())),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(p.cfg.MessageBytes), grpc.MaxCallSendMsgSize(p.cfg.MessageBytes),
			grpc.MaxRetryRPCBufferSize(p.cfg.MessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: dialBaseDelay, Multiplier: 2, Jitter: 0.2, MaxDelay: dialMaxDelay},
			MinConnectTimeout: connectTimeout,
		}))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	return conn, nil
}

// advice says what helps if the two sides do not agree on TLS, which neither gRPC nor the library
// for TLS puts plainly.
func advice(address, message string) string {
	secure := strings.HasPrefix(address, secureScheme)
	switch {
	case secure && strings.Contains(message, "first record does not look like a TLS handshake"):
		return "; it may speak plain text, without TLS: then its address begins with grpc://"
	case !secure && strings.Contains(message, "looked like an HTTP/1.1 header"):
		return "; a web server may answer there"
	case !secure && strings.Contains(message, "error reading server preface"):
		return "; it may expect TLS: then its address begins with " + secureScheme
	case secure && strings.Contains(message, "unknown authority"):
		return "; --agent-ca names the file with the authority to trust"
	}
	return ""
}

// close closes all connections; calls on them fail.
func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for address, entry := range p.conns {
		errs = append(errs, entry.conn.Close())
		delete(p.conns, address)
	}
	return errors.Join(errs...)
}
