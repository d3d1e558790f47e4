package httpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/proxy"
)

// errNotSent is the write error of the request that Probe does not send.
var errNotSent = errors.New("only the connection was wanted")

// Probe connects to an address as Send does, with the environment's proxy and with TLS for https,
// but sends no request. For http:// behind a proxy it reaches only the proxy. The error says what
// failed.
func (c *Client) Probe(ctx context.Context, address string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	parsed, err := url.Parse(address)
	if err != nil {
		return errors.New("the base URL cannot be used: " + reason(err))
	}
	var connected, reached atomic.Bool // with TLS, if there is any
	connected.Store(parsed.Scheme == "http")
	trace := &httptrace.ClientTrace{TLSHandshakeDone: func(_ tls.ConnectionState, err error) { connected.Store(err == nil) }}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodHead, address, nil)
	if err != nil {
		return errors.New("the base URL cannot be used: " + reason(err))
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSHandshakeTimeout: dialTimeout,
		DisableKeepAlives:   true,
		DialContext: func(ctx context.Context, network, target string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, target)
			if err != nil {
				return nil, err
			}
			return &noSendConn{Conn: conn, connected: &connected, reached: &reached}, nil
		},
	}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	switch {
	case err == nil: // impossible: the request was not sent
		return response.Body.Close()
	case reached.Load(): // ignore the transport's error about the unsent request
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("no connection within %s%s", limit, proxy.Named(parsed))
	default:
		return fmt.Errorf("%s%s%s", reason(err), proxy.Named(parsed), tlsHint(err))
	}
}

// noSendConn is a connection that does not send the request.
type noSendConn struct {
	net.Conn
	// connected: the next write is the request. reached: the request was written.
	connected, reached *atomic.Bool
}

// Write implements net.Conn.
func (w *noSendConn) Write(raw []byte) (int, error) {
	if w.connected.Load() {
		w.reached.Store(true)
		return 0, errNotSent
	}
	return w.Conn.Write(raw)
}

// tlsHint returns a remedy if the two sides disagree on TLS.
func tlsHint(err error) string {
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return "; SSL_CERT_FILE names the file with the authorities to trust"
	}
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
		return "; it may speak plain text, without TLS: then its address begins with http://"
	}
	return ""
}
