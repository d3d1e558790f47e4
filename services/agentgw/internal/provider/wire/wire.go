// Package wire sends requests to model providers over HTTP and says how that failed.
package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/descriptor"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

const (
	// maxErrorBytes bounds how much of an error's body is read.
	maxErrorBytes = 64 << 10

	dialTimeout = 10 * time.Second
	idleTimeout = 90 * time.Second
)

// Client sends requests. Safe for concurrent use; whoever makes it closes it.
type Client struct {
	http     *http.Client
	h2c      *http.Client
	maxBytes int64
}

// plainHTTP2 is the scheme of servers that speak HTTP/2 without TLS. They cannot be told from
// others by asking.
const plainHTTP2 = "h2c://"

// NewClient returns a client that reads answers of up to maxBytes and has up to connections to each
// host. With a host that speaks HTTP/2 many requests share one; with others each request has one
// for itself, and waits if there are too many.
func NewClient(maxBytes int64, connections int) *Client {
	negotiated, plain := new(http.Protocols), new(http.Protocols)
	negotiated.SetHTTP1(true)
	negotiated.SetHTTP2(true)
	plain.SetUnencryptedHTTP2(true)
	return &Client{maxBytes: maxBytes, http: newHTTP(connections, negotiated), h2c: newHTTP(connections, plain)}
}

func newHTTP(connections int, protocols *http.Protocols) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         dialer.DialContext,
			Protocols:           protocols,
			TLSHandshakeTimeout: dialTimeout,
			MaxConnsPerHost:     connections,
			MaxIdleConns:        connections,
			MaxIdleConnsPerHost: connections,
			IdleConnTimeout:     idleTimeout,
		},
		// A redirect would carry the key to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Close closes idle connections.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.h2c.CloseIdleConnections()
}

// Send sends a request once and returns the body of a successful answer. The error is a
// *provider.Failure, or that of ctx.
func (c *Client) Send(ctx context.Context, to provider.Endpoint, r *provider.Request, timeout time.Duration) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := c.send(limited, to, r)
	var failure *provider.Failure
	switch {
	case err == nil:
		return body, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &failure):
	case limited.Err() != nil:
		failure = &provider.Failure{Network: true, Timeout: true, Retryable: true, Charged: true, Detail: fmt.Sprintf("no answer within %s", timeout)}
	default:
		err, exhausted := descriptor.Explain(cause(err)) // to try again would keep silent about it
		failure = &provider.Failure{Network: true, Retryable: !exhausted, Detail: err.Error()}
	}
	failure.Detail = string(Hide([]byte(failure.Detail), to.Secret))
	return nil, failure
}

func (c *Client) send(ctx context.Context, to provider.Endpoint, r *provider.Request) (body []byte, err error) {
	client, base := c.http, to.BaseURL
	if host, ok := strings.CutPrefix(base, plainHTTP2); ok {
		client, base = c.h2c, "http://"+host
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, &provider.Failure{Detail: "the base URL cannot be used: " + reason(err)}
	}
	for _, header := range []http.Header{r.Header, to.Header} {
		for name, values := range header {
			request.Header[name] = values
		}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, refused(response, to, r)
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, c.maxBytes+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, &provider.Failure{Network: true, Retryable: true, Charged: true, Detail: "the answer broke off: " + reason(err)}
	}
	if int64(len(body)) > c.maxBytes {
		return nil, &provider.Failure{Status: response.StatusCode, Detail: fmt.Sprintf("an answer of more than %d bytes", c.maxBytes)}
	}
	return body, nil
}

// cause leaves out the address, which the user knows and which may hold a password.
func cause(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}

func reason(err error) string { return cause(err).Error() }

// refused describes an answer that is no success.
func refused(response *http.Response, to provider.Endpoint, r *provider.Request) *provider.Failure {
	raw, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes)) // what came is worth telling even if it broke off
	said := readComplaint(raw)
	failure := said.failure(response.StatusCode, to.Secret)
	if hint := redirect(response, to, r); hint != "" {
		failure.Detail = strings.TrimPrefix(failure.Detail+"; "+hint, noDetails+"; ")
	}
	if failure.Unpaid {
		return failure
	}
	failure.RetryAfter = cmp.Or(retryAfter(response.Header), failure.RetryAfter)
	switch response.Header.Get("X-Should-Retry") { // the provider's word counts more than the status
	case "true":
		failure.Retryable = true
	case "false":
		failure.Retryable = false
	}
	return failure
}

// redirect says where an answer sends the request and what to do about it, "" if it sends it
// nowhere. A query may hold what nobody else may know, and so may a user.
func redirect(response *http.Response, to provider.Endpoint, r *provider.Request) string {
	if response.StatusCode >= http.StatusBadRequest {
		return ""
	}
	at, err := response.Location()
	if err != nil {
		return ""
	}
	at.User, at.RawQuery, at.ForceQuery, at.Fragment = nil, "", false, ""
	path, _, _ := strings.Cut(r.Path, "?")
	base, whole := strings.CutSuffix(at.String(), path)
	if whole && base != to.BaseURL {
		return fmt.Sprintf("it redirects to %s, which nobody follows: give this address as --base-url", excerpt(base, to.Secret))
	}
	return fmt.Sprintf("it redirects to %s, which nobody follows: if the provider is there, give its address as --base-url", excerpt(at.String(), to.Secret))
}

// retryable says whether the same request may succeed later.
func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	default:
		return status >= http.StatusInternalServerError
	}
}

// retryAfter reads how long the provider asks to wait: milliseconds, seconds or a date.
func retryAfter(header http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	text := header.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return seconds(s)
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0
	}
	return max(until.Sub(now), 0)
}

// seconds converts without overflow.
func seconds(s float64) time.Duration {
	const day = 24 * 60 * 60
	return time.Duration(min(s, day) * float64(time.Second))
}
