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

// attendLimit is how long a run may take to say what is missing: on a machine with nothing else to
// do it is below 10 s.
const attendLimit = 30 * time.Second

// listen returns a listener on loopback that ends with the test.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// silentAddress returns an address that takes connections and never says anything.
func silentAddress(t *testing.T) string {
	t.Helper()
	return listen(t).Addr().String()
}

// deafAddress returns an address whose backlog is full, so that connections to it neither come
// about nor fail.
func deafAddress(t *testing.T) string {
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

// absentPlayer is a player that cannot play, and what is said about it.
type absentPlayer struct {
	args []string
	want []string
}

// absentPlayers are models and plug-ins at addresses where nobody listens, that are silent, or that
// take no connection, and at a web server without and with TLS.
func absentPlayers(closed, silent, deaf, web, secure string) map[string]absentPlayer {
	const unset, later = " (with --remote: where the agent gateway runs)", "; --wait 5m waits longer than 0s"
	return map[string]absentPlayer{
		"no key": {[]string{"--agent", "openai:m"},
			[]string{"--agent openai:m: cannot be asked: no key: set OPENAI_API_KEY or OPENAI_API_KEY_FILE" + unset}},
		"no key for the user": {[]string{"--agent", "oracle", "--user", "google:m"},
			[]string{"--user google:m: cannot be asked: no key: set GEMINI_API_KEY or GEMINI_API_KEY_FILE" + unset}},
		"no key for both": {[]string{"--agent", "openai:m", "--user", "google:m"},
			[]string{"--agent openai:m: ", "; --user google:m: "}},
		"a key's file is not there": {[]string{"--agent", "anthropic:m"},
			[]string{"--agent anthropic:m: cannot be asked: read ANTHROPIC_API_KEY_FILE: ", "no such file"}},
		"no server of one's own": {[]string{"--agent", "hermes"},
			[]string{"--agent hermes: cannot be asked: no server: give --base-url or set OPENAI_BASE_URL" + unset}},
		"model, nobody listens": {[]string{"--agent", "openai:m", "--base-url", "http://" + closed + "/v1"},
			[]string{"--agent openai:m: cannot be reached at http://" + closed + "/v1: ", "connection refused", "start its server or correct --base-url" + later}},
		"model, no connection": {[]string{"--agent", "openai:m", "--base-url", "http://" + deaf + "/v1"},
			[]string{"no connection within 2.5s: start its server or correct --base-url" + later}},
		"model, silent where TLS is expected": {[]string{"--agent", "openai:m", "--base-url", "https://" + silent + "/v1"},
			[]string{"no connection within 2.5s"}},
		"model, a name without address": {[]string{"--agent", "openai:m", "--base-url", "https://nowhere.invalid/v1"},
			[]string{"cannot be reached at https://nowhere.invalid/v1: ", "nowhere.invalid"}},
		"model, another authority": {[]string{"--agent", "openai:m", "--base-url", secure},
			[]string{"certificate signed by unknown authority; SSL_CERT_FILE names the file with the authorities to trust"}},
		"model, TLS where plain text is": {[]string{"--agent", "openai:m", "--base-url", strings.Replace(web, "http:", "https:", 1)},
			[]string{"; it may speak plain text, without TLS: then its address begins with http://"}},
		"plug-in, nobody listens": {[]string{"--agent", "grpc://" + closed},
			[]string{"--agent grpc://" + closed + ": plug-in cannot be reached: " + closed + ": dial tcp ", "connection refused: start it or correct its address" + later}},
		"plug-in, silent": {[]string{"--agent", "grpc://" + silent},
			[]string{"no gRPC server answered within 2.5s: start it or correct its address"}},
		"plug-in, no connection": {[]string{"--agent", "grpc://" + deaf},
			[]string{"no gRPC server answered within 2.5s: start it or correct its address"}},
		"plug-in, a name without address": {[]string{"--agent", "grpc://nowhere.invalid:9000"},
			[]string{"plug-in cannot be reached: nowhere.invalid:9000: "}},
		"plug-in, another authority": {[]string{"--agent", "grpcs://" + strings.TrimPrefix(secure, "https://")},
			[]string{"certificate signed by unknown authority; --agent-ca names the file with the authority to trust"}},
		"plug-in, a web server": {[]string{"--agent", "grpc://" + strings.TrimPrefix(web, "http://")},
			[]string{"; a web server may answer there"}},
	}
}

// TestAttendance starts runs whose players cannot play: soon one line says what is missing and what
// to do, and nothing is played.
func TestAttendance(t *testing.T) { //nolint:tparallel // it sets variables, so that only its rows are parallel
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
	closed, silent, deaf := porttest.Address(t), silentAddress(t), deafAddress(t)
	for name, test := range absentPlayers(closed, silent, deaf, web.URL, secure.URL) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			var stdout, stderr bytes.Buffer
			began := time.Now()
			code := Main(append([]string{"run", "--out", out, "--wait", "0s", "turn_off_wifi", "add_plumber"}, test.args...), &stdout, &stderr)
			if took := time.Since(began); code != 1 || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 || took > attendLimit {
				t.Errorf("got code %d after %s, %q and\n%s\nwant 1 within %s, and one line", code, took, &stdout, &stderr, attendLimit)
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

// TestAttendanceProxy asks for a model behind proxies that do not work. Their passwords are not
// told.
func TestAttendanceProxy(t *testing.T) {
	closed := porttest.Address(t)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer proxy.Close()
	// The environment's proxies are read once in a process, so that the check runs in one of its
	// own.
	for name, test := range map[string]struct{ agent, proxy, want string }{
		"away":                   {"openai:m", "http://me:secret@" + closed, "connection refused, by the proxy http://me:xxxxx@" + closed + " that HTTPS_PROXY names"},
		"refuses":                {"openai:m", proxy.URL, "Forbidden, by the proxy " + proxy.URL + " that HTTPS_PROXY names"},
		"away, for a plug-in":    {"grpc://agent.invalid:9000", "http://me:secret@" + closed, "connection refused, by the proxy http://me:xxxxx@" + closed + " that HTTPS_PROXY names"},
		"refuses, for a plug-in": {"grpcs://agent.invalid:9000", proxy.URL, ", by the proxy " + proxy.URL + " that HTTPS_PROXY names"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stderr := inProcess(t, []string{"HTTPS_PROXY=" + test.proxy, "OPENAI_API_KEY=k"},
				"run", "--agent", test.agent, "--wait", "0s", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi")
			if code != 1 || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "secret") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("got code %d and\n%s\nwant 1 and %q", code, stderr, test.want)
			}
		})
	}
}

// greeter is a plug-in without health that says one thing.
type greeter struct {
	agentv1.UnimplementedAgentServiceServer
}

func (greeter) Act(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	return &agentv1.ActResponse{Text: "Good day."}, nil
}

// TestAttendanceWaits plays an agent that comes while the run waits for it, and says so meanwhile.
// It does not serve health.
func TestAttendanceWaits(t *testing.T) {
	address, release, err := porttest.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	agentv1.RegisterAgentServiceServer(srv, greeter{})
	served := make(chan error, 1)
	told := writer(func(raw []byte) {
		if strings.Contains(string(raw), "waiting for up to 1m0s") {
			if err := release(); err != nil {
				t.Error(err)
			}
			listener, err := net.Listen("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			go func() { served <- srv.Serve(listener) }()
		}
	})
	var stdout bytes.Buffer
	if code := Main([]string{"run", "--agent", "grpc://" + address, "--wait", "1m", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi"}, &stdout, told); code != 0 {
		t.Errorf("got code %d and\n%s\nwant 0", code, &stdout)
	}
	srv.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// writer is what is told of everything that is written.
type writer func(raw []byte)

// Write implements io.Writer.
func (w writer) Write(raw []byte) (int, error) {
	w(raw)
	return len(raw), nil
}

// TestAttendanceOfModel connects to a model's server for the check and sends it no request.
func TestAttendanceOfModel(t *testing.T) {
	asked := 0
	answer := chat(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		answer(w, r)
	}))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"run", "--agent", "openai:m", "--base-url", server.URL + "/v1", "--out", out, "turn_off_wifi"}
	var stdout, stderr bytes.Buffer
	if code := Main(args, &stdout, &stderr); code != 0 || asked != 2 {
		t.Fatalf("got code %d and %d requests, want 0 and one for each turn:\n%s%s", code, asked, &stdout, &stderr)
	}
	server.Close()
	if code := Main(append(args, "--resume"), &stdout, &stderr); code != 0 {
		t.Errorf("resume of a run that is played, without the server: got code %d and %s, want 0", code, &stderr)
	}
}

// TestAttendanceOfRest goes on with a run that a provider's refusal left without a score, when its
// server is gone: the check finds that.
func TestAttendanceOfRest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
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
