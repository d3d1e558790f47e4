package wire

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

// errWithheld is why the request of Reach is never sent.
var errWithheld = errors.New("only the connection was wanted")

// Reach connects to an address as Send does, over a proxy where the environment names one and with
// TLS for https, and sends no request: nobody is asked and nothing is counted. Of http:// behind a
// proxy it reaches the proxy. The error says what failed.
func (c *Client) Reach(ctx context.Context, address string, limit time.Duration) error {
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
			return &withholding{Conn: conn, connected: &connected, reached: &reached}, nil
		},
	}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	switch {
	case err == nil: // cannot be: the request was not sent
		return response.Body.Close()
	case reached.Load(): // whichever error the transport returns of a connection that it then closes
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("no connection within %s%s", limit, proxy.Named(parsed))
	default:
		return fmt.Errorf("%s%s%s", reason(err), proxy.Named(parsed), advice(err))
	}
}

// withholding is a connection on which no request goes out.
type withholding struct {
	net.Conn
	// connected says that what is written next is the request, reached that it was.
	connected, reached *atomic.Bool
}

// Write implements net.Conn.
func (w *withholding) Write(raw []byte) (int, error) {
	if w.connected.Load() {
		w.reached.Store(true)
		return 0, errWithheld
	}
	return w.Conn.Write(raw)
}

// advice says what helps where the two sides do not agree on TLS.
func advice(err error) string {
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return "; SSL_CERT_FILE names the file with the authorities to trust"
	}
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
		return "; it may speak plain text, without TLS: then its address begins with http://"
	}
	return ""
}
