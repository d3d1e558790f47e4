// Package httpclient sends requests to model providers over HTTP and classifies failures.
package httpclient

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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bom"
	"github.com/toolsandbox/toolsandbox/internal/filelimit"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

const (
	// maxErrorBytes bounds the bytes of an error body that are read.
	maxErrorBytes = 64 << 10

	dialTimeout = 10 * time.Second
	idleTimeout = 90 * time.Second

	// readBuffer and writeBuffer are the bytes that each connection keeps while it waits. A body that
	// exceeds them is not copied through them.
	readBuffer, writeBuffer = 2 << 10, 1 << 10
)

// Client sends requests. Safe for concurrent use. The caller of NewClient closes it.
type Client struct {
	// A transport follows no redirects, which would send the key to another host.
	http     *http.Transport
	h2c      *http.Transport
	maxBytes int64
}

// plainHTTP2 is the scheme of servers that speak HTTP/2 without TLS, which cannot be negotiated.
const plainHTTP2 = "h2c://"

// compressions are encodings that no request accepts. Other words, such as UTF-8, say nothing of
// the body.
var compressions = []string{"br", "deflate", "zstd", "compress"}

// NewClient returns a client that reads answers of up to maxBytes and opens up to connections to
// each host. HTTP/2 multiplexes many requests over one connection. Over HTTP/1.1 each request needs
// its own and waits if all are in use.
func NewClient(maxBytes int64, connections int) *Client {
	negotiated, plain := new(http.Protocols), new(http.Protocols)
	negotiated.SetHTTP1(true)
	negotiated.SetHTTP2(true)
	plain.SetUnencryptedHTTP2(true)
	return &Client{maxBytes: maxBytes, http: newTransport(connections, negotiated), h2c: newTransport(connections, plain)}
}

func newTransport(connections int, protocols *http.Protocols) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		Protocols:           protocols,
		TLSHandshakeTimeout: dialTimeout,
		MaxConnsPerHost:     connections,
		MaxIdleConns:        connections,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     idleTimeout,
		ReadBufferSize:      readBuffer,
		WriteBufferSize:     writeBuffer,
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
		err, exhausted := filelimit.WithLimit(cause(err)) // a retry would hide the exhausted descriptors
		failure = &provider.Failure{Network: true, Retryable: !exhausted, Detail: err.Error()}
	}
	failure.Detail = string(Redact([]byte(failure.Detail), to.Secret))
	return nil, failure
}

func (c *Client) send(ctx context.Context, to provider.Endpoint, r *provider.Request) (body []byte, err error) {
	transport, base := c.http, to.BaseURL
	if host, ok := strings.CutPrefix(base, plainHTTP2); ok {
		transport, base = c.h2c, "http://"+host
	}
	method := http.MethodPost
	if r.Body == nil {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, &provider.Failure{Detail: "the base URL cannot be used: " + reason(err)}
	}
	for _, header := range []http.Header{r.Header, to.Header} {
		for name, values := range header {
			request.Header[name] = values
		}
	}
	if r.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/json")
	if user := request.URL.User; user != nil && request.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, failureOf(response, to, r)
	}
	if encoding := response.Header.Get("Content-Encoding"); slices.Contains(compressions, strings.ToLower(encoding)) {
		return nil, &provider.Failure{Detail: fmt.Sprintf("the answer has the encoding %.20q, which the request does not accept: only gzip or none", encoding)}
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
	return bom.Trim(body), nil
}

// cause removes the address from an error. The user knows it, and it may contain a password.
func cause(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}

func reason(err error) string { return cause(err).Error() }

// failureOf returns the failure of a response without a status of success.
func failureOf(response *http.Response, to provider.Endpoint, r *provider.Request) *provider.Failure {
	raw, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes)) // a partial body is useful too
	parsed := parseAPIError(bom.Trim(raw), to.Errors)
	failure := parsed.failure(response.StatusCode, to.Secret)
	if hint := redirectHint(response, to, r); hint != "" {
		failure.Detail = strings.TrimPrefix(failure.Detail+"; "+hint, noDetails+"; ")
	} else {
		failure.Detail += askedAddress(response, to, r)
	}
	if failure.NoCredit {
		return failure
	}
	failure.RetryAfter = cmp.Or(retryAfter(response.Header), failure.RetryAfter)
	switch response.Header.Get("X-Should-Retry") { // overrides the status
	case "true":
		failure.Retryable = true
	case "false":
		failure.Retryable = false
	}
	return failure
}

// version matches an address that ends with a version, as those of most providers do.
var version = regexp.MustCompile(`/v[0-9]+[a-z0-9]*/?$`)

// askedAddress returns the suffix of a message that names the address of the request, without user
// and query, and the address that may be meant if there is nothing.
func askedAddress(response *http.Response, to provider.Endpoint, r *provider.Request) string {
	at := *response.Request.URL
	at.User, at.RawQuery = nil, ""
	asked := " (at " + at.String()
	if response.StatusCode == http.StatusNotFound && !to.Official {
		asked += meantAddress(to.BaseURL, r.Path)
	}
	return string(Redact([]byte(asked), to.Secret)) + ")"
}

// meantAddress suggests a base URL where there is nothing: one without the path that every request
// adds, or with a version.
func meantAddress(base, path string) string {
	path, _, _ = strings.Cut(path, "?")
	base, whole := strings.CutSuffix(strings.TrimSuffix(base, "/"), path)
	switch {
	case !whole && version.MatchString(base):
		return ""
	case !whole:
		base += "/v1"
	}
	return "; did you mean --base-url " + base + "?"
}

// redirectHint returns the target of a redirect and a remedy, "" if the response is no redirect. It
// omits the query and the user, which may be secret.
func redirectHint(response *http.Response, to provider.Endpoint, r *provider.Request) string {
	if response.StatusCode >= http.StatusBadRequest {
		return ""
	}
	at, err := response.Location()
	if err != nil {
		return ""
	}
	at.User, at.RawQuery, at.ForceQuery, at.Fragment = nil, "", false, ""
	path, _, _ := strings.Cut(r.Path, "?")
	base, ok := strings.CutSuffix(at.String(), path)
	if ok && base != to.BaseURL {
		return fmt.Sprintf("it redirects to %s, which nobody follows: give this address as --base-url", excerpt(base, to.Secret))
	}
	return fmt.Sprintf("it redirects to %s, which nobody follows: if the provider is there, give its address as --base-url", excerpt(at.String(), to.Secret))
}

// retryable reports whether the same request may succeed later.
func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	default:
		return status >= http.StatusInternalServerError
	}
}

// retryAfter returns the wait that the headers ask for, given as milliseconds, seconds or a date.
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

// seconds converts without overflow and caps at a day.
func seconds(s float64) time.Duration {
	const day = 24 * 60 * 60
	return time.Duration(min(s, day) * float64(time.Second))
}
