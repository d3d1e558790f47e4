package mesh

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

// tcp reaches peers over the network.
type tcp struct {
	cfg       Config
	telemetry *telemetry.Telemetry
	logger    *slog.Logger
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

func (t *tcp) dial(s Service) ([]*grpc.ClientConn, error) {
	creds, err := t.cfg.clientCredentials()
	if err != nil {
		return nil, err
	}
	var conns []*grpc.ClientConn
	for _, address := range t.cfg.addresses(s) {
		w := &waits{service: s, address: address, client: t.cfg.Remote, logger: t.logger}
		if w.client {
			w.patience = t.cfg.Wait
		}
		options := append(clientOptions(t.cfg, t.telemetry, w), grpc.WithTransportCredentials(creds))
		target := address
		if !strings.Contains(address, "://") {
			target = "dns:///" + address
		}
		conn, err := grpc.NewClient(target, options...)
		if err != nil {
			return nil, fmt.Errorf("--%s-addr: %s: %w", s, address, err)
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

// connectNATS connects to a NATS server over the network. A connection that is lost later is made
// again for ever.
func connectNATS(cfg Config, logger *slog.Logger) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("toolsandbox"),
		nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				logger.Warn("NATS connection lost, connecting again", "error", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			logger.Warn("NATS connection has an error", "error", err)
		}),
		nats.ReconnectHandler(func(conn *nats.Conn) { logger.Info("NATS connection is back", "server", conn.ConnectedUrlRedacted()) }),
	}
	if cfg.NATSCredentials != "" {
		options = append(options, nats.UserCredentials(cfg.NATSCredentials))
	}
	conn, err := nats.Connect(cfg.NATSURL, options...)
	if unparsed := (*url.Error)(nil); errors.As(err, &unparsed) {
		err = errors.New("no valid URL") // the error itself repeats the password
	}
	if err != nil {
		return nil, fmt.Errorf("NATS at %s cannot be reached: %w: start it or give another --nats-url", redact(cfg.NATSURL), err)
	}
	return conn, nil
}

// redact removes user names and passwords from NATS URLs.
func redact(urls string) string {
	parts := strings.Split(urls, ",")
	for i, part := range parts {
		if at := strings.LastIndex(part, "@"); at >= 0 {
			scheme := ""
			if colon := strings.Index(part, "://"); colon >= 0 {
				scheme = part[:colon+3]
			}
			parts[i] = scheme + part[at+1:]
		}
	}
	return strings.Join(parts, ",")
}

func (c Config) clientCredentials() (credentials.TransportCredentials, error) {
	if c.TLSCert == "" {
		return insecure.NewCredentials(), nil
	}
	cert, pool, err := c.loadTLS()
	if err != nil {
		return nil, err
	}
	return credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool, MinVersion: tls.VersionTLS13}), nil
}

func (c Config) serverCredentials() (credentials.TransportCredentials, error) {
	if c.TLSCert == "" {
		return insecure.NewCredentials(), nil
	}
	cert, pool, err := c.loadTLS()
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
	if pool != nil {
		cfg.ClientCAs, cfg.ClientAuth = pool, tls.RequireAndVerifyClientCert
	}
	return credentials.NewTLS(cfg), nil
}

// loadTLS reads the PEM files; the pool is nil without a certificate authority of our own.
func (c Config) loadTLS() (tls.Certificate, *x509.CertPool, error) {
	cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w", c.TLSCert, c.TLSKey, err)
	}
	if c.TLSCA == "" {
		return cert, nil, nil
	}
	pem, err := os.ReadFile(c.TLSCA)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("--tls-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return tls.Certificate{}, nil, fmt.Errorf("--tls-ca %s: no PEM certificate in it", c.TLSCA)
	}
	return cert, pool, nil
}
