package toolserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

// TestHTTPStatus checks which statuses of an MCP server are retried, and what their errors say.
func TestHTTPStatus(t *testing.T) {
	t.Parallel()
	for code, c := range map[int]struct {
		want error
		text string
	}{
		429: {ErrUnavailable, `HTTP 429 Too Many Requests: "no"`}, 500: {ErrUnavailable, "HTTP 500"}, 503: {ErrUnavailable, "HTTP 503"},
		400: {ErrProtocol, "HTTP 400"}, 401: {ErrProtocol, "HTTP 401 Unauthorized"}, 404: {ErrProtocol, "HTTP 404 Not Found"},
		307: {ErrProtocol, "it redirects to http://elsewhere/mcp/; use that address"},
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://elsewhere/mcp/?key=secret")
				if code != http.StatusTemporaryRedirect {
					w.Header().Del("Location")
				}
				w.WriteHeader(code)
				_, _ = w.Write([]byte("no")) // the client may be gone
			}))
			defer web.Close()
			_, err := newTestClient(t, Target{Address: web.URL + "/?key=secret"}, patience).List(t.Context(), "desk")
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %v with %q and without the key", err, c.want, c.text)
			}
		})
	}
	_, err := newTestClient(t, Target{Address: "http://" + porttest.Address(t) + "/?key=secret"}, patience).List(t.Context(), "desk")
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody listens: got %v, want ErrUnavailable that says so, without the key", err)
	}
}

// TestEndOfHTTPSession checks that a call gets its answer from a new session if the server ends the
// session in one of the ways that servers use.
func TestEndOfHTTPSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		code int
		body string
	}{
		"404":           {404, "gone"},
		"404 with JSON": {404, `{"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "Session not found"}}`},
		"400 with JSON": {400, `{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "No valid session ID provided"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, _ := counterServer(t)
			server, err := url.Parse(target.Address)
			if err != nil {
				t.Fatal(err)
			}
			proxy := httputil.NewSingleHostReverseProxy(server)
			var calls atomic.Int32
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				request, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				r.Body = io.NopCloser(bytes.NewReader(request))
				if bytes.Contains(request, []byte("tools/call")) && calls.Add(1) == 1 {
					w.WriteHeader(end.code)
					_, _ = w.Write([]byte(end.body)) // the client may be gone
					return
				}
				proxy.ServeHTTP(w, r)
			}))
			defer front.Close()
			c := newTestClient(t, Target{Address: front.URL}, patience)
			body, err := c.Call(t.Context(), newRequest(t, &toolsv1.Tool{Name: "count_up", ServerName: "count-up"}, `{"by": 2}`))
			if err != nil || body != `{"value": {"a": true, "z": 2}}` {
				t.Errorf("got %q and %v, want the answer of a new session", body, err)
			}
		})
	}
}

// shell returns a target that answers initialize, reads two more lines, and then runs a script.
func shell(script string) Target {
	const hello = `{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}}`
	return Target{Command: []string{"sh", "-c", `read line; echo "$1"; read line; read line; ` + script, "sh", hello}}
}

// TestLogOnStandardOutput checks a program that also logs to its standard output.
func TestLogOnStandardOutput(t *testing.T) {
	t.Parallel()
	answer := `echo '{"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "fine"}]}}'; cat`
	target := shell(`echo '[INFO] call'; echo '{"level": "info", "msg": "call"}'; echo; ` + answer)
	target.Command[2] = `printf '\357\273\277'; echo 'server starts'; ` + target.Command[2]
	body, err := newTestClient(t, target, patience).Call(t.Context(), newRequest(t, &toolsv1.Tool{Name: "note"}, `{}`))
	if err != nil || body != `{"value": "fine"}` {
		t.Errorf("got %q and %v, want the answer", body, err)
	}
	_, err = newTestClient(t, shell("echo out of tea; exit 1"), patience).Call(t.Context(), newRequest(t, &toolsv1.Tool{Name: "note"}, `{}`))
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "says: out of tea") {
		t.Errorf("got %v, want ErrUnavailable that quotes the last line", err)
	}
}

// TestUnreadableMessages checks that a message that cannot be read is a broken server, not one that
// does not answer.
func TestUnreadableMessages(t *testing.T) {
	t.Parallel()
	for want, result := range map[string]string{
		"unrecognized content type": `{"content": [{"type": "video"}]}`,
		"illegal base64":            `{"content": [{"type": "image", "mimeType": "image/png", "data": "!"}]}`,
		"exceeded":                  `{"structuredContent": ` + strings.Repeat(`{"a":`, 3000) + "1" + strings.Repeat("}", 3000) + "}",
		"line of more than":         `{"content": [{"type": "text", "text": "'; head -c 5000000 /dev/zero | tr '\0' x; echo '"}]}`,
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			c := newTestClient(t, shell(`printf '%s' '{"jsonrpc": "2.0", "id": 2, "result": `+result+`}'; echo; cat`), patience)
			_, err := c.Call(t.Context(), newRequest(t, &toolsv1.Tool{Name: "note"}, `{}`))
			if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want ErrProtocol with %q", err, want)
			}
		})
	}
}

// TestLongHTTPAnswer checks that an answer beyond the limit is not requested again and again.
func TestLongHTTPAnswer(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(bytes.Repeat([]byte(" "), maxFrame+1)) // the client does not read all
	}))
	defer web.Close()
	_, err := newTestClient(t, Target{Address: web.URL}, patience).List(t.Context(), "desk")
	if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), errTooLong.Error()) || requests.Load() != 1 {
		t.Errorf("got %v after %d requests, want ErrProtocol after one", err, requests.Load())
	}
}

// TestReportBeforeDeadline checks that a caller learns which server hangs before its own deadline.
func TestReportBeforeDeadline(t *testing.T) {
	t.Parallel()
	var err error
	late := true
	for tries := 0; late && tries < 10; tries++ { // the machine may stop for all of the time
		ctx, cancel := context.WithTimeout(t.Context(), reportTime+500*time.Millisecond)
		_, err = newTestClient(t, shell("cat"), time.Minute).Call(ctx, newRequest(t, &toolsv1.Tool{Name: "note"}, `{}`))
		late = ctx.Err() != nil
		cancel()
	}
	if late || !errors.Is(err, ErrDeadline) || !strings.Contains(err.Error(), "tool server is unavailable: desk at program sh: no answer within") {
		t.Errorf("got %v, after the deadline: %v, want ErrDeadline that names the server before it", err, late)
	}
	ctx, cancel := context.WithTimeout(t.Context(), reportTime/2)
	defer cancel()
	if _, err := newTestClient(t, shell("cat"), patience).Call(ctx, newRequest(t, &toolsv1.Tool{Name: "note"}, `{}`)); !errors.Is(err, ErrDeadline) && ctx.Err() == nil {
		t.Errorf("without time: got %v, want ErrDeadline", err)
	}
}
