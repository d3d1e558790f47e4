package httpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

const secret = "sk-very-secret"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves a handler until the test ends and returns its endpoint.
func serve(t *testing.T, handler http.HandlerFunc) provider.Endpoint {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return provider.Endpoint{BaseURL: server.URL, Secret: secret, Errors: words(), Header: http.Header{"Authorization": {"Bearer " + secret}}}
}

func send(t *testing.T, to provider.Endpoint, timeout time.Duration) ([]byte, error) {
	t.Helper()
	client := NewClient(1<<10, 1)
	defer client.Close()
	return client.Send(t.Context(), to, &provider.Request{Path: "/p?q=1", Header: http.Header{"X-A": {"b"}}, Body: []byte("{}")}, timeout)
}

func TestSend(t *testing.T) {
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "utf-8") // as some servers say
		_, _ = fmt.Fprintf(w, "%s %s %s %s %s", r.Method, r.URL, r.Header.Get("X-A"), r.Header.Get("Authorization"), r.Header.Get("Content-Type"))
	})
	got, err := send(t, to, time.Minute)
	if want := "POST /p?q=1 b Bearer " + secret + " application/json"; err != nil || string(got) != want {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
}

// TestPasswordInAddress sends the name and the password of an address, unless there is a key.
func TestPasswordInAddress(t *testing.T) {
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		_, _ = fmt.Fprintf(w, "%s %s", name, password)
	})
	to.BaseURL = strings.Replace(to.BaseURL, "http://", "http://ann:p4ss@", 1)
	withKey, err := send(t, to, time.Minute)
	if want := " "; err != nil || string(withKey) != want {
		t.Errorf("with a key: got %q and %v, want %q", withKey, err, want)
	}
	to.Header = nil
	without, err := send(t, to, time.Minute)
	if want := "ann p4ss"; err != nil || string(without) != want {
		t.Errorf("without a key: got %q and %v, want %q", without, err, want)
	}
}

func TestFailures(t *testing.T) {
	status := func(code int, body string, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	tests := map[string]struct {
		handler http.HandlerFunc
		want    provider.Failure
	}{
		"message": {status(400, `{"error": {"message": "too\nlong"}}`), provider.Failure{Status: 400, Detail: "too long"}},
		"plain error": {
			status(401, `{"error": "bad key `+secret+`"}`), provider.Failure{Status: 401, Detail: "bad key [key]"},
		},
		"seconds": {status(429, "", "Retry-After", "7"), provider.Failure{
			Status: 429, Retryable: true, RetryAfter: 7 * time.Second, Detail: "no details"}},
		"milliseconds": {status(503, "busy", "Retry-After-Ms", "1500"), provider.Failure{
			Status: 503, Retryable: true, RetryAfter: 1500 * time.Millisecond, Detail: "busy"}},
		"date": {status(529, "x", "Retry-After", "Wed, 22 May 2024 10:30:05 GMT", "Date", "Wed, 22 May 2024 10:30:00 GMT"), provider.Failure{
			Status: 529, Retryable: true, RetryAfter: 5 * time.Second, Detail: "x"}},
		"nonsense": {status(408, "x", "Retry-After", "-1"), provider.Failure{Status: 408, Retryable: true, Detail: "x"}},
		"told to":  {status(400, "x", "X-Should-Retry", "true"), provider.Failure{Status: 400, Retryable: true, Detail: "x"}},
		"told not": {status(500, "x", "X-Should-Retry", "false"), provider.Failure{Status: 500, Detail: "x"}},
		"long":     {status(500, strings.Repeat("é", 500)), provider.Failure{Status: 500, Retryable: true, Detail: strings.Repeat("é", 150) + "…"}},
		"cut key":  {status(500, strings.Repeat("x", 295)+secret), provider.Failure{Status: 500, Retryable: true, Detail: strings.Repeat("x", 295) + "[key]"}},
		"huge":     {status(200, strings.Repeat("x", 2000)), provider.Failure{Status: 200, Detail: "an answer of more than 1024 bytes"}},
		"encoding": {status(200, "x", "Content-Encoding", "br"), provider.Failure{
			Detail: `the answer has the encoding "br", which the request does not accept: only gzip or none`}},
		"no UTF-8":   {status(500, "\xff"), provider.Failure{Status: 500, Retryable: true, Detail: "?"}},
		"cut stream": {cut, provider.Failure{Network: true, Retryable: true, Charged: true, Detail: "the answer broke off: unexpected EOF"}},
		"cut off":    {abort, provider.Failure{Network: true, Retryable: true, Detail: "EOF"}},
		"slow":       {slow, provider.Failure{Network: true, Timeout: true, Retryable: true, Charged: true, Detail: "no answer within 1s"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			timeout := time.Minute
			if test.want.Timeout {
				timeout = time.Second // the request has to get there
			}
			to := serve(t, test.handler)
			if test.want.Status >= http.StatusBadRequest {
				test.want.Detail += " (at " + to.BaseURL + "/p)"
			}
			body, err := send(t, to, timeout)
			var got *provider.Failure
			if !errors.As(err, &got) {
				t.Fatalf("got %q and %v, want a failure", body, err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("error %q holds the key", err)
			}
		})
	}
}

// TestRedirects checks that redirects are not followed, and that the error names the target without
// password, query and key.
func TestRedirects(t *testing.T) {
	const address, at = "give this address as --base-url", "if the provider is there, give its address as --base-url"
	tests := map[string]struct {
		status         int
		location, body string
		want           string
	}{
		"of the path":     {307, "https://u:p4ss@elsewhere.invalid/v1/p?q=1", "", "it redirects to https://elsewhere.invalid/v1, which nobody follows: " + address},
		"to another path": {302, "http://elsewhere.invalid/?k=v", "x", "x; it redirects to http://elsewhere.invalid/, which nobody follows: " + at},
		"with the key":    {308, "/" + secret, "", "it redirects to ADDRESS/[key], which nobody follows: " + at},
		"to itself":       {301, "/p", "", "it redirects to ADDRESS/p, which nobody follows: " + at},
		"to nowhere":      {304, "", "", noDetails + " (at ADDRESS/p)"},
		"no redirect":     {400, "http://elsewhere.invalid/p", "", noDetails + " (at ADDRESS/p)"},
		"nothing there":   {404, "", "x", "x (at ADDRESS/p; did you mean --base-url ADDRESS/v1?)"},
	}
	for name, test := range tests {
		to := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if test.location != "" {
				w.Header().Set("Location", test.location)
			}
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
		})
		_, err := send(t, to, time.Minute)
		want := &provider.Failure{Status: test.status, Detail: strings.ReplaceAll(test.want, "ADDRESS", to.BaseURL)}
		got, _ := errors.AsType[*provider.Failure](err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMeantAddress suggests addresses where there is nothing.
func TestMeantAddress(t *testing.T) {
	for base, want := range map[string]string{
		"http://h":                     "http://h/v1",
		"http://h/api/":                "http://h/api/v1",
		"http://h/v1":                  "",
		"http://h/v1beta/":             "",
		"http://h/v1/chat/completions": "http://h/v1",
	} {
		if want != "" {
			want = "; did you mean --base-url " + want + "?"
		}
		if got := meantAddress(base, "/chat/completions?x=1"); got != want {
			t.Errorf("meantAddress(%q): got %q, want %q", base, got, want)
		}
	}
}

// cut announces a longer body than it sends.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = w.Write([]byte("{"))
}

func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// slow never answers. It reads the body, or the server would not notice that the client is gone.
func slow(_ http.ResponseWriter, r *http.Request) {
	_, _ = r.Body.Read(make([]byte, 16))
	<-r.Context().Done()
}

func TestUnreachable(t *testing.T) {
	tests := map[string]struct {
		base      string
		retryable bool
	}{
		"refused":    {"http://" + porttest.Address(t), true},
		"no address": {"http://[", false},
		"a password": {"http://u:p4ss@127.0.0.1:1", true},
	}
	for name, test := range tests {
		_, err := send(t, provider.Endpoint{BaseURL: test.base}, time.Minute)
		var got *provider.Failure
		if !errors.As(err, &got) || got.Retryable != test.retryable {
			t.Errorf("%s: got %v, want a failure with retryable %t", name, err, test.retryable)
			continue
		}
		if strings.Contains(err.Error(), "p4ss") {
			t.Errorf("%s: error %q holds the password", name, err)
		}
	}
}

func TestSendCancelled(t *testing.T) {
	client := NewClient(1<<10, 1)
	defer client.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := client.Send(ctx, serve(t, slow), &provider.Request{}, time.Minute)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
