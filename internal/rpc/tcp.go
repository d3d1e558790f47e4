package rpc

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver/dns"

	"github.com/toolsandbox/toolsandbox/internal/access"
	"github.com/toolsandbox/toolsandbox/internal/bom"
	"github.com/toolsandbox/toolsandbox/internal/filelimit"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

// idleTimeout is how long a connection without calls stays open. Nobody dials a tool host that has
// left for ever.
const idleTimeout = 5 * time.Minute

// streamWorkers is the number of goroutines that a server keeps for calls: their stacks have grown
// before. Further concurrent calls get a goroutine each.
const streamWorkers = 64

// MaxHeaderBytes bounds the headers of a call, most of which are a token of up to 16 KiB. A server
// has them in memory before it knows who calls; gRPC's default is 16 MiB.
const MaxHeaderBytes = 64 << 10

// setResolutionInterval allows more frequent name resolution than gRPC's default. It is a
// process-wide setting that must precede the first connection.
var setResolutionInterval = sync.OnceFunc(func() { dns.SetMinResolutionInterval(resolutionInterval) })

// tcp is the transport over the network.
type tcp struct {
	cfg       Config
	policy    *access.Policy // nil: every client has all rights
	telemetry *telemetry.Telemetry
	logger    *slog.Logger
}

// newTCP reads the files of cfg that say who may connect, so that a process with a wrong one ends
// at once.
func newTCP(cfg Config, options Options) (*tcp, error) {
	t := &tcp{cfg: cfg, telemetry: options.Telemetry, logger: options.Logger}
	if _, _, err := cfg.loadTLS(); err != nil {
		return nil, err
	}
	if cfg.AccessFile != "" && cfg.Service.isPublic() {
		var err error
		if t.policy, err = access.Load(cfg.AccessFile); err != nil {
			return nil, fmt.Errorf("--access-file: %w", err)
		}
	}
	return t, nil
}

func (t *tcp) open(s Service, g *guard) (server, error) {
	creds, err := t.cfg.serverCredentials()
	if err != nil {
		return nil, err
	}
	listener, err := t.listen(s)
	if err != nil {
		return nil, err
	}
	options := []grpc.ServerOption{
		grpc.Creds(creds),
		grpc.MaxSendMsgSize(t.cfg.MaxMessageBytes),
		grpc.MaxHeaderListSize(MaxHeaderBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout, MaxConnectionAge: connectionAge}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMinimum, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(g.unary),
		grpc.StreamInterceptor(g.stream),
		grpc.WaitForHandlers(true),
		grpc.NumStreamWorkers(streamWorkers),
	}
	options = append(options, g.receiveOptions(t.cfg.MaxMessageBytes)...)
	admission := newGate(t.cfg, t.policy, s, listener.Addr(), t.logger)
	options = append(options, admission.options()...)
	if t.telemetry.Enabled() {
		options = append(options, grpc.StatsHandler(otelgrpc.NewServerHandler(withoutSpans)))
	}
	return &tcpServer{Server: grpc.NewServer(options...), listener: filelimit.Listener(listener, t.logger), gate: admission}, nil
}

// withoutSpans measures calls and forwards their trace. Services describe what they do in spans of
// their own, one for a call.
var withoutSpans = otelgrpc.WithTracerProvider(noop.NewTracerProvider())

// tcpServer is a gRPC server with its listener.
type tcpServer struct {
	*grpc.Server
	listener net.Listener
	gate     *gate
}

// Address implements server.
func (s *tcpServer) Address() string { return s.listener.Addr().String() }

// Serve implements server.
func (s *tcpServer) Serve() error {
	defer s.gate.run()()
	return s.Server.Serve(s.listener)
}

func (t *tcp) listen(s Service) (net.Listener, error) {
	address := t.cfg.listen(s)
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: port of %s is in use: stop the other process or choose another --listen", s, address)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: listen on %s: %w: choose another --listen", s, address, err)
	}
	return listener, nil
}

func (t *tcp) dial(s Service, address string) (conn, error) {
	creds, err := t.cfg.clientCredentials()
	if err != nil {
		return nil, err
	}
	token, err := t.cfg.token()
	if err != nil {
		return nil, err
	}
	options := append(clientOptions(t.cfg, t.telemetry), grpc.WithTransportCredentials(creds))
	if t.cfg.Remote && s.isPublic() && token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer{t.cfg}))
	}
	target := address
	if !strings.Contains(address, "://") {
		target = "dns:///" + address
	}
	setResolutionInterval()
	conn, err := grpc.NewClient(target, options...)
	if err != nil {
		return nil, fmt.Errorf("--%s-addr: %s: %w", s, address, err)
	}
	return conn, nil
}

func (t *tcp) address(s Service) string { return t.cfg.addresses(s)[0] }

// announce implements transport. A server that listens on all addresses of its machine announces
// the machine's name.
func (t *tcp) announce(srv server) (string, error) {
	if t.cfg.Announce != "" {
		return t.cfg.Announce, nil
	}
	host, port, err := net.SplitHostPort(srv.Address())
	if err != nil {
		return "", fmt.Errorf("address %s: %w", srv.Address(), err)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			return "", fmt.Errorf("name of this machine: %w: give --toolhost-announce", err)
		}
	}
	return net.JoinHostPort(host, port), nil
}

func clientOptions(cfg Config, t *telemetry.Telemetry) []grpc.DialOption {
	options := []grpc.DialOption{
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(cfg.MaxMessageBytes), grpc.MaxCallSendMsgSize(cfg.MaxMessageBytes)),
		grpc.WithIdleTimeout(idleTimeout),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: dialBaseDelay, Multiplier: 2, Jitter: 0.2, MaxDelay: dialMaxDelay},
			MinConnectTimeout: dialMaxDelay,
		}),
	}
	if t.Enabled() {
		options = append(options, grpc.WithStatsHandler(otelgrpc.NewClientHandler(withoutSpans)))
	}
	return options
}

func (c Config) clientCredentials() (credentials.TransportCredentials, error) {
	if !c.usesTLS() {
		return insecure.NewCredentials(), nil
	}
	certificates, pool, err := c.loadTLS()
	if err != nil {
		return nil, err
	}
	return credentials.NewTLS(&tls.Config{Certificates: certificates, RootCAs: pool, MinVersion: tls.VersionTLS13}), nil
}

func (c Config) serverCredentials() (credentials.TransportCredentials, error) {
	if c.TLSCert == "" {
		return insecure.NewCredentials(), nil
	}
	certificates, pool, err := c.loadTLS()
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS13}
	if pool != nil {
		cfg.ClientCAs, cfg.ClientAuth = pool, tls.RequireAndVerifyClientCert
	}
	if pool != nil && c.AccessFile != "" && c.Service.isPublic() {
		cfg.ClientAuth = tls.VerifyClientCertIfGiven // a token may stand for it
	}
	return identifying{credentials.NewTLS(cfg), c.TLSIdentity}, nil
}

// loadTLS reads the PEM files. There is no certificate without TLSCert, and no pool without TLSCA.
func (c Config) loadTLS() ([]tls.Certificate, *x509.CertPool, error) {
	var certificates []tls.Certificate
	if c.TLSCert != "" {
		cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return nil, nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w", c.TLSCert, c.TLSKey, err)
		}
		certificates = append(certificates, cert)
	}
	if c.TLSCA == "" {
		return certificates, nil, nil
	}
	pem, err := bom.ReadFile(c.TLSCA)
	if err != nil {
		return nil, nil, fmt.Errorf("--tls-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, nil, fmt.Errorf("--tls-ca %s: no PEM certificate in it", c.TLSCA)
	}
	return certificates, pool, nil
}
