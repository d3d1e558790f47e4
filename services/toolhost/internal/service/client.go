package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

const (
	// maxBody is the size of an answer in bytes.
	maxBody = 1 << 20
	// maxTries is how often one request is sent, the first time included.
	maxTries = 4
	// firstPause and longestPause bound the pauses between tries before they are jittered by half.
	firstPause, longestPause = 200 * time.Millisecond, 2 * time.Second
	// idleConnections is how many connections to one service stay open.
	idleConnections = 16
)

// ClientConfig says how the hosted services are asked.
type ClientConfig struct {
	// Key is sent with every request; without it none is sent.
	Key Key
	// BaseURL replaces scheme and host of every request; empty leaves them.
	BaseURL string
	// Timeout bounds one request with all its tries; it must be more than 0.
	Timeout time.Duration
	// Logger is told why requests failed.
	Logger *slog.Logger
}

// CheckAddress says what is wrong with a base address. The text does not repeat it, for it may hold
// a password.
func CheckAddress(text string) error {
	_, err := parseAddress(text)
	return err
}

// parseAddress parses a base address; nil for an empty one.
func parseAddress(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	base, err := url.Parse(text)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("no address of the form https://host:port/path")
	}
	return base, nil
}

// Client asks the hosted services over HTTPS. It is safe for concurrent use. Whoever made it closes
// it.
type Client struct {
	cfg  ClientConfig
	base *url.URL
	http *http.Client
}

// NewClient returns a client. The error is that of CheckAddress.
func NewClient(cfg ClientConfig) (*Client, error) {
	base, err := parseAddress(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("hosted services: %w", err)
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     time.Minute,
		TLSHandshakeTimeout: cfg.Timeout,
	}
	return &Client{cfg: cfg, base: base, http: &http.Client{
		Transport: transport,
		// The key must not follow a redirect to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes the connections that nobody uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Ask sends a request and returns the body of the answer, which is JSON text. It tries again after
// answers 429 and 5xx and after failures of the network, with jittered pauses, until the timeout
// has passed. The error is a *python.Exception, in Python's words, which a tool may pass on: it
// names the address of the service itself, never the base address or the key. Any other error is
// the cause of ctx's end.
func (c *Client) Ask(ctx context.Context, address string, params *python.Dict) (body string, err error) {
	if c.cfg.Key == (Key{}) {
		return "", &python.Exception{Type: "PermissionError", Text: "Please provide 'RAPID_API_KEY' in environment variable. " +
			"You can find your API key by following https://docs.rapidapi.com/v1.0/docs/keys"}
	}
	target, err := url.Parse(address)
	if err != nil {
		return "", &python.Exception{Type: "ConnectionError", Text: "No service at " + address}
	}
	target.RawQuery = query(params)
	ctx, span := otel.Tracer("toolhost").Start(ctx, "GET "+target.Host, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", http.MethodGet), attribute.String("server.address", target.Host), attribute.String("url.path", target.Path)))
	defer span.End()
	a := &attempt{client: c, target: target}
	body, err = a.retry(ctx)
	span.SetAttributes(attribute.Int("http.response.status_code", a.status), attribute.Int("http.request.resend_count", a.tries-1))
	if err != nil {
		span.SetStatus(otelcodes.Error, err.Error())
		c.cfg.Logger.WarnContext(ctx, "hosted service failed", "host", target.Host, "status", a.status, "tries", a.tries, "cause", a.cause, "error", err)
	}
	return body, err
}

// query encodes parameters in their order, as the Python client does.
func query(params *python.Dict) string {
	var pairs []string
	for _, item := range params.Items() {
		if !item.Value.IsNone() {
			pairs = append(pairs, url.QueryEscape(item.Key)+"="+url.QueryEscape(strings.ToValidUTF8(python.Text(item.Value), "\uFFFD")))
		}
	}
	return strings.Join(pairs, "&")
}

// attempt is one request with all its tries.
type attempt struct {
	client *Client
	target *url.URL
	// tries and status say how often it was sent and what the last status was, 0 if there was none.
	tries, status int
	// failure is what the last try raised, cause what the network said, for the log.
	failure *python.Exception
	cause   string
}

// retry sends the request until it is answered, cannot be, or the time is up.
func (a *attempt) retry(parent context.Context) (string, error) {
	timeout := a.client.cfg.Timeout
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, longestPause
	body, err := backoff.Retry(ctx, func() (string, error) { return a.try(ctx) },
		backoff.WithBackOff(pauses), backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(timeout))
	switch {
	case err == nil:
		return body, nil
	case parent.Err() != nil:
		return "", fmt.Errorf("ask %s: %w", a.target.Host, context.Cause(parent))
	default:
		return "", a.failure
	}
}

// try sends the request once. An error that is not permanent may be mended by another try; what it
// was is in a.failure.
func (a *attempt) try(ctx context.Context) (string, error) {
	a.tries++
	a.status = 0
	response, err := a.send(ctx)
	if err != nil {
		return "", a.lost(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read as far as it matters
	a.status = response.StatusCode
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return "", a.lost(ctx, err)
	}
	body, failure := decode(response.StatusCode, a.client.cfg.Key.redact(string(raw)), a.target.String())
	if failure == nil {
		return body, nil
	}
	a.failure, a.cause = failure, ""
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode < http.StatusInternalServerError {
		return "", backoff.Permanent(failure)
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		return "", backoff.RetryAfter(seconds)
	}
	return "", failure
}

// send makes the request and returns the answer, whose body is the caller's to close.
func (a *attempt) send(ctx context.Context) (*http.Response, error) {
	address := *a.target
	if base := a.client.base; base != nil {
		address.Scheme, address.User, address.Host = base.Scheme, base.User, base.Host
		address.Path = strings.TrimSuffix(base.Path, "/") + address.Path
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-RapidAPI-Key", *a.client.cfg.Key.secret)
	request.Header.Set("X-RapidAPI-Host", a.target.Host)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "toolsandbox")
	return a.client.http.Do(request)
}

// lost notes a failure of the network. Its cause names machines and ports, which are no part of
// what a tool raises.
func (a *attempt) lost(ctx context.Context, err error) error {
	a.cause = a.client.cfg.Key.redact(err.Error())
	pool := "HTTPSConnectionPool(host='" + a.target.Hostname() + "', port=443): "
	if ctx.Err() != nil {
		seconds := python.FormatFloat(a.client.cfg.Timeout.Seconds())
		a.failure = &python.Exception{Type: "requests.exceptions.ReadTimeout", Text: pool + "Read timed out. (read timeout=" + seconds + ")"}
		return backoff.Permanent(a.failure)
	}
	a.failure = &python.Exception{Type: "requests.exceptions.ConnectionError", Text: pool + "Max retries exceeded with url: " + a.target.RequestURI()}
	return a.failure
}

// decode returns the JSON text of an answer, or what is raised instead. As in the original the body
// of a refused request counts if it is JSON, for that is how services say that they found nothing;
// but not where it says that they could not look.
func decode(status int, body, address string) (string, *python.Exception) {
	raise := func(kind, text string) (string, *python.Exception) {
		return "", &python.Exception{Type: "requests.exceptions." + kind, Text: text}
	}
	failed := func() (string, *python.Exception) {
		side := "Client"
		if status >= http.StatusInternalServerError {
			side = "Server"
		}
		return raise("HTTPError", fmt.Sprintf("%d %s Error: %s for url: %s", status, side, http.StatusText(status), address))
	}
	switch {
	case status >= http.StatusInternalServerError, couldNotLook(status):
		return failed()
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		return raise("TooManyRedirects", "Exceeded 0 redirects.")
	case len(body) > maxBody:
		return raise("RequestException", fmt.Sprintf("Answer of more than %d bytes for url: %s", maxBody, address))
	}
	body = strings.ToValidUTF8(body, "\uFFFD")
	_, err := python.ParseJSON(body)
	var exception *python.Exception
	switch {
	case err == nil:
		return body, nil
	case status >= http.StatusBadRequest:
		return failed()
	case errors.As(err, &exception):
		return "", exception
	default:
		return raise("JSONDecodeError", err.Error())
	}
}

// couldNotLook says whether a status tells of the key, the quota or the moment rather than of what
// was asked.
func couldNotLook(status int) bool {
	return slices.Contains([]int{
		http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusTooManyRequests,
	}, status)
}
