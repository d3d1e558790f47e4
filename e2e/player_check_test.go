package e2e_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolsandbox/toolsandbox/internal/testkit/certtest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// redirectTLS redirects connections of later processes to a host to this machine, with a proxy and
// a trusted certificate. Requests get no answer.
func redirectTLS(t *testing.T, host string) {
	t.Helper()
	cert, key := certtest.SelfSigned(t, host)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != host+":443" {
			t.Errorf("the proxy was asked for %s %s, want a connection to %s", r.Method, r.Host, host)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return
		}
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}})
		if raw, _ := io.ReadAll(secure); len(raw) > 0 {
			t.Errorf("%s was sent\n%s\nwant nothing", host, raw)
		}
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	t.Setenv("SSL_CERT_FILE", cert)
}

// TestRemotePlayerCheck checks players of a remote sweep. The remote gateway, and not the client,
// needs the key and reaches the agent.
func TestRemotePlayerCheck(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OPENAI_BASE_URL", "")
	services := start(t)
	t.Setenv("OPENAI_API_KEY", "the client's")
	for player, want := range map[string]string{
		"openai:m":                      "cannot be asked: no key: set OPENAI_API_KEY or OPENAI_API_KEY_FILE (with --remote: where the agent gateway runs)\n",
		"grpc://" + porttest.Address(t): "connection refused: start it or correct its address; --wait 5m waits longer than 3s\n",
	} {
		out := filepath.Join(t.TempDir(), "out")
		args := append([]string{"run", "--agent", player, "--out", out, "turn_off_wifi"}, services.ClientArgs()...)
		code, output := attempt(t, args...)
		if code != 1 || !strings.HasPrefix(output, "toolsandbox: --agent "+player+": ") || !strings.HasSuffix(output, want) || strings.Count(output, "\n") != 1 {
			t.Errorf("got code %d and\n%s\nwant 1 and %s", code, output, want)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := agent.ServeListener(ctx, listener, agent.Func(switchWifiOff)); err != nil {
			t.Error(err)
		}
	})
	toolsandbox(t, append([]string{"run", "--agent", "grpc://" + listener.Addr().String(), "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi"}, services.ClientArgs()...)...)
	stop()
	serving.Wait()
}

// TestRemoteProbe probes a model through remote services, before a run and alone. The remote
// gateway reaches the server. No message of the run is one of the probe.
func TestRemoteProbe(t *testing.T) {
	t.Parallel()
	services, server, out := start(t, "OPENAI_API_KEY="+serviceKey), startChatServer(t), filepath.Join(t.TempDir(), "out")
	model := append([]string{"--agent", "openai:m", "--base-url", server.URL + "/v1"}, services.ClientArgs()...)
	const want = "probe of --agent openai:m: 4 requests"
	if code, output := attempt(t, append([]string{"run", "--out", out, "turn_off_wifi"}, model...)...); code != 0 || !strings.Contains(output, want) {
		t.Errorf("run: got code %d and\n%s\nwant 0 and %q", code, output, want)
	}
	if asked, lines := int(server.asked.Load()), exchanges(t, out); asked != lines+4 {
		t.Errorf("requests: got %d and %d exchanges, want four more", asked, lines)
	}
	if printed := toolsandbox(t, append([]string{"probe"}, model...)...); !strings.HasPrefix(printed, want) {
		t.Errorf("probe: got\n%s\nwant %q", printed, want)
	}
}

// TestAttachedAwaited runs an agent that attaches itself after the run has reported the wait.
func TestAttachedAwaited(t *testing.T) {
	t.Parallel()
	address := porttest.Address(t)
	p := startTerminal(t, "run", "--agent", "attached:mine", "--attach-listen", address, "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi")
	p.readUntil(t, "toolsandbox: --agent attached:mine: no agent is attached yet as mine: the rollouts wait until one is\n")
	ctx, stop := context.WithCancel(t.Context())
	attached := make(chan error, 1)
	go func() {
		attached <- agent.Attach(ctx, address, "mine", agent.Func(switchWifiOff), grpc.WithTransportCredentials(insecure.NewCredentials()))
	}()
	if code, output := p.finish(t); code != 0 {
		t.Errorf("got code %d and\n%s\nwant 0", code, output)
	}
	stop()
	if err := <-attached; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
