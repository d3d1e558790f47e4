package plugin

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// ErrAddress means that a player's address, or the name of an attached agent, is invalid.
var ErrAddress = errors.New("plug-in")

// ErrTooManyConnections means that the bound on connections is reached and all of them are in use.
var ErrTooManyConnections = errors.New("too many plug-ins at once")

const (
	// gRPC servers of any language accept pings every five minutes. The turn's deadline detects a
	// hanging peer sooner.
	keepaliveTime    = 6 * time.Minute
	keepaliveTimeout = 20 * time.Second

	dialBaseDelay  = 100 * time.Millisecond
	dialMaxDelay   = 2 * time.Second
	connectTimeout = 5 * time.Second

	// secureScheme is the scheme of plug-ins that are dialled with TLS.
	secureScheme = "grpcs://"
)

// retryConfig is the gRPC service config that retries a call whose connection failed, or that the
// agent answered with UNAVAILABLE. Its parameter is the first wait in seconds. gRPC adds a fifth of
// jitter to each wait. No other layer retries: ErrRetriesExhausted tells callers not to.
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

// pool holds one connection per address.
type pool struct {
	cfg Config

	mu    sync.Mutex
	conns map[string]*pooled
	clock uint64
}

// pooled is one connection with its use count.
type pooled struct {
	conn    *grpc.ClientConn
	uses    int
	lastUse uint64 // pool.clock at the last take
}

func newPool(cfg Config) *pool { return &pool{cfg: cfg, conns: make(map[string]*pooled)} }

// acquire returns the connection to an address. The caller calls release when its call has ended.
func (p *pool) acquire(address string) (conn *grpc.ClientConn, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := p.conns[address]
	if entry == nil {
		if err := p.evict(); err != nil {
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
	entry.lastUse = p.clock
	entry.uses++
	return entry.conn, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		entry.uses--
	}, nil
}

// evict closes the least recently used idle connection if the pool is full.
func (p *pool) evict() error {
	if len(p.conns) < p.cfg.Connections {
		return nil
	}
	oldest := ""
	for address, entry := range p.conns {
		if entry.uses == 0 && (oldest == "" || entry.lastUse < p.conns[oldest].lastUse) {
			oldest = address
		}
	}
	if oldest == "" {
		return fmt.Errorf("%w: %d connections are in use", ErrTooManyConnections, p.cfg.Connections)
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
		grpc.WithDefaultServiceConfig(fmt.Sprintf(retryConfig, cmp.Or(p.cfg.RetryWait, attach.InitialBackoff).Seconds())),
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

// tlsHint returns a remedy if the two sides disagree on TLS. The errors of gRPC and crypto/tls do
// not name one.
func tlsHint(address, message string) string {
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
