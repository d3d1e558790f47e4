package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/python"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "0123456789-very-secret"

// newClient returns a client that asks a server instead of the hosted services.
func newClient(t *testing.T, base string, change ...func(*ClientConfig)) *Client {
	t.Helper()
	cfg := ClientConfig{Key: NewKey(secret), BaseURL: base, Timeout: 10 * time.Second, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&cfg)
	}
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatalf("NewClient: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// answerTo returns the answer to a request for an address at Paris, or the error's text.
func answerTo(ctx context.Context, c *Client) string {
	body, err := c.Do(ctx, GeocodingURL, dictOf(text("location", "48.85,2.35"), text("language", "en")))
	if err != nil {
		return err.Error()
	}
	return body
}

func TestClientRequest(t *testing.T) {
	for name, start := range map[string]func(http.Handler) *httptest.Server{"http": httptest.NewServer, "https": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			var got []string
			server := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = append(got, r.Method, r.RequestURI, r.Header.Get("X-RapidAPI-Key"), r.Header.Get("X-RapidAPI-Host"))
				_, _ = w.Write([]byte(`{"results": []}`))
			}))
			defer server.Close()
			c := newClient(t, server.URL+"/proxy/")
			if transport, ok := server.Client().Transport.(*http.Transport); ok && name == "https" {
				c.http.Transport = transport
			}
			body, err := c.Do(t.Context(), CurrencyURL, dictOf(
				text("from", "Ü & b/c~"), item("none", python.None()), item("amount", python.Float(1e16)), item("on", python.Bool(true)), intItem("n", -3)))
			if err != nil || body != `{"results": []}` {
				t.Errorf("got %q, error %v", body, err)
			}
			want := []string{"GET", "/proxy/api/v1/convert?from=%C3%9C+%26+b%2Fc~&amount=1e%2B16&on=True&n=-3", secret, "currency-converter18.p.rapidapi.com"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// reply is what a server answers to one try.
type reply struct {
	status int
	header string // name: value
	body   string
	cut    bool // the connection breaks off
}

func (r reply) write(w http.ResponseWriter) {
	if name, value, ok := strings.Cut(r.header, ": "); ok {
		w.Header().Set(name, value)
	}
	if r.cut {
		w.Header().Set("Content-Length", "1000")
	}
	w.WriteHeader(r.status)
	_, _ = w.Write([]byte(r.body))
	if r.cut {
		panic(http.ErrAbortHandler)
	}
}

func TestClientResponses(t *testing.T) {
	const address = "https://trueway-geocoding.p.rapidapi.com/ReverseGeocode?location=48.85%2C2.35&language=en"
	good := reply{status: 200, body: `{"n": 1}`}
	lost := "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='trueway-geocoding.p.rapidapi.com', port=443): " +
		"Max retries exceeded with url: /ReverseGeocode?location=48.85%2C2.35&language=en"
	tests := []struct {
		name    string
		replies []reply // the last one again and again
		want    string
		tries   int32
	}{
		{"at once", []reply{good}, `{"n": 1}`, 1},
		{"quota, then an answer", []reply{{status: 429, body: "{}"}, good}, `{"n": 1}`, 2},
		{"told when to come again", []reply{{status: 429, header: "Retry-After: 0"}, {status: 503, header: "Retry-After: 0"}, good}, `{"n": 1}`, 3},
		{"told to come again too late", []reply{{status: 429, header: "Retry-After: 3600"}}, "requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: " + address, 1},
		{"500 forever", []reply{{status: 500, body: `{"n": 1}`}}, "requests.exceptions.HTTPError: 500 Server Error: Internal Server Error for url: " + address, 4},
		{"cut once", []reply{{status: 200, body: `{"n"`, cut: true}, good}, `{"n": 1}`, 2},
		{"cut forever", []reply{{status: 200, body: `{"n": 1}`, cut: true}}, lost, 4},
		{"wrong key", []reply{{status: 403, body: `{"message": "You are not subscribed to this API."}`}}, "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: " + address, 1},
		{"nothing found", []reply{{status: 400, body: `{"error": {"code": 1006}}`}}, `{"error": {"code": 1006}}`, 1},
		{"no page", []reply{{status: 404, body: "<html>"}}, "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: " + address, 1},
		{"redirect", []reply{{status: 302, header: "Location: https://example.org/"}}, "requests.exceptions.TooManyRedirects: Exceeded 0 redirects.", 1},
		{"no JSON", []reply{{status: 200, body: "<html>"}}, "requests.exceptions.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", 1},
		{"half JSON", []reply{{status: 200, body: `{"n": 1`}}, "requests.exceptions.JSONDecodeError: Expecting ',' delimiter: line 1 column 8 (char 7)", 1},
		{"nothing", []reply{{status: 204}}, "requests.exceptions.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", 1},
		{"nested too deep", []reply{{status: 200, body: strings.Repeat("[", 100_000)}}, "RecursionError: maximum recursion depth exceeded while decoding a JSON array from a unicode string", 1},
		{"largest", []reply{{status: 200, body: `"` + strings.Repeat("x", maxBody-2) + `"`}}, `"` + strings.Repeat("x", maxBody-2) + `"`, 1},
		{"too large", []reply{{status: 200, body: `"` + strings.Repeat("x", maxBody) + `"`}}, fmt.Sprintf("requests.exceptions.RequestException: Answer of more than %d bytes for url: %s", maxBody, address), 1},
		{"no UTF-8", []reply{{status: 200, body: "\"\xff\""}}, "\"\uFFFD\"", 1},
		{"the key comes back", []reply{{status: 200, body: `{"your key": "` + secret + `"}`}}, `{"your key": "(hidden)"}`, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var tries atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				test.replies[min(int(tries.Add(1)), len(test.replies))-1].write(w)
			}))
			defer server.Close()
			if got := answerTo(t.Context(), newClient(t, server.URL)); got != test.want {
				t.Errorf("got %.300s\nwant %.300s", got, test.want)
			}
			if got := tries.Load(); got != test.tries {
				t.Errorf("got %d tries, want %d", got, test.tries)
			}
		})
	}
}

func TestClientTimeout(t *testing.T) {
	var reached atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached.Store(true)
		<-r.Context().Done()
	}))
	defer server.Close()
	c := newClient(t, server.URL, func(cfg *ClientConfig) { cfg.Timeout = 2 * time.Second }) // it has to connect
	want := "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='trueway-geocoding.p.rapidapi.com', port=443): Read timed out. (read timeout=2.0)"
	got := answerTo(t.Context(), c)
	for tries := 1; !reached.Load() && tries < 10; tries++ { // the machine may stop before
		got = answerTo(t.Context(), c)
	}
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestClientCancelled checks that the end of the call is no answer.
func TestClientCancelled(t *testing.T) {
	cause := errors.New("no longer wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel(cause)
		<-r.Context().Done()
	}))
	defer server.Close()
	_, err := newClient(t, server.URL).Do(ctx, GeocodingURL, &python.Dict{})
	var exception *python.Exception
	if !errors.Is(err, cause) || errors.As(err, &exception) {
		t.Errorf("got error %v, want %v and no exception", err, cause)
	}
}

func TestClientWithoutKey(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the service was asked") }))
	defer server.Close()
	c := newClient(t, server.URL, func(cfg *ClientConfig) { cfg.Key = Key{} })
	want := "PermissionError: Please provide 'RAPID_API_KEY' in environment variable. You can find your API key by following https://docs.rapidapi.com/v1.0/docs/keys"
	if got := answerTo(t.Context(), c); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestKeyStaysHidden lets requests fail in every way and looks for the key in what they leave
// behind.
func TestKeyStaysHidden(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	previous := otel.GetTracerProvider()
	otel.SetTracerProvider(provider)
	t.Cleanup(func() {
		otel.SetTracerProvider(previous)
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Errorf("stop tracing: %v", err)
		}
	})
	replies := []reply{
		{status: 401, body: secret}, {status: 200, body: secret}, {status: 302, header: "Location: /?" + secret}, {status: 200, body: secret, cut: true}, {status: 429, header: "Retry-After: 99"},
	}
	var left bytes.Buffer
	log := func(cfg *ClientConfig) { cfg.Logger = slog.New(slog.NewTextHandler(&left, nil)) }
	fmt.Fprintln(&left, answerTo(t.Context(), newClient(t, "http://"+porttest.Address(t), log))) // nobody listens
	for _, answer := range replies {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer.write(w) }))
		c := newClient(t, server.URL, log)
		fmt.Fprintln(&left, answerTo(t.Context(), c))
		server.Close()
		fmt.Fprintf(&left, "%v %+v %#v %#v %s\n", c, *c, c.cfg, c.cfg.Key, c.cfg.Key)
		slog.New(slog.NewJSONHandler(&left, nil)).Info("key", "key", c.cfg.Key, "config", c.cfg)
	}
	spans := recorder.Ended()
	if want := len(replies) + 1; len(spans) != want {
		t.Errorf("got %d spans, want %d", len(spans), want)
	}
	for _, span := range spans {
		fmt.Fprintf(&left, "%s %v %v %v\n", span.Name(), span.Attributes(), span.Events(), span.Status())
	}
	for _, want := range []string{"hosted service failed", "status=401", "GET [", "trueway-geocoding.p.rapidapi.com", "connection refused"} {
		if !strings.Contains(left.String(), want) {
			t.Errorf("got %s\nwant %q in it", left.String(), want)
		}
	}
	if strings.Contains(left.String(), secret) {
		t.Errorf("the key is in what requests leave behind:\n%s", left.String())
	}
}

func TestLookupKey(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatalf("write key: %v", err)
		}
		return path
	}
	tests := []struct {
		name        string
		environment map[string]string
		want, fails string
	}{
		{"none", nil, "", ""},
		{"variable", map[string]string{KeyVariable: "k1"}, "k1", ""},
		{"file", map[string]string{KeyFileVariable: file("k2\n")}, "k2", ""},
		{"variable before file", map[string]string{KeyVariable: "k1", KeyFileVariable: file("k2")}, "k1", ""},
		{"empty variable", map[string]string{KeyVariable: "", KeyFileVariable: file(" k2 ")}, "k2", ""},
		{"no file", map[string]string{KeyFileVariable: filepath.Join(t.TempDir(), "none")}, "", "read RAPID_API_KEY_FILE: open "},
		{"empty file", map[string]string{KeyFileVariable: file("\n")}, "", "is missing: the file is empty"},
		{"two lines", map[string]string{KeyFileVariable: file("geheim1\ngeheim2")}, "", "has U+000A as its character 8"},
		{"line feed", map[string]string{KeyVariable: "geheim1\nX: y"}, "", "the key in RAPID_API_KEY has U+000A as its character 8"},
	}
	for _, test := range tests {
		key, err := LookupKey(func(name string) string { return test.environment[name] })
		got := ""
		if key.secret != nil {
			got = *key.secret
		}
		if got != test.want || (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: got %q, error %v, want %q, error %q", test.name, got, err, test.want, test.fails)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: the error %v repeats the key", test.name, err)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	for text, good := range map[string]bool{
		"": true, "https://proxy.example:8443/rapid": true, "http://127.0.0.1:9": true, "https://u:p@host": true,
		"host:80": false, "ftp://host": false, "https://": false, "https://host?x=1": false, "https://host/#f": false, "://": false,
	} {
		if err := CheckAddress(text); (err == nil) != good {
			t.Errorf("CheckAddress(%q): got error %v, want it good: %v", text, err, good)
		}
	}
}

// FuzzDecode checks that whatever a service sends is either JSON text that can be stored or an
// exception.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{"", "{}", `{"a": [1e400, NaN, "\ud800"]}`, "\xff\xfe{}", "\ufeff{}", "[[[[", "<html>", "null "} {
		for _, status := range []int{0, 200, 204, 302, 400, 403, 404, 429, 500, 599} {
			f.Add(status, body)
		}
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		decoded, exception := decode(status, body, "https://example.org")
		if exception != nil {
			if decoded != "" || exception.Type == "" || !utf8.ValidString(exception.Error()) || strings.Contains(exception.Error(), "\n") {
				t.Errorf("decode(%d, %q): got %q and exception %q", status, body, decoded, exception.Error())
			}
			return
		}
		if _, err := python.ParseJSON(decoded); err != nil || !utf8.ValidString(decoded) {
			t.Errorf("decode(%d, %q): got %q, which is no JSON text: %v", status, body, decoded, err)
		}
	})
}

func dictOf(items ...python.Item) *python.Dict {
	dict := &python.Dict{}
	for _, item := range items {
		dict.Set(item.Key, item.Value)
	}
	return dict
}
