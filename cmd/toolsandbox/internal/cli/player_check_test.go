package cli

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

// playerCheckLimit is the time after which a run must have reported an unreachable player. An idle
// machine needs less than 10 s.
const playerCheckLimit = 30 * time.Second

// listen returns a loopback listener. It closes at the end of the test.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// silentServer returns the address of a server that accepts connections and sends nothing.
func silentServer(t *testing.T) string {
	t.Helper()
	return listen(t).Addr().String()
}

// fullBacklogServer returns an address with a full backlog. Connections to it hang.
func fullBacklogServer(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*syscall.SockaddrInet4).Port}).String()
	for {
		conn, err := (&net.Dialer{Timeout: 300 * time.Millisecond}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

// unreachablePlayer is a player's arguments with the expected messages.
type unreachablePlayer struct {
	args []string
	want []string
}

// unreachablePlayers returns models and plug-ins at a closed port, a silent server, a server with a
// full backlog, and a web server with and without TLS.
func unreachablePlayers(closed, silent, deaf, web, secure string) map[string]unreachablePlayer {
	const unset, later = " (with --remote: where the agent gateway runs)", "; --wait 5m waits longer than 0s"
	return map[string]unreachablePlayer{
		"no key": {[]string{"--agent", "openai:m"},
			[]string{"--agent openai:m: cannot be asked: no key: set OPENAI_API_KEY or OPENAI_API_KEY_FILE" + unset}},
		"no key for the user": {[]string{"--agent", "oracle", "--user", "google:m"},
			[]string{"--user google:m: cannot be asked: no key: set GEMINI_API_KEY or GEMINI_API_KEY_FILE" + unset}},
		"no key for both": {[]string{"--agent", "openai:m", "--user", "google:m"},
			[]string{"--agent openai:m: ", "; --user google:m: "}},
		"missing key file": {[]string{"--agent", "anthropic:m"},
			[]string{"--agent anthropic:m: cannot be asked: read ANTHROPIC_API_KEY_FILE: ", "no such file"}},
		"no server address": {[]string{"--agent", "hermes"},
			[]string{"--agent hermes: cannot be asked: no server: give --base-url or set OPENAI_BASE_URL" + unset}},
		"model, closed port": {[]string{"--agent", "openai:m", "--base-url", "http://" + closed + "/v1"},
			[]string{"--agent openai:m: cannot be reached at http://" + closed + "/v1: ", "connection refused", "start its server or correct --base-url" + later}},
		"model, no connection": {[]string{"--agent", "openai:m", "--base-url", "http://" + deaf + "/v1"},
			[]string{"no connection within 2.5s: start its server or correct --base-url" + later}},
		"model, silent TLS server": {[]string{"--agent", "openai:m", "--base-url", "https://" + silent + "/v1"},
			[]string{"no connection within 2.5s"}},
		"model, unknown host": {[]string{"--agent", "openai:m", "--base-url", "https://nowhere.invalid/v1"},
			[]string{"cannot be reached at https://nowhere.invalid/v1: ", "nowhere.invalid"}},
		"model, unknown authority": {[]string{"--agent", "openai:m", "--base-url", secure},
			[]string{"certificate signed by unknown authority; SSL_CERT_FILE names the file with the authorities to trust"}},
		"model, TLS to a plain-text server": {[]string{"--agent", "openai:m", "--base-url", strings.Replace(web, "http:", "https:", 1)},
			[]string{"; it may speak plain text, without TLS: then its address begins with http://"}},
		"plug-in, closed port": {[]string{"--agent", "grpc://" + closed},
			[]string{"--agent grpc://" + closed + ": plug-in cannot be reached: " + closed + ": dial tcp ", "connection refused: start it or correct its address" + later}},
		"plug-in, silent": {[]string{"--agent", "grpc://" + silent},
			[]string{"no gRPC server answered within 2.5s: start it or correct its address"}},
		"plug-in, no connection": {[]string{"--agent", "grpc://" + deaf},
			[]string{"no gRPC server answered within 2.5s: start it or correct its address"}},
		"plug-in, unknown host": {[]string{"--agent", "grpc://nowhere.invalid:9000"},
			[]string{"plug-in cannot be reached: nowhere.invalid:9000: "}},
		"plug-in, unknown authority": {[]string{"--agent", "grpcs://" + strings.TrimPrefix(secure, "https://")},
			[]string{"certificate signed by unknown authority; --agent-ca names the file with the authority to trust"}},
		"plug-in, a web server": {[]string{"--agent", "grpc://" + strings.TrimPrefix(web, "http://")},
			[]string{"; a web server may answer there"}},
	}
}

// TestLongPlayerCheck starts runs with unusable players. One line reports what is missing and what
// to do, and no rollout starts.
func TestLongPlayerCheck(t *testing.T) { //nolint:tparallel // it sets variables, so only its rows are parallel
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_API_KEY_FILE", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "")
	}
	t.Setenv("ANTHROPIC_API_KEY_FILE", filepath.Join(t.TempDir(), "missing"))
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.EnableHTTP2, secure.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	closed, silent, deaf := porttest.Address(t), silentServer(t), fullBacklogServer(t)
	for name, test := range unreachablePlayers(closed, silent, deaf, web.URL, secure.URL) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			var stdout, stderr bytes.Buffer
			start := time.Now()
			code := Main(append([]string{"run", "--out", out, "--wait", "0s", "turn_off_wifi", "add_plumber"}, test.args...), &stdout, &stderr)
			if took := time.Since(start); code != 1 || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 || took > playerCheckLimit {
				t.Errorf("got code %d after %s, %q and\n%s\nwant 1 within %s, and one line", code, took, &stdout, &stderr, playerCheckLimit)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("got\n%s\nwant %q in it", &stderr, want)
				}
			}
			if _, err := os.Stat(filepath.Join(out, "result_summary.json")); err == nil {
				t.Error("got results, want none")
			}
		})
	}
}

// TestPlayerCheckProxy checks players behind proxies that do not work. The errors must not contain
// the proxies' passwords.
func TestPlayerCheckProxy(t *testing.T) {
	closed := porttest.Address(t)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer proxy.Close()
	// A process reads the environment's proxies once, so each check runs in its own process.
	for name, test := range map[string]struct{ agent, proxy, want string }{
		"closed port":                {"openai:m", "http://me:secret@" + closed, "connection refused, by the proxy http://me:xxxxx@" + closed + " that HTTPS_PROXY names"},
		"refuses":                    {"openai:m", proxy.URL, "Forbidden, by the proxy " + proxy.URL + " that HTTPS_PROXY names"},
		"closed port, for a plug-in": {"grpc://agent.invalid:9000", "http://me:secret@" + closed, "connection refused, by the proxy http://me:xxxxx@" + closed + " that HTTPS_PROXY names"},
		"refuses, for a plug-in":     {"grpcs://agent.invalid:9000", proxy.URL, ", by the proxy " + proxy.URL + " that HTTPS_PROXY names"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stderr := runProcess(t, []string{"HTTPS_PROXY=" + test.proxy, "OPENAI_API_KEY=k"},
				"run", "--agent", test.agent, "--wait", "0s", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi")
			if code != 1 || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "secret") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("got code %d and\n%s\nwant 1 and %q", code, stderr, test.want)
			}
		})
	}
}

// greetingAgent is a plug-in without the health service. It always sends the same text.
type greetingAgent struct {
	agentv1.UnimplementedAgentServiceServer
}

func (greetingAgent) Act(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	return &agentv1.ActResponse{Text: "Good day."}, nil
}

// TestPlayerCheckWaits starts a plug-in while the run waits for it. The run must report the wait.
// The plug-in has no health service.
func TestPlayerCheckWaits(t *testing.T) {
	t.Parallel()
	address := porttest.Address(t)
	srv := grpc.NewServer()
	agentv1.RegisterAgentServiceServer(srv, greetingAgent{})
	served := make(chan error, 1)
	waited := false
	told := writerFunc(func(raw []byte) {
		if strings.Contains(string(raw), "waiting for up to 1m0s") {
			waited = true
			listener, err := net.Listen("tcp", address)
			if err != nil {
				t.Error(err)
				served <- nil
				return
			}
			go func() { served <- srv.Serve(listener) }()
		}
	})
	var stdout bytes.Buffer
	if code := Main([]string{"run", "--agent", "grpc://" + address, "--wait", "1m", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi"}, &stdout, told); code != 0 {
		t.Errorf("got code %d and\n%s\nwant 0", code, &stdout)
	}
	if !waited {
		t.Fatal("the run did not wait for its agent")
	}
	srv.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// writerFunc is a function as an io.Writer.
type writerFunc func(raw []byte)

// Write implements io.Writer.
func (w writerFunc) Write(raw []byte) (int, error) {
	w(raw)
	return len(raw), nil
}

// TestPlayerCheckOfModel checks that the check of a model connects to its server without a request.
func TestPlayerCheckOfModel(t *testing.T) {
	t.Parallel()
	requests := 0
	answer := chatHandler(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		answer(w, r)
	}))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"run", "--agent", "openai:m", "--base-url", server.URL + "/v1", "--probe=false", "--out", out, "turn_off_wifi"}
	var stdout, stderr bytes.Buffer
	if code := Main(args, &stdout, &stderr); code != 0 || requests != 2 {
		t.Fatalf("got code %d and %d requests, want 0 and one for each turn:\n%s%s", code, requests, &stdout, &stderr)
	}
	server.Close()
	if code := Main(append(args, "--resume"), &stdout, &stderr); code != 0 {
		t.Errorf("resume of a run that is played, without the server: got code %d and %s, want 0", code, &stderr)
	}
}

// TestPlayerCheckOnResume resumes a run with an unscored rollout after its model's server has
// stopped. The check must find that.
func TestPlayerCheckOnResume(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", porttest.Address(t)) // nobody else listens there after its end
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(refuse)}} // a client of this test
	server.Start()
	args := []string{"run", "--agent", "openai:m", "--base-url", server.URL + "/v1", "--wait", "0s", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi"}
	var stdout, stderr bytes.Buffer
	if code := Main(args, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), "1 of 1 rollouts have no score") {
		t.Errorf("refused: got code %d and\n%s\nwant 1 and no score", code, &stderr)
	}
	server.Close()
	stderr.Reset()
	if code := Main(append(args, "--resume"), &stdout, &stderr); code != 1 || !strings.HasPrefix(stderr.String(), "toolsandbox: --agent openai:m: cannot be reached at "+server.URL) {
		t.Errorf("resume: got code %d and\n%s\nwant 1 and what is missing", code, &stderr)
	}
}
