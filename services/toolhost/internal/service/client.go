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

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	"github.com/toolsandbox/toolsandbox/python"
)

const (
	// maxBody is the largest response body in bytes.
	maxBody = 1 << 20
	// maxAttempts is the maximum number of attempts of one request.
	maxAttempts = 4
	// initialPause and maxPause bound the pauses between attempts, before a jitter of 50 %.
	initialPause, maxPause = 200 * time.Millisecond, 2 * time.Second
	// idleConnections is the number of idle connections per service.
	idleConnections = 16
)

// ClientConfig configures a Client.
type ClientConfig struct {
	// Key is sent with every request, unless it is the zero Key.
	Key Key
	// BaseURL replaces scheme and host of every request unless it is empty.
	BaseURL string
	// Timeout bounds one request with all attempts; it must be more than 0.
	Timeout time.Duration
	// Logger receives the reasons of failures.
	Logger *slog.Logger
}

// CheckAddress validates a base address. The error does not repeat it, because it may contain a
// password.
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

// Client sends requests to the hosted services over HTTPS. It is safe for concurrent use. The
// caller of NewClient closes it.
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

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do sends a request and returns the body of the response, which is JSON text. It retries after the
// status codes 429 and 5xx and after network failures, with jittered pauses, until the timeout. The
// error is a *python.Exception, in Python's words, which a tool may return. It names the address of
// the service, never the base address or the key. Any other error is the cause of ctx's end.
func (c *Client) Do(ctx context.Context, address string, params *python.Dict) (body string, err error) {
	if c.cfg.Key == (Key{}) {
		return "", &python.Exception{Type: "PermissionError", Text: "Please provide 'RAPID_API_KEY' in environment variable. " +
			"You can find your API key by following https://docs.rapidapi.com/v1.0/docs/keys"}
	}
	target, err := url.Parse(address)
	if err != nil {
		return "", &python.Exception{Type: "ConnectionError", Text: "No service at " + address}
	}
	target.RawQuery = query(params)
	ctx, span := otel.Tracer(telemetry.Scope).Start(ctx, http.MethodGet, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		telemetry.HTTPMethod.String(http.MethodGet), telemetry.ServerAddress.String(target.Host), attribute.String("url.path", target.Path)))
	defer span.End()
	a := &retriedRequest{client: c, target: target}
	body, err = a.retry(ctx)
	span.SetAttributes(telemetry.HTTPStatus.Int(a.status), telemetry.HTTPResend.Int(a.attempts-1))
	if err != nil {
		kind := "cancelled"
		if exception, raised := errors.AsType[*python.Exception](err); raised { // its text may quote arguments
			kind = exception.Type
			span.SetStatus(otelcodes.Error, kind)
		}
		span.SetAttributes(telemetry.ErrorType.String(kind))
		c.cfg.Logger.WarnContext(ctx, "hosted service failed", "host", target.Host, "status", a.status, "attempts", a.attempts, "cause", a.cause, "error", err)
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

// retriedRequest is one request with all its attempts.
type retriedRequest struct {
	client *Client
	target *url.URL
	// attempts is the number of attempts, status the last status code, 0 without one.
	attempts, status int
	// failure is the exception of the last attempt, cause the network's error for the log.
	failure *python.Exception
	cause   string
}

// retry sends the request until it succeeds, fails permanently, or the timeout ends.
func (r *retriedRequest) retry(parent context.Context) (string, error) {
	timeout := r.client.cfg.Timeout
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = initialPause, maxPause
	body, err := backoff.Retry(ctx, func() (string, error) { return r.try(ctx) },
		backoff.WithBackOff(pauses), backoff.WithMaxTries(maxAttempts), backoff.WithMaxElapsedTime(timeout))
	switch {
	case err == nil:
		return body, nil
	case parent.Err() != nil:
		return "", fmt.Errorf("ask %s: %w", r.target.Host, context.Cause(parent))
	default:
		return "", r.failure
	}
}

// try sends the request once. A retry may help after an error that is not permanent. failure has
// the exception.
func (r *retriedRequest) try(ctx context.Context) (string, error) {
	r.attempts++
	r.status = 0
	response, err := r.send(ctx)
	if err != nil {
		return "", r.networkFailure(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read as far as it matters
	r.status = response.StatusCode
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return "", r.networkFailure(ctx, err)
	}
	body, failure := decode(response.StatusCode, r.client.cfg.Key.redact(string(raw)), r.target.String())
	if failure == nil {
		return body, nil
	}
	r.failure, r.cause = failure, ""
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode < http.StatusInternalServerError {
		return "", backoff.Permanent(failure)
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		return "", backoff.RetryAfter(seconds)
	}
	return "", failure
}

// send sends the request and returns the response, whose body the caller closes.
func (r *retriedRequest) send(ctx context.Context) (*http.Response, error) {
	address := *r.target
	if base := r.client.base; base != nil {
		address.Scheme, address.User, address.Host = base.Scheme, base.User, base.Host
		address.Path = strings.TrimSuffix(base.Path, "/") + address.Path
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-RapidAPI-Key", *r.client.cfg.Key.secret)
	request.Header.Set("X-RapidAPI-Host", r.target.Host)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "toolsandbox")
	return r.client.http.Do(request)
}

// networkFailure records a network failure. Its cause names machines and ports, which the exception
// of a tool must not contain.
func (r *retriedRequest) networkFailure(ctx context.Context, err error) error {
	r.cause = r.client.cfg.Key.redact(err.Error())
	pool := "HTTPSConnectionPool(host='" + r.target.Hostname() + "', port=443): "
	if ctx.Err() != nil {
		seconds := python.FormatFloat(r.client.cfg.Timeout.Seconds())
		r.failure = &python.Exception{Type: "requests.exceptions.ReadTimeout", Text: pool + "Read timed out. (read timeout=" + seconds + ")"}
		return backoff.Permanent(r.failure)
	}
	r.failure = &python.Exception{Type: "requests.exceptions.ConnectionError", Text: pool + "Max retries exceeded with url: " + r.target.RequestURI()}
	return r.failure
}

// decode returns the JSON text of a response, or the exception to raise. As in the original, the
// JSON body of a rejected request counts, because services report an empty result so. It does not
// count if the service could not search.
func decode(status int, body, address string) (string, *python.Exception) {
	raise := func(kind, text string) (string, *python.Exception) {
		return "", &python.Exception{Type: "requests.exceptions." + kind, Text: text}
	}
	fail := func() (string, *python.Exception) {
		side := "Client"
		if status >= http.StatusInternalServerError {
			side = "Server"
		}
		return raise("HTTPError", fmt.Sprintf("%d %s Error: %s for url: %s", status, side, http.StatusText(status), address))
	}
	switch {
	case status >= http.StatusInternalServerError, isTemporary(status):
		return fail()
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
		return fail()
	case errors.As(err, &exception):
		return "", exception
	default:
		return raise("JSONDecodeError", err.Error())
	}
}

// isTemporary reports whether a status code concerns the key, the quota or the moment instead of
// the query.
func isTemporary(status int) bool {
	return slices.Contains([]int{
		http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusTooManyRequests,
	}, status)
}
